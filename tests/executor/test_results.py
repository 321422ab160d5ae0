"""What a return or a raise comes to: the effect decides, and the text that leaves is ours or declared."""

import asyncio
import dataclasses
import datetime
import signal
from decimal import Decimal
from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs

from harness.core.ports import Outcome
from harness.core.state import Event
from harness.executor.partial import Partial
from harness.executor.results import scrub
from harness.registry.decorator import no_effect
from tests.executor.making import bind, run


class StaleVersion(Exception):
    """Declared by the tools of these tests."""


class VeryStale(StaleVersion):
    """A subclass with a rule of its own in some tests."""


def _returning(value: object, **settings):
    def give():
        return value

    return bind(give, **settings)


def _raising(error: BaseException, **settings):
    def give():
        raise error

    return bind(give, **settings)


# --- returned --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, 7, "é", [1, {"a": None}], {"b": 1.5}])
def test_a_json_value_comes_back_as_it_is(value: object) -> None:
    """Valid, settled, no repeats."""
    assert run(_returning(value, effect="read")) == Outcome(Event.RETURN_VALID, value=value)


@dataclasses.dataclass
class Row:
    on: datetime.date
    price: Decimal


def test_python_values_come_back_in_their_json_form() -> None:
    """C07: dataclass, date, Decimal."""
    outcome = run(_returning([Row(datetime.date(2026, 1, 2), Decimal("1.10"))], effect="read"))
    assert outcome.value == [{"on": "2026-01-02", "price": "1.10"}]


@pytest.mark.parametrize(
    ("effect", "event"),
    [
        ("read", Event.RETURN_INVALID_READ),
        ("write", Event.RETURN_INVALID_EFFECT),
        ("destructive", Event.RETURN_INVALID_EFFECT),
    ],
)
def test_a_result_of_the_wrong_type_is_invalid_by_effect(effect: str, event: Event) -> None:
    """An effect stands: applied but invalid. What came is not shown: masks may have to hide it."""

    def give() -> int:
        return "secret text"  # type: ignore[return-value]

    outcome = run(bind(give, effect=effect))
    assert outcome == Outcome(
        event,
        error_type="InvalidResult",
        message="the result of `give` is not valid: $: expected integer",
        hint="the tool broke its own contract; tell whoever runs the harness",
    )


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"r": float("-inf")}, "is `-inf`, which JSON lacks"),
        ({"t": "\ud83d"}, "holds a lone surrogate, which is not a character"),
        (["x" * 60_000_000, "x" * 40_000_000], "$ is larger than"),
        ({"f": object()}, "has the type `object`, which"),
        ({"g": (n for n in range(3))}, "has the type `generator`, which"),
    ],
    ids=["C11 infinity", "C12 surrogate", "100 MB", "object", "generator"],
)
def test_what_cannot_be_a_result_is_named(value: object, told: str) -> None:
    """C11, C12: on the route of tool results."""
    outcome = run(_returning(value))
    assert outcome.event is Event.RETURN_INVALID_EFFECT
    assert told in outcome.message
    assert len(outcome.message) < 200


def test_a_hundred_thousand_nested_lists_are_invalid() -> None:
    """G04: nothing recurses into them."""
    value: object = []
    for _ in range(100_000):
        value = [value]
    outcome = run(_returning(value, effect="read"))
    assert (outcome.event, "nested deeper than 100 levels" in outcome.message) == (Event.RETURN_INVALID_READ, True)


@pytest.mark.parametrize(("result", "event"), [(8, Event.RETURN_VALID), (7, Event.RETURN_INVALID_EFFECT)])
def test_the_postcondition_is_judged_over_arguments_and_result(result: int, event: Event) -> None:
    """At the limit and above."""

    def bump(prior: int) -> int:
        return result

    outcome = run(bind(bump, postcondition="result > args.prior"), prior=7)
    assert outcome.event is event
    if event is Event.RETURN_INVALID_EFFECT:
        assert outcome.message.endswith("the postcondition does not hold: result > args.prior")


