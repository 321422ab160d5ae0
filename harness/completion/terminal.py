"""How a run ends: one table over the facts, read from the top; the first row that holds decides.

Only the last row accepts. Whatever stopped the run from outside stands above it, so that no route shows an interrupted
run as complete.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from harness.core.call import Json
from harness.core.ending import Ending, Outcome, ReasonCode

__all__ = ["ROWS", "CheckObstacle", "EndFacts", "Judged", "OutputFault", "Row", "check_ending", "judge"]


class Judged(Protocol):
    """What a predicate came to: `harness.contract.expression.Judged` is one."""

    @property
    def value(self) -> bool:
        """True only where the expression was evaluated to true."""

    @property
    def error(self) -> str:
        """Why it could not be evaluated; empty where it was."""


class OutputFault(Protocol):
    """One thing that an output lacks: `harness.contract.schema.SchemaFault` is one."""

    @property
    def path(self) -> str:
        """Where in the output."""

    @property
    def message(self) -> str:
        """What is wrong there."""


class CheckObstacle(Protocol):
    """A check that did not pass: `harness.completion.checks.CheckResult` is one."""

    @property
    def id(self) -> str:
        """As the contract names it."""

    @property
    def kind(self) -> str:
        """`precondition`, `invariant` or `postcondition`."""

    @property
    def status(self) -> str:
        """`pending`, `failed` or `unavailable`."""

    @property
    def detail(self) -> str:
        """Why."""


@dataclass(frozen=True, slots=True)
class EndFacts:
    """What is known of a run when no further iteration follows."""

    stopped: Ending | None = None
    """Set where something ended the run for good: a limit, a person, the wire, the box, a stop condition."""
    iterations: int = 0
    """How many were executed."""
    has_output: bool = False
    """True where an iteration proposed a result (returned something other than nothing)."""
    failure: Mapping[str, Json] | None = None
    """`type`, `message`, `traceback`, `line` of the exception that left the last snippet."""
    output_faults: Sequence[OutputFault] = ()
    """What the last proposal lacks of the output schema."""
    success: Judged | None = None
    """The success predicate over the last proposal; None where it was not evaluated."""
    unresolved: Sequence[str] = ()
    """Ids of calls whose effect is UNKNOWN."""
    open_calls: Sequence[str] = ()
    """Ids of calls in no final state, those in `unresolved` left out."""
    obstacles: Sequence[CheckObstacle] = ()
    """Checks that neither passed nor were skipped, in the order in which they are written."""
    diverged: str = ""
    """Why a replay no longer fits the journal; empty where it does."""

    def __post_init__(self) -> None:
        if self.stopped is not None and self.stopped.outcome is Outcome.ACCEPTED:
            raise ValueError("what stops a run from outside never accepts it")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    holds: Callable[[EndFacts], bool]
    ending: Callable[[EndFacts], Ending]


def _rejected(reason: ReasonCode, detail: str, data: tuple[tuple[str, str], ...] = ()) -> Ending:
    return Ending(Outcome.REJECTED, reason, detail, data)


def _stopped(facts: EndFacts) -> Ending:
    assert facts.stopped is not None, "the row asked for it"
    return facts.stopped


def _diverged(facts: EndFacts) -> Ending:
    return _rejected(ReasonCode.DIVERGED, facts.diverged)


def _failed(facts: EndFacts) -> Ending:
    failure = facts.failure or {}
    kind, message = str(failure.get("type", "Exception")), str(failure.get("message", ""))
    line = failure.get("line")
    place = f" in line {line}" if isinstance(line, int) and line > 0 else ""
    text = f"the snippet raised {kind}{place}" + (f": {_first_line(message)}" if message else "")
    return _rejected(ReasonCode.SNIPPET_FAILED, text, (("type", kind),))


def _missing(facts: EndFacts) -> Ending:
    if facts.iterations == 0:
        return _rejected(ReasonCode.OUTPUT_MISSING, "no snippet was executed")
    return _rejected(ReasonCode.OUTPUT_MISSING, "the snippet returned nothing: write `return VALUE` at its top level")


def _invalid(facts: EndFacts) -> Ending:
    first, count = facts.output_faults[0], len(facts.output_faults)
    more = f" (and {count - 1} more)" if count > 1 else ""
    detail = f"the result does not fit the output schema: {first.path}: {first.message}{more}"
    return _rejected(ReasonCode.OUTPUT_INVALID, detail, (("path", first.path), ("faults", str(count))))


def _unjudged(facts: EndFacts) -> Ending:
    return _rejected(ReasonCode.PREDICATE_ERROR, "the success predicate was not evaluated")


def _predicate_error(facts: EndFacts) -> Ending:
    assert facts.success is not None, "the row asked for it"
    return _rejected(ReasonCode.PREDICATE_ERROR, f"the success predicate failed: {_first_line(facts.success.error)}")


def _blocked(facts: EndFacts) -> Ending:
    return check_ending(facts.obstacles[0], len(facts.obstacles))


def check_ending(check: CheckObstacle, count: int = 1) -> Ending:
    """The ending that a check makes which did not pass; `count` is how many did not."""
    more = f" (and {count - 1} more)" if count > 1 else ""
    why = f": {_first_line(check.detail)}" if check.detail else ""
    detail = f"the {check.kind} `{check.id}` is {check.status}{why}{more}"
    return _rejected(ReasonCode.CONTRACT_FAILED, detail, (("check", check.id), ("status", str(check.status))))


def _unmet(facts: EndFacts) -> Ending:
    return _rejected(ReasonCode.CONTRACT_FAILED, "the result fits its schema, and the success predicate is false")


def _unknown(facts: EndFacts) -> Ending:
    calls = ", ".join(facts.unresolved)
    return Ending(
        Outcome.UNRESOLVED,
        ReasonCode.PAUSED,
        f"whether call {calls} happened is not known: a person must say, and nothing may repeat it",
        (("unresolved", ",".join(facts.unresolved)),),
    )


def _open(facts: EndFacts) -> Ending:
    calls = ",".join(facts.open_calls)
    return Ending(Outcome.UNRESOLVED, ReasonCode.INTERNAL, f"calls in no final state: {calls}", (("open", calls),))


def _accepted(facts: EndFacts) -> Ending:
    return Ending(Outcome.ACCEPTED, ReasonCode.CONTRACT_PASSED)


ROWS: tuple[Row, ...] = (
    Row(lambda facts: facts.stopped is not None, _stopped),
    Row(lambda facts: bool(facts.diverged), _diverged),
    Row(lambda facts: facts.failure is not None, _failed),
    Row(lambda facts: not facts.has_output, _missing),
    Row(lambda facts: bool(facts.output_faults), _invalid),
    Row(lambda facts: bool(facts.obstacles), _blocked),
    Row(lambda facts: facts.success is None, _unjudged),
    Row(lambda facts: facts.success is not None and bool(facts.success.error), _predicate_error),
    Row(lambda facts: facts.success is not None and facts.success.value is not True, _unmet),
    Row(lambda facts: bool(facts.unresolved), _unknown),
    Row(lambda facts: bool(facts.open_calls), _open),
    Row(lambda facts: True, _accepted),
)
"""From the top: the first row that holds gives the ending."""


def judge(facts: EndFacts) -> Ending:
    """The ending of a run. An UNKNOWN effect makes every outcome but an accepted one `unresolved`, too."""
    row = next(row for row in ROWS if row.holds(facts))
    ending = row.ending(facts)
    if not facts.unresolved or ending.outcome is Outcome.UNRESOLVED:
        return ending
    note = f"whether call {', '.join(facts.unresolved)} happened is not known"
    return replace(
        ending,
        outcome=Outcome.UNRESOLVED,
        detail=f"{ending.detail}; {note}" if ending.detail else note,
        data=(*ending.data, ("unresolved", ",".join(facts.unresolved))),
    )


def _first_line(text: str) -> str:
    """One line, at most 300 characters: what comes from outside does not break a report."""
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:297] + "..."
