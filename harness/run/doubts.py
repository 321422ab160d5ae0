"""Doubts: calls whose ending is not known when a run would end: the tool is asked, then a person."""

from collections.abc import Sequence

from harness.core.ports import Outcome
from harness.core.state import Event, State
from harness.run.answers import outcome_answer
from harness.run.entries import Told, call_entry
from harness.run.lost import look_up
from harness.run.people import People
from harness.run.receipts import receipt_for
from harness.run.record import CallRecord, IterationRecord
from harness.run.state import RunState

__all__ = ["Doubts"]


class Doubts:
    """Settles the UNKNOWN calls of a run that has no box any more. Their answers stay as the snippet got them."""

    def __init__(self, run: RunState, iterations: Sequence[IterationRecord]) -> None:
        self._run = run
        self._open = [call for record in iterations for call in record.calls if call.call.state is State.UNKNOWN]
        self._people = People(run, len(iterations), {})

    async def settle(self, *, ask: bool) -> list[str]:
        """Ask the tools, read what people said, and with `ask` put the rest to people: the references to wait for."""
        for record in self._open:
            await self._look(record)
        left = [record for record in self._open if record.call.state is State.UNKNOWN]
        if not ask or not left:
            return []
        self._people.waiting.update((record.call.id, record) for record in left)
        fresh, bundles = self._people.put()
        self._run.parts.herald.tell(fresh)
        return [bundle.reference for bundle in bundles]

    async def _look(self, record: CallRecord) -> None:
        run = self._run
        happened = self._people.happened(record)
        tool = run.registry.get(record.call.tool)
        if happened is not None:
            event = Event.PROVE_DONE if happened else Event.PROVE_NOT_DONE
            outcome = Outcome(event, message="a person said what became of the call")
        elif tool is not None and not run.executor.may_still_run(record.call):
            outcome = await look_up(run, tool, record.call)
        else:
            return
        if outcome.event is Event.LOSE:
            return
        record.call = record.call.moved(outcome.event)
        run.unknown.pop((record.call.lineage, record.call.content), None)
        now = run.clock.now()
        entry = call_entry(record.call, outcome.event, now, Told(answer=outcome_answer(record.call, outcome)))
        run.journal.settle(entry, receipt_for(record.call, run.holder, record.call.state, now, outcome))
