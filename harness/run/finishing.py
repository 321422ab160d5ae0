"""Finishing a run: its ending made durable, the result delivered, the record closed; or closed only for today."""

from collections.abc import Sequence
from dataclasses import replace

import structlog

from harness.contract.effective import Terms
from harness.core.call import Json
from harness.core.canonical import canonical
from harness.core.ending import Ending, Outcome, ReasonCode
from harness.core.errors import StoreError, StoreUnavailable
from harness.core.ports import Entry, RunRow
from harness.report import ContractRef, RunResult
from harness.run.checks import Checker
from harness.run.entries import fact_entry
from harness.run.history import ending_facts
from harness.run.lines import call_lines, iteration_line
from harness.run.record import IterationRecord
from harness.run.state import RunState

__all__ = ["Finisher"]

_log = structlog.get_logger("harness.run")


class Finisher:
    """Ends one run."""

    def __init__(self, run: RunState, terms: Terms, checker: Checker, row: RunRow) -> None:
        self._run = run
        self._terms = terms
        self._checker = checker
        self._row = row

    async def finish(
        self, ending: Ending, output: Json, iterations: Sequence[IterationRecord], recorded: bool
    ) -> RunResult:
        """The result of a run that ended so. `recorded`: its ending stands in the journal, delivery may have begun.

        Raises StoreUnavailable where that cannot be written down: then nothing was delivered.
        """
        try:
            return await self._finish(ending, output, iterations, recorded)
        except StoreUnavailable:
            raise
        except StoreError as error:  # a later attempt came between
            return self.lost(iterations, error.message)

    async def _finish(
        self, ending: Ending, output: Json, iterations: Sequence[IterationRecord], recorded: bool
    ) -> RunResult:
        if ending.reason in (ReasonCode.PAUSED, ReasonCode.ESCALATED) or self._later(ending):
            result = self._document(ending, None, iterations, [])
            self._close(result, "paused", len(iterations))
            _log.info("run_paused", run=self._run.id, reason=result.reason.value)
            return self._with_head(result)
        if not recorded:
            facts = {**ending_facts(ending), "result": output}
            await self._run.journal.commit_aside(self._fact(len(iterations), "ended", facts))
        self._run.parts.store.withdraw(self._run.id, "the run has ended")
        accepted = ending.outcome is Outcome.ACCEPTED
        deliveries = await self._deliver(output, recorded) if accepted else []
        result = self._document(ending, output, iterations, deliveries)
        self._close(result, "ended", len(iterations))
        _log.info("run_ended", run=self._run.id, outcome=result.outcome.value, reason=result.reason.value)
        return self._with_head(result)

    def lost(self, iterations: Sequence[IterationRecord], detail: str) -> RunResult:
        """What this process can say of a run that a later attempt has taken: nothing is written."""
        ending = Ending(Outcome.UNRESOLVED, ReasonCode.CANCELLED, detail, (("by", "fence"),))
        return self._document(ending, None, iterations, [])

    def _later(self, ending: Ending) -> bool:
        """A resumed run that finds no box today waits for a better day."""
        return self._run.attempt > 1 and ending.reason is ReasonCode.ENVIRONMENT_UNAVAILABLE

    async def _deliver(self, output: Json, again: bool) -> list[dict[str, Json]]:
        """The accepted result is durable before it leaves; each destination says what became of it."""
        done: list[dict[str, Json]] = []
        for destination in self._terms.destinations:
            delivery = await self._run.parts.deliverer.deliver(self._run.id, destination, output, again=again)
            done.append(delivery.to_json())
        return done

    def _document(
        self, ending: Ending, output: Json, iterations: Sequence[IterationRecord], deliveries: list[dict[str, Json]]
    ) -> RunResult:
        effective, run = self._terms.effective, self._run
        contract = effective.contract
        return RunResult(
            run=run.id,
            contract=ContractRef(contract.contract, contract.version, effective.digest),
            ending=ending,
            result=output,
            iterations=[iteration_line(record) for record in iterations],
            calls=call_lines(call for record in iterations for call in record.calls),
            checks=[each.to_json() for each in self._checker.results],
            budget=run.budget.report(),
            charges=run.charges,
            questions=run.questions,
            deliveries=deliveries,
            audit_head=run.parts.store.audit_head(),
            notes=(f"box: {run.parts.backend.name}",),
        )

    def _close(self, result: RunResult, status: str, iteration: int) -> None:
        row = replace(self._row, status=status, owner="", ending=canonical(result.to_json()))
        lines = [self._fact(iteration, "delivery", dict(each)) for each in result.deliveries]
        if status == "paused":
            self._run.parts.store.finish(row, lines)
        else:
            self._run.journal.end(row, lines)

    def _with_head(self, result: RunResult) -> RunResult:
        return replace(result, audit_head=self._run.parts.store.audit_head())

    def _fact(self, iteration: int, kind: str, detail: dict[str, Json]) -> Entry:
        return fact_entry(self._run.where(iteration), kind, self._run.clock.now(), detail)
