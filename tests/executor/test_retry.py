"""Repeats: only declared ones, only where repeating is safe, each charged."""

import asyncio

import pytest

from harness.contract.tool import ErrorRule
from harness.core.budget import Shortage
from harness.core.ports import Outcome
from harness.core.state import Event
from harness.executor.execute import Deadline
from harness.registry.decorator import key, no_effect, retry
from tests.executor.making import bind, executing, make_call, run


class Busy(Exception):
    """Declared."""


class Lost(Exception):
    """Declared, and says nothing of its effect."""


QUICK = retry(attempts=3, wait_s=0.001, max_wait_s=0.002)
NO_EFFECT = {Busy: no_effect(retry=True)}
MAY_HAVE = {Busy: ErrorRule(no_effect=False, retry=True, hint="")}


class Flaky:
    """A tool that fails so many times before it succeeds."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.tries = 0

    def tool(self, **settings):
        def flaky(operation_id: str) -> int:
            return self.attempt()

        if any(rule.retry for rule in settings["errors"].values()):
            settings.setdefault("retry", QUICK)
        return bind(flaky, **settings)

    def attempt(self) -> int:
        self.tries += 1
        if self.errors:
            raise self.errors.pop(0)
        return self.tries


def _run(flaky: Flaky, on_retry=lambda: None, **settings) -> Outcome:
    return run(flaky.tool(**settings), on_retry=on_retry, operation_id="op-1")


@pytest.mark.parametrize("inline", [False, True])
def test_a_declared_error_is_tried_again_until_it_succeeds(inline: bool) -> None:
    """The snippet sees one answer; the repeats are counted."""
    flaky = Flaky(Busy(), Busy())
    assert _run(flaky, errors=NO_EFFECT, inline=inline) == Outcome(Event.RETURN_VALID, value=3, retries=2)


def test_async_tools_are_tried_again_too() -> None:
    """The same rules."""
    flaky = Flaky(Busy())

    async def later() -> int:
        await asyncio.sleep(0)
        return flaky.attempt()

    assert run(bind(later, errors=NO_EFFECT, retry=QUICK)).value == 2


@pytest.mark.parametrize(("attempts", "tries"), [(1, 1), (2, 2), (3, 3)])
def test_no_more_attempts_than_declared(attempts: int, tries: int) -> None:
    """The first one counts."""
    flaky = Flaky(*[Busy("again") for _ in range(9)])
    outcome = _run(flaky, errors=NO_EFFECT, retry=retry(attempts=attempts, wait_s=0.001, max_wait_s=0.001))
    assert outcome == Outcome(Event.RAISE_NO_EFFECT, error_type="Busy", message="again", retries=tries - 1)
    assert flaky.tries == tries


@pytest.mark.parametrize(
    ("effect", "idempotency", "errors", "tries"),
    [
        ("read", "none", NO_EFFECT, 2),
        ("read", "none", MAY_HAVE, 2),
        ("read", "none", {Busy: no_effect()}, 1),
        ("read", "none", {}, 1),
        ("write", "none", NO_EFFECT, 2),
        ("write", "none", MAY_HAVE, 1),
        ("write", "none", {}, 1),
        ("write", "natural", MAY_HAVE, 2),
        ("write", "natural", {}, 1),
        ("write", "derived", MAY_HAVE, 2),
        ("write", key("operation_id"), MAY_HAVE, 2),
        ("write", key("operation_id"), {}, 1),
        ("destructive", "none", MAY_HAVE, 1),
    ],
)
def test_an_effect_is_repeated_only_where_that_is_safe(effect, idempotency, errors, tries) -> None:
    """F11: without effect, natural, or keyed and declared; never by hope."""
    flaky = Flaky(Busy())
    _run(flaky, effect=effect, idempotency=idempotency, errors=errors)
    assert flaky.tries == tries


def test_a_repeat_carries_the_same_arguments_and_key() -> None:
    """F10: the tool sees the key that it saw."""
    seen = []

    def pay(operation_id: str) -> int:
        seen.append(operation_id)
        if len(seen) < 3:
            raise Busy
        return len(seen)

    tool = bind(pay, idempotency=key("operation_id"), errors=MAY_HAVE, retry=QUICK)
    assert run(tool, operation_id="op-1").value == 3
    assert seen == ["op-1"] * 3


def test_a_failure_without_effect_proves_nothing_about_an_earlier_attempt() -> None:
    """First an ending that may have had an effect, then one that had none: together they are unknown."""
    flaky = Flaky(Lost(), Busy(), Busy())
    errors = {Lost: ErrorRule(no_effect=False, retry=True, hint=""), Busy: no_effect()}
    outcome = _run(flaky, idempotency=key("operation_id"), errors=errors)
    assert (outcome.event, outcome.error_type, outcome.retries) == (Event.LOSE, "Busy", 1)


def test_every_repeat_is_charged_before_it_is_made() -> None:
    """And the first attempt is not."""
    charged = []
    flaky = Flaky(Busy(), Busy())
    _run(flaky, on_retry=lambda: charged.append(flaky.tries), errors=NO_EFFECT)
    assert charged == [1, 2]


def test_without_budget_there_is_no_repeat() -> None:
    """The last outcome stands; whoever charges knows what else to do."""
    flaky = Flaky(Busy("again"), Busy("again"))
    outcome = _run(flaky, on_retry=lambda: Shortage("retries", 0, 1), errors=NO_EFFECT)
    assert outcome == Outcome(Event.RAISE_NO_EFFECT, error_type="Busy", message="again")
    assert flaky.tries == 1


class StoppedClock:
    """Stands at noon."""

    def now(self) -> float:
        return 43_200.0

    def monotonic(self) -> float:
        return 43_200.0


@pytest.mark.parametrize(("until", "tries"), [(43_200.0, 1), (43_200.001, 1), (43_200.01, 2)])
def test_no_repeat_starts_after_the_end_of_the_runs_time(until: float, tries: int) -> None:
    """A pause that would pass it is not begun."""
    flaky = Flaky(Busy())

    async def look() -> None:
        async with executing(clock=StoppedClock()) as executor:
            tool = flaky.tool(errors=NO_EFFECT)
            call = make_call(tool, operation_id="op-1")
            await executor.begin(tool, call, Deadline(5, until), lambda: None)

    asyncio.run(look())
    assert flaky.tries == tries
