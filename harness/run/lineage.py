"""Lineages: whether a snippet repairs the one before it, and what of its lineage the journal then answers."""

from collections.abc import Sequence
from enum import StrEnum

from harness.ledger.replay import RepairIndex
from harness.run.history import past_of
from harness.run.record import IterationRecord
from harness.run.state import RunState

__all__ = ["Continues", "Lineages"]


class Continues(StrEnum):
    """What a snippet is to the one before it."""

    AUTO = "auto"
    """A repair after a failure, something new after anything else."""
    LINEAGE = "lineage"
    """A repair: nothing that was done is done again."""
    NEW = "new"
    """Something new."""


class Lineages:
    """Numbers the lineages of one run, from 1."""

    def __init__(self, run: RunState, started: int = 1) -> None:
        self._run = run
        self._number = max(started, 1)
        run.lineage = f"{run.id}.{self._number}"

    def begin(self, iterations: Sequence[IterationRecord], how: Continues, fresh_reads: bool) -> RepairIndex | None:
        """The lineage of the next iteration; what answers it, or None where it starts a lineage of its own."""
        run = self._run
        if not iterations:
            return None
        failed = iterations[-1].failure is not None
        if how is Continues.NEW or (how is Continues.AUTO and not failed):
            self._number += 1
            run.lineage = f"{run.id}.{self._number}"
            return None
        past = past_of(run.parts.store.entries(run.id))
        return RepairIndex(past.of_lineage(run.lineage, len(iterations) + 1), fresh_reads)
