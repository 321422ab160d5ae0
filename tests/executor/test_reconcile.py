"""Reconciling: what a tool's look-up may prove about a call whose ending was not seen, and what it may not."""

import asyncio
import dataclasses
import threading

import pytest

from harness.core.ports import Outcome
from harness.core.state import Event
from harness.executor.execute import Deadline
from harness.executor.reconcile import DidNotHappen, Happened
from harness.registry.decorator import key
from tests.executor.making import bind, executing, make_call


def _reconcile(look_up, *, ended: bool = True, idempotency="none", timeout_s: float = 5.0) -> Outcome:
    def pay(operation_id: str, amount: int) -> int:
        raise AssertionError("a look-up never runs the tool itself")

    async def ask() -> Outcome:
        async with executing() as executor:
            tool = bind(pay, idempotency=idempotency, reconcile=look_up)
            call = make_call(tool, operation_id="op-1", amount=5)
            if idempotency != "none":
                call = dataclasses.replace(call, key="op-1")
            return await executor.reconcile(tool, call, Deadline(timeout_s), ended=ended)

    return asyncio.run(ask())


def _unknown(why: str) -> Outcome:
    message = f"whether the call took effect is still not known: {why}"
    return Outcome(Event.LOSE, error_type="Unknown", message=message)


@pytest.mark.parametrize("answer", [7, Happened(7)])
def test_what_is_found_is_the_result_of_the_call(answer: object) -> None:
    """It happened, and this is what it gave."""
    assert _reconcile(lambda operation_id: answer) == Outcome(Event.PROVE_DONE, value=7)


def test_an_async_look_up_is_awaited() -> None:
    """The same answers."""

    async def find(operation_id: str) -> object:
        await asyncio.sleep(0)
        return Happened(7)

    assert _reconcile(find).event is Event.PROVE_DONE


def test_a_look_up_gets_the_arguments_that_it_names_and_the_key() -> None:
    """Some, all, or the key."""
    seen = []

    def by_amount(amount: int) -> None:
        seen.append(amount)

    def by_all(**arguments: object) -> None:
        seen.append(arguments)

    def by_key(key: str) -> None:
        seen.append(key)

    for look_up in (by_amount, by_all, by_key):
        _reconcile(look_up, idempotency=key("operation_id"))
    assert seen == [5, {"operation_id": "op-1", "amount": 5}, "op-1"]


@pytest.mark.parametrize(
    ("ended", "idempotency", "event"),
    [
        (True, "none", Event.PROVE_NOT_DONE),
        (False, "none", Event.LOSE),
        (False, key("operation_id"), Event.PROVE_NOT_DONE),
        (True, key("operation_id"), Event.PROVE_NOT_DONE),
    ],
)
def test_a_no_counts_only_from_a_proven_end_or_an_honoured_key(ended: bool, idempotency, event: Event) -> None:
    """F10: what may still run may still happen."""
    assert _reconcile(lambda operation_id: DidNotHappen(), ended=ended, idempotency=idempotency).event is event


def test_a_thread_that_may_still_run_keeps_the_call_unknown() -> None:
    """F10: even where somebody says that it has ended."""
    release = threading.Event()

    def pay(operation_id: str) -> None:
        release.wait(10)

    async def look() -> None:
        async with executing() as executor:
            tool = bind(pay, reconcile=lambda operation_id: DidNotHappen())
            call = make_call(tool, operation_id="op-1")
            await executor.begin(tool, call, Deadline(0.3), lambda: None)
            still = await executor.reconcile(tool, call, Deadline(5), ended=True)
            assert still == _unknown("the tool may still be at work, so nobody can say that it did not happen")
            release.set()
            while executor.may_still_run(call):
                await asyncio.sleep(0.001)
            assert (await executor.reconcile(tool, call, Deadline(5), ended=True)).event is Event.PROVE_NOT_DONE

    asyncio.run(look())


@pytest.mark.parametrize(
    ("look_up", "why"),
    [
        (lambda operation_id: None, "the tool does not know"),
        (lambda operation_id: 1 / 0, "the look-up raised `ZeroDivisionError`"),
        (lambda operation_id: "text", "the result of `pay` is not valid: $: expected integer"),
        (None, "the tool has no look-up"),
    ],
)
def test_everything_else_is_still_unknown(look_up, why: str) -> None:
    """No answer, a failure, a result of the wrong type, no look-up at all."""
    assert _reconcile(look_up) == _unknown(why)


def test_a_look_up_that_hangs_is_no_answer() -> None:
    """It has a deadline like every tool."""
    release = threading.Event()
    outcome = _reconcile(lambda operation_id: release.wait(10), timeout_s=0.3)
    release.set()
    assert outcome == _unknown("the look-up did not answer within 0.3 seconds")
