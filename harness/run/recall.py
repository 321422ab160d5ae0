"""Recall: what the journal answers to a resumed run and to a corrected snippet. It only matches and orders."""

from collections.abc import Sequence

from harness.core.call import Call
from harness.ledger.replay import Divergence, Recorded, RepairIndex, Replayer
from harness.run.record import CallRecord

__all__ = ["Memory", "Recall"]


class Memory:
    """What the journal holds for one iteration."""

    def __init__(self, resumed: Sequence[Recorded] = (), repair: RepairIndex | None = None) -> None:
        self.resumed = resumed
        """Calls of this very iteration, made in an earlier attempt."""
        self.repair = repair
        """Calls of earlier iterations of the lineage; None where it starts here."""


class Recall:
    """Serves one iteration from its memory."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._replayer = Replayer(memory.resumed) if memory.resumed else None
        self._held: dict[str, CallRecord] = {}

    @property
    def replaying(self) -> bool:
        """True until every recorded answer was given again and every recorded call was made again."""
        if self._replayer is None:
            return False
        if self._replayer.used_up and self._replayer.left_over() is None:
            self._replayer = None
            return False
        return True

    @property
    def behind(self) -> bool:
        """True while recorded answers are left: what happens was spent before."""
        return self._replayer is not None and not self._replayer.used_up

    def arrive(self, record: CallRecord, known: Recorded | None) -> None:
        """Take a call while replaying, with what the journal knows of it."""
        assert self._replayer is not None, "asked for only while replaying"
        self._held[record.call.id] = record
        self._replayer.arrive(record.call, known)

    def ready(self) -> list[tuple[CallRecord, Recorded]]:
        """The exact answers to give now, in their recorded order."""
        if self._replayer is None:
            return []
        return [(self._held.pop(each.call.id), each.recorded) for each in self._replayer.releases()]

    def free(self) -> list[tuple[CallRecord, Recorded | None]]:
        """Calls to judge on today's facts: none before the recorded answers are used up; recorded ones come first."""
        if self._replayer is None:
            return []
        found = [(self._held.pop(call.id), recorded) for call, recorded in self._replayer.free()]
        return sorted(found, key=lambda each: (each[1] is None, each[1].seq if each[1] is not None else 0))

    def divergence(self) -> Divergence | None:
        """What is left of the journal; asked when the box is quiescent or has ended."""
        return self._replayer.left_over() if self._replayer is not None else None

    def earlier(self, call: Call) -> Recorded | None:
        """The call of an earlier iteration that answers `call` in a repair; None where it is decided afresh."""
        if self._memory.repair is None:
            return None
        found = self._memory.repair.answer(call)
        return found if found is not None and (found.answer is not None or found.effect_dispatched) else None
