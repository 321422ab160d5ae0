"""Progress: a run as it stands now, for people who watch. Reading changes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.core.budget import Usage
from harness.core.call import Json
from harness.report import CallLine
from harness.run.checks import Checker
from harness.run.iteration import Iteration
from harness.run.lines import call_lines
from harness.run.record import IterationRecord
from harness.run.state import RunState

__all__ = ["Progress", "progress_of"]


@dataclass(frozen=True, slots=True)
class Progress:
    """What a run is doing."""

    run: str
    iteration: int
    """1-based number of the one that is under way, or was the last; 0 before the first."""
    live: bool
    """True while a box is at work."""
    calls: Sequence[CallLine]
    """Those of that iteration."""
    budget: Mapping[str, Usage]
    checks: Sequence[Mapping[str, Json]]
    """Every check of the contract as it stands."""


def progress_of(
    run: RunState, checker: Checker, iterations: Sequence[IterationRecord], live: Iteration | None
) -> Progress:
    """The progress of a run; `live` is the iteration that is under way."""
    records = live.desk.records if live is not None else iterations[-1].calls if iterations else []
    return Progress(
        run=run.id,
        iteration=len(iterations) + (live is not None),
        live=live is not None,
        calls=call_lines(records),
        budget=run.budget.report(),
        checks=[each.to_json() for each in checker.results],
    )
