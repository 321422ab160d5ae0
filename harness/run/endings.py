"""Endings that come from outside a snippet: a spent budget, a box that is gone."""

from harness.core.budget import Dimension, Shortage
from harness.core.ending import Ending, Outcome, ReasonCode
from harness.core.ports import BoxExit, ExitKind
from harness.run.state import RunState

__all__ = ["exhausted", "lost_box"]


def exhausted(short: Shortage) -> Ending:
    """The ending of a run whose budget is spent."""
    data = (("dimension", short.dimension), ("limit", str(short.limit)), ("amount", str(short.amount)))
    return Ending(Outcome.REJECTED, ReasonCode.BUDGET_EXHAUSTED, str(short), data)


def lost_box(exit_: BoxExit | None, run: RunState) -> Ending:
    """The ending for a box that is gone, by what the host saw of its exit."""
    detail = exit_.detail if exit_ is not None else "the box was never there"
    kind = exit_.kind if exit_ is not None else ExitKind.CRASHED
    if kind is ExitKind.OUT_OF_MEMORY:
        limit = run.budget.limit(Dimension.MEMORY_MB)
        data = (("dimension", "memory_mb"), ("limit", str(limit)))
        return Ending(Outcome.REJECTED, ReasonCode.BUDGET_EXHAUSTED, f"memory_mb: limit {limit}, {detail}", data)
    if kind is ExitKind.KILLED_BY_OTHERS:
        return Ending(Outcome.REJECTED, ReasonCode.KILLED, detail, (("by", "others"),))
    return Ending(Outcome.REJECTED, ReasonCode.BOX_LOST, detail or "the box ended without a result")
