"""Running a tool: deadlines that hold, threads that are not waited for, nothing of the tool's reaching the loop."""

import asyncio
import contextlib
import contextvars
import dataclasses
import gc
import threading
import time
import warnings
from typing import Any

import pytest

from harness.core.ports import Outcome
from harness.core.state import Event
from harness.executor.current import call_key
from harness.executor.execute import Deadline, Executor
from tests.executor.making import bind, executing, make_call, run


def _begin(executor: Executor, tool, timeout_s: float = 5.0, **arguments):
    return executor.begin(tool, make_call(tool, **arguments), Deadline(timeout_s), lambda: None)


# --- where tools run -------------------------------------------------------------------------------------------


def test_a_blocking_tool_runs_in_a_thread_and_an_async_one_on_the_loop() -> None:
    """The loop is never held up by a blocking tool."""

    def blocking() -> str:
        return threading.current_thread().name

    async def waiting() -> str:
        await asyncio.sleep(0)
        return threading.current_thread().name

    assert run(bind(blocking, effect="read")).value.startswith("tool-")
    assert run(bind(waiting, effect="read")).value == threading.current_thread().name


def test_the_callers_context_goes_with_the_call() -> None:
    """Log lines of a tool carry the run and the call."""
    bound = contextvars.ContextVar("bound", default="")

    def look() -> str:
        return bound.get()

    async def look_async() -> str:
        return bound.get()

    bound.set("call 1.1")
    assert run(bind(look, effect="read")).value == "call 1.1"
    assert run(bind(look_async, effect="read")).value == "call 1.1"


@pytest.mark.parametrize("is_async", [False, True])
def test_an_inline_tool_answers_at_once(is_async: bool) -> None:
    """No task, no thread: an outcome, not something to await."""

    def now() -> int:
        return threading.get_ident()

    async def now_async() -> int:
        return threading.get_ident()

    async def look() -> None:
        async with executing() as executor:
            outcome = _begin(executor, bind(now_async if is_async else now, effect="read", inline=True))
            assert outcome == Outcome(Event.RETURN_VALID, value=threading.get_ident())

    asyncio.run(look())


def test_an_inline_tool_that_does_wait_goes_on_as_a_task() -> None:
    """The promise was wrong; the call is right all the same."""

    async def slow(n: int) -> int:
        for _ in range(3):
            await asyncio.sleep(0.001)
        return n + 1

    async def look() -> None:
        async with executing() as executor:
            pending = _begin(executor, bind(slow, effect="read", inline=True), n=1)
            assert not isinstance(pending, Outcome)
            assert (await pending).value == 2

    asyncio.run(look())


def test_parallel_blocking_calls_really_run_in_parallel() -> None:
    """Four that meet at a barrier: each gets its own answer (C01)."""
    barrier = threading.Barrier(4, timeout=5)

    def meet(n: int) -> int:
        barrier.wait()
        return n

    async def look() -> None:
        async with executing() as executor:
            tool = bind(meet, effect="read")
            outcomes = await asyncio.gather(*(_begin(executor, tool, n=n) for n in range(4)))
            assert [outcome.value for outcome in outcomes] == [0, 1, 2, 3]

    asyncio.run(look())


# --- deadlines -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("effect", "event", "words"),
    [
        ("read", Event.RAISE_NO_EFFECT, "`hang` did not answer within 0.3 seconds"),
        (
            "write",
            Event.LOSE,
            "`hang` did not answer within 0.3 seconds: whether it took effect is not known",
        ),
    ],
)
def test_a_blocking_tool_that_outlives_its_deadline(effect: str, event: Event, words: str) -> None:
    """B01, F11: answered on time, the thread let go, and known to be still at work until it ends."""
    release = threading.Event()

    def hang() -> str:
        release.wait(10)
        return "too late"

    async def look() -> None:
        async with executing() as executor:
            tool = bind(hang, effect=effect)
            call = make_call(tool)
            begun = time.monotonic()
            outcome = await executor.begin(tool, call, Deadline(0.3), lambda: None)
            assert time.monotonic() - begun < 5
            assert outcome == Outcome(event, error_type="Timeout", message=words, settled=False)
            assert executor.may_still_run(call) is True
            release.set()
            while executor.may_still_run(call):
                await asyncio.sleep(0.001)

    asyncio.run(look())