def test_a_postcondition_that_cannot_be_judged_does_not_hold() -> None:
    """An integer beyond 64 bits is an error, and an error is not true."""

    def bump(prior: int) -> int:
        return 2**70

    outcome = run(bind(bump, postcondition="result > args.prior"), prior=7)
    assert outcome.event is Event.RETURN_INVALID_EFFECT
    assert outcome.message.endswith("the postcondition could not be judged: result > args.prior")


# --- part done -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [_returning, _raising])
def test_a_tool_that_did_part_of_its_work_says_what_is_done_and_left(make) -> None:
    """Returned or raised."""
    outcome = run(make(Partial(done=["a"], left=["b"], message="the second mailbox is full")))
    assert outcome == Outcome(
        Event.RETURN_PARTIAL,
        value={"done": ["a"], "left": ["b"]},
        error_type="Partial",
        message="the second mailbox is full",
        hint="`done` took effect and must not be repeated; `left` did not",
    )


def test_a_partial_of_no_json_is_applied_but_invalid() -> None:
    """The effect stands, whatever was said of it."""
    assert run(_raising(Partial(done={1}, left=[]))).event is Event.RETURN_INVALID_EFFECT


# --- raised ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("effect", "declared", "event"),
    [
        ("read", None, Event.RAISE_NO_EFFECT),
        ("read", "may", Event.RAISE_NO_EFFECT),
        ("read", "no_effect", Event.RAISE_NO_EFFECT),
        ("write", None, Event.LOSE),
        ("write", "may", Event.LOSE),
        ("write", "no_effect", Event.RAISE_NO_EFFECT),
        ("destructive", None, Event.LOSE),
        ("destructive", "may", Event.LOSE),
        ("destructive", "no_effect", Event.RAISE_NO_EFFECT),
    ],
)
def test_a_raise_is_unknown_unless_declared_without_effect(effect: str, declared: str | None, event: Event) -> None:
    """Reads have nothing to undo."""
    rules = {None: {}, "no_effect": {StaleVersion: no_effect()}, "may": {StaleVersion: no_effect(retry=False)}}
    errors = rules[declared]
    if declared == "may":
        errors = {StaleVersion: dataclasses.replace(no_effect(), no_effect=False)}
    assert run(_raising(StaleVersion("x"), effect=effect, errors=errors)).event is event


def test_only_a_declared_error_passes_its_text_scrubbed() -> None:
    """One line, no secret, no control characters; with the hint of its rule."""
    error = StaleVersion("version 9\n\x1b[31mtoken hunter2-token is stale")
    assert run(_raising(error, errors={StaleVersion: no_effect(hint="read the record again")})) == Outcome(
        Event.RAISE_NO_EFFECT,
        error_type="StaleVersion",
        message="version 9 \ufffd[31mtoken [secret] is stale",
        hint="read the record again",
    )


def test_the_text_of_an_undeclared_error_stays_on_the_host() -> None:
    """The class is told, the text is not."""
    read = run(_raising(KeyError("/etc/secret/path"), effect="read"))
    write = run(_raising(KeyError("/etc/secret/path")))
    assert read.message == "`give` raised `KeyError`, which it does not declare; its text stays on the host"
    assert write.message == "`give` raised `KeyError`, which it does not declare: whether it took effect is not known"
    assert "secret" not in str((read, write))


def test_the_hosts_log_gets_the_text_and_the_place_without_secrets() -> None:
    """The operator can find it; a secret in the text is taken out, values of frames never go in."""
    with capture_logs() as lines:
        run(_raising(KeyError("token hunter2-token")))
    (line,) = lines
    assert line.pop("at").startswith(f"{__file__}:")
    assert line.pop("call") == "run_1/1.1"
    assert line == {
        "event": "tool_raised",
        "log_level": "warning",
        "tool": "give",
        "error_type": "KeyError",
        "error": "'token [secret]'",
    }


