"""Runs that overlap in one process: a signal reaches all of them, and nothing of theirs is left behind."""

import asyncio
import signal

from harness.front.signals import SIGNALS, orderly


def test_runs_that_end_in_any_order_leave_the_handlers_as_they_were() -> None:
    """One that began later and ends later does not put the other's handler back for good."""
    before = [signal.getsignal(number) for number in SIGNALS]

    async def run(begun: asyncio.Event, end: asyncio.Event) -> None:
        with orderly(lambda _: None, lambda: None):
            begun.set()
            await end.wait()

    async def both() -> None:
        begun, end = ([asyncio.Event(), asyncio.Event()] for _ in range(2))
        tasks = []
        for at in range(2):
            tasks.append(asyncio.create_task(run(begun[at], end[at])))
            await begun[at].wait()
        for at in range(2):
            end[at].set()
            await tasks[at]

    asyncio.run(both())
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_a_signal_cancels_every_run_that_is_under_way() -> None:
    """In order, each by its own word."""
    heard: list[str] = []

    async def body() -> None:
        done = [asyncio.Event(), asyncio.Event()]

        def cancel(at: int) -> None:
            heard.append(f"run {at}")
            done[at].set()

        with orderly(lambda _: cancel(0), lambda: None), orderly(lambda _: cancel(1), lambda: None):
            signal.raise_signal(signal.SIGTERM)
            for each in done:
                await each.wait()

    asyncio.run(body())
    assert heard == ["run 0", "run 1"]