@pytest.mark.parametrize(("stubborn", "settled"), [(False, True), (True, False)])
def test_an_async_tool_that_outlives_its_deadline_is_cancelled(stubborn: bool, settled: bool) -> None:
    """One that obeys is proven ended; one that swallows the cancellation is left to itself."""
    release = asyncio.Event()

    async def hang() -> str:
        while True:
            try:
                await release.wait()
                return "too late"
            except asyncio.CancelledError:
                if not stubborn:
                    raise

    async def look() -> None:
        async with executing() as executor:
            tool = bind(hang)
            call = make_call(tool)
            begun = time.monotonic()
            outcome = await executor.begin(tool, call, Deadline(0.3), lambda: None)
            assert time.monotonic() - begun < 5
            assert (outcome.event, outcome.error_type, outcome.settled) == (Event.LOSE, "Timeout", settled)
            assert executor.may_still_run(call) is not settled
            release.set()
            while executor.may_still_run(call):
                await asyncio.sleep(0.001)

    asyncio.run(look())


def test_a_value_that_comes_after_the_deadline_is_dropped() -> None:
    """Late is late: an unknown ending does not turn into a known one behind the journal's back."""

    async def late() -> str:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(10)
        return "done after all"

    outcome = run(bind(late), timeout_s=0.02)
    assert (outcome.event, outcome.value, outcome.settled) == (Event.LOSE, None, True)


def test_where_every_thread_hangs_a_further_call_certainly_did_not_start() -> None:
    """The cap holds, the harness goes on, and nobody has to wonder about that call."""
    release = threading.Event()
    ran = []

    def hang() -> None:
        release.wait(10)

    def work() -> None:
        ran.append(1)

    async def look() -> None:
        async with executing(threads=2) as executor:
            hanging = [asyncio.ensure_future(_wrap(_begin(executor, bind(hang), 0.3))) for _ in range(2)]
            await asyncio.gather(*hanging)
            outcome = await _begin(executor, bind(work), 0.3)
            assert outcome == Outcome(
                Event.RAISE_NO_EFFECT,
                error_type="NotStarted",
                message="`work` did not start: no thread was free within 0.3 seconds",
                hint="it had no effect",
            )
            release.set()
            assert (await _begin(executor, bind(work))).event is Event.RETURN_VALID
            assert ran == [1]

    asyncio.run(look())


async def _wrap(pending):
    return await pending


# --- cancelling ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
def test_a_cancelled_call_lets_its_tool_go(is_async: bool) -> None:
    """The run ends; what the thread does is known to go on, what the task does ends."""
    release, started = threading.Event(), threading.Event()

    def hang() -> None:
        started.set()
        release.wait(10)

    async def hang_async() -> None:
        started.set()
        await asyncio.sleep(10)

    async def look() -> None:
        async with executing() as executor:
            tool = bind(hang_async if is_async else hang)
            call = make_call(tool)
            task = asyncio.ensure_future(_wrap(executor.begin(tool, call, Deadline(10), lambda: None)))
            while not started.is_set():
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            if not is_async:
                assert executor.may_still_run(call) is True
            release.set()
            while executor.may_still_run(call):
                await asyncio.sleep(0.001)

    asyncio.run(look())


def test_a_call_that_is_never_awaited_never_starts() -> None:
    """And leaves no warning behind."""
    ran = []

    def work() -> None:
        ran.append(1)

    async def look() -> None:
        async with executing() as executor:
            _begin(executor, bind(work))
            await asyncio.sleep(0.01)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(look())
        gc.collect()
    assert ran == []


def test_a_tool_that_empties_what_it_is_given_does_not_change_the_call() -> None:
    """The record of the call is the host's."""

    def greedy(rows: Any) -> int:
        taken = list(rows)
        rows.clear()
        return len(taken)

    tool = bind(greedy, effect="read")
    call = make_call(tool, rows=[1, 2])

    async def look() -> Outcome:
        async with executing() as executor:
            return await executor.begin(tool, call, Deadline(5), lambda: None)

    assert asyncio.run(look()).value == 2
    assert dict(call.arguments) == {"rows": [1, 2]}


def test_a_call_is_executed_once() -> None:
    """Awaiting it again does not do it again."""
    ran = []

    def work() -> None:
        ran.append(1)

    async def look() -> None:
        async with executing() as executor:
            pending = _begin(executor, bind(work))
            await pending
            with pytest.raises(RuntimeError, match="a call is executed once"):
                await pending

    asyncio.run(look())
    assert ran == [1]


@pytest.mark.parametrize("inline", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_tool_can_hand_its_key_on(is_async: bool, inline: bool) -> None:
    """F10: the key that the harness derived reaches whoever performs the effect, and nobody after it."""

    def send() -> str:
        return call_key()

    async def send_async() -> str:
        if not inline:
            await asyncio.sleep(0)
        return call_key()

    async def look() -> None:
        async with executing() as executor:
            tool = bind(send_async if is_async else send, idempotency="derived", inline=inline)
            call = dataclasses.replace(make_call(tool), key="k-1")
            pending = executor.begin(tool, call, Deadline(5), lambda: None)
            outcome = pending if isinstance(pending, Outcome) else await pending
            assert (outcome.value, call_key()) == ("k-1", "")

    asyncio.run(look())