def test_a_log_that_cannot_be_written_does_not_hang_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed standard error is the operator's trouble, not the snippet's."""

    def closed(*_: object, **__: object) -> None:
        raise ValueError("I/O operation on closed file")

    monkeypatch.setattr("harness.executor.results._log", SimpleNamespace(warning=closed))
    assert run(_raising(KeyError("x"), effect="read")).error_type == "KeyError"


def test_the_nearest_declared_class_rules() -> None:
    """A subclass is covered by its parent, and by its own rule first."""
    parent = {StaleVersion: no_effect(hint="parent")}
    both = {StaleVersion: no_effect(hint="parent"), VeryStale: no_effect(hint="own")}
    assert run(_raising(VeryStale(), errors=parent)).hint == "parent"
    assert run(_raising(VeryStale(), errors=both)).hint == "own"


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError(), StopIteration(1)]
)
def test_a_tool_that_raises_anything_at_all_only_ends_its_call(error: BaseException) -> None:
    """B16: not the thread, not the loop, not the host."""
    assert run(_raising(error)).event is Event.LOSE


def test_an_interrupt_that_no_person_can_have_sent_is_the_tools() -> None:
    """B16: a program that handles Ctrl-C by itself, as the command does, is not ended by a coroutine that raises it."""

    async def give() -> int:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        assert run(bind(give, effect="write")).event is Event.LOSE
    finally:
        signal.signal(signal.SIGINT, before)
    with pytest.raises(KeyboardInterrupt):
        run(bind(give, effect="write"))


def test_an_error_whose_text_cannot_be_made_is_told_by_its_class() -> None:
    """Tool code again."""

    class Nasty(StaleVersion):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    assert run(_raising(Nasty(), errors={StaleVersion: no_effect()})).message == "`give` raised `Nasty`"


# --- arguments -------------------------------------------------------------------------------------------------


def test_arguments_that_cannot_be_read_never_reach_the_tool() -> None:
    """A date that does not exist fits the pattern of a date: nothing ran, whatever the effect."""
    ran = []

    def on(day: datetime.date):
        ran.append(day)

    outcome = run(bind(on), day="2026-02-31")
    assert (outcome.event, outcome.error_type, ran) == (Event.RAISE_NO_EFFECT, "BadArguments", [])
    assert "2026-02-31" not in outcome.message


# --- cost ------------------------------------------------------------------------------------------------------


def test_a_tool_reports_what_the_call_used() -> None:
    """Tokens as whole numbers, money exactly."""
    tool = _returning({"tokens": 7}, effect="read", cost=lambda result: {"tokens": 7, "cost_usd": Decimal("0.002")})
    assert run(tool).cost == {"tokens": 7, "cost_usd": Decimal("0.002")}


@pytest.mark.parametrize(
    "report", [lambda result: {"tokens": -1}, lambda result: 1 / 0, lambda result: {"tokens": "x"}]
)
def test_a_cost_that_cannot_be_read_falls_back_to_what_was_reserved(report) -> None:
    """The result counts; nothing is free for a fault in its bill."""
    outcome = run(_returning(1, effect="read", cost=report))
    assert (outcome.event, outcome.cost) == (Event.RETURN_VALID, None)


# --- scrub -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("", ""),
        ("a\n b\t c", "a b c"),
        ("pw abcd abcd", "pw [secret] [secret]"),
        ("abcdef", "[secret]"),
        ("\u202eevil\ud800", "\ufffdevil\ufffd"),
        ("x" * 3000, "x" * 1999 + "…"),
        ("abc", "abc"),
    ],
)
def test_scrubbing(text: str, clean: str) -> None:
    """The longest secret first; nothing shorter than four characters is one."""
    assert scrub(text, ["abcd", "abcdef", "abc", ""]) == clean


def test_a_secret_at_the_cut_leaves_no_half() -> None:
    """Where a long text is cut, what remains of a secret goes too."""
    spaces = " " * (100_000 - 4)
    assert scrub(spaces + "abcdefgh", ["abcdefgh"]) == ""
