"""Endings that come from outside a snippet: a spent budget, a box that is gone."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from harness.core.budget import Dimension, Shortage
from harness.core.bundle import Bundle
from harness.core.ending import Ending, Outcome, ReasonCode
from harness.core.errors import HostileInput, StoreError, StoreUnavailable
from harness.core.ports import BoxExit, ExitKind
from harness.ledger.replay import Divergence
from harness.run.record import CallRecord
from harness.run.state import RunState

__all__ = ["Loss", "diverged", "escalated", "exhausted", "lost_box", "paused", "unrecorded", "waiting_under"]

ASKING = "harness.escalate"
"""The tool of a snippet that asks a person."""
TRUNCATED = "truncated"
"""The gateway's word for a stream that ended inside a frame."""


def exhausted(short: Shortage) -> Ending:
    """The ending of a run whose budget is spent."""
    data = (("dimension", short.dimension), ("limit", str(short.limit)), ("amount", str(short.amount)))
    return Ending(Outcome.REJECTED, ReasonCode.BUDGET_EXHAUSTED, str(short), data)


def unrecorded(error: StoreError) -> Ending:
    """The ending where a line could not be written: the run does not go on without its record."""
    if isinstance(error, StoreUnavailable):
        return Ending(Outcome.REJECTED, ReasonCode.ENVIRONMENT_UNAVAILABLE, str(error))
    return Ending(Outcome.UNRESOLVED, ReasonCode.CANCELLED, error.message, (("by", "fence"),))


@dataclass(frozen=True, slots=True)
class Loss:
    """What the host saw of a box that went away without a result."""

    exit: BoxExit | None
    """None where there never was one."""
    broken: HostileInput | None = None
    """The rule of the wire that it broke, if any."""
    short: Shortage | None = None
    """A measured limit that its last reading is over, if any."""


TORN = frozenset({ExitKind.OUT_OF_MEMORY, ExitKind.KILLED_BY_OTHERS, ExitKind.CRASHED})
"""Ends that may come in the middle of a frame: then the torn frame is no forgery."""


def lost_box(loss: Loss, run: RunState) -> Ending:
    """The ending for a box that is gone: out of memory, out of another limit, killed, crashed, or a broken rule."""
    exit_, broken = loss.exit, loss.broken
    detail = exit_.detail if exit_ is not None else "the box was never there"
    kind = exit_.kind if exit_ is not None else ExitKind.CRASHED
    if broken is not None and not (broken.code == TRUNCATED and kind in TORN):
        data = (("code", broken.code), ("head", broken.head.hex()))
        message = f"the box broke the wire's rules: {broken.message}"
        return Ending(Outcome.REJECTED, ReasonCode.POLICY_REFUSED, message, data)
    if kind is ExitKind.OUT_OF_MEMORY:
        limit = run.budget.limit(Dimension.MEMORY_MB)
        data = (("dimension", "memory_mb"), ("limit", str(limit)))
        return Ending(Outcome.REJECTED, ReasonCode.BUDGET_EXHAUSTED, f"memory_mb: limit {limit}, {detail}", data)
    if loss.short is not None:
        return exhausted(loss.short)
    if kind is ExitKind.KILLED_BY_OTHERS:
        return Ending(Outcome.REJECTED, ReasonCode.KILLED, detail, (("by", "others"),))
    return Ending(Outcome.REJECTED, ReasonCode.BOX_LOST, detail or "the box ended without a result")


def diverged(found: Divergence) -> Ending:
    """The ending of a run whose snippet no longer does what the journal says; both sides are shown."""
    return Ending(Outcome.REJECTED, ReasonCode.DIVERGED, str(found))


def paused(waiting: Collection[CallRecord], bundles: Sequence[Bundle]) -> Ending:
    """The ending, for today, of a run that waits for a person."""
    questions = [str(record.call.arguments.get("question", "")) for record in waiting if record.call.tool == ASKING]
    if questions and len(questions) == len(waiting):
        return escalated(questions, bundles)
    tools = ", ".join(sorted({record.call.tool for record in waiting}))
    references = ", ".join(bundle.reference for bundle in bundles)
    detail = f"{len(waiting)} call(s) wait for a person under {references}: {tools}; nothing of them has run"
    calls = ",".join(record.call.id for record in waiting)
    return Ending(
        Outcome.UNRESOLVED,
        ReasonCode.PAUSED,
        detail,
        (("references", ",".join(bundle.reference for bundle in bundles)), ("calls", calls)),
    )


def escalated(questions: Sequence[str], bundles: Sequence[Bundle]) -> Ending:
    """The ending, for today, of a run that has put a question to a person."""
    asked = "; ".join(" ".join(each.split())[:200] for each in questions)
    references = ",".join(bundle.reference for bundle in bundles)
    detail = f"asked under {references.replace(',', ', ')}: {asked}"
    return Ending(Outcome.UNRESOLVED, ReasonCode.ESCALATED, detail, (("references", references),))


def waiting_under(ending: Ending, references: Sequence[str]) -> Ending:
    """An ending for today that also says where people are asked."""
    data = (*ending.data, ("references", ",".join(references)))
    return replace(ending, detail=f"{ending.detail}; asked under {', '.join(references)}", data=data)
