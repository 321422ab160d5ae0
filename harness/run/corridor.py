"""The corridor: one run from its terms to its delivered result, iteration by iteration.

One instance is one run on one host. Rooms hold the rules; this file holds the order.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from structlog.contextvars import bound_contextvars

from harness.contract.effective import Terms
from harness.core.budget import Dimension, Metered
from harness.core.call import Json
from harness.core.ending import Ending, Outcome, ReasonCode
from harness.core.errors import SnippetRefused
from harness.core.ports import Entry, RunRow
from harness.language.check import Checked, check
from harness.ledger.replay import RepairIndex
from harness.registry.catalog import stubs
from harness.report import RunResult
from harness.run.assessor import Assessor
from harness.run.charging import book, recall
from harness.run.checks import Checker
from harness.run.conditions import Conditions
from harness.run.doubts import Doubts
from harness.run.endings import exhausted, waiting_under
from harness.run.entries import fact_entry
from harness.run.finishing import Finisher
from harness.run.guard import Guard
from harness.run.history import call_record
from harness.run.iteration import Iteration, Snippet
from harness.run.lineage import Continues, Lineages
from harness.run.lines import call_lines, iteration_line
from harness.run.metering import overspent, unmetered
from harness.run.observation import Observation
from harness.run.opening import Resumption, SameRun, new_row, this_process
from harness.run.place import box_spec
from harness.run.prices import Charged
from harness.run.progress import Progress, progress_of
from harness.run.recall import Memory
from harness.run.record import CallRecord, IterationRecord
from harness.run.state import Parts, RunState
from tool_stubs.generate import Stubs

__all__ = ["Corridor"]


class Corridor:
    """Runs snippets under one contract until it is finished. Not for use from two tasks at once."""

    def __init__(
        self, parts: Parts, terms: Terms, *, key: str = "", snippet: str = "", resumed: Resumption | None = None
    ) -> None:
        """A new run, or with `resumed` the next attempt of an earlier one. `snippet`: of a run of one snippet.

        Raises SameRun where the caller's `key` names an earlier run.
        """
        self._parts = parts
        self._terms = terms
        self._effective = terms.effective
        attempt = resumed.attempt if resumed is not None else 1
        self._state = RunState(parts, terms, lineage=f"{terms.run}.1", attempt=attempt)
        self._stubs: Stubs = stubs(terms.grants, terms.effective.contract.permissions.search_above)
        self._checker = Checker(self._state)
        self._assessor = Assessor(self._state, self._checker)
        self._guard = Guard(self._checker)
        self._conditions = Conditions(self._state, self._checker, self._assessor)
        self._iterations: list[IterationRecord] = []
        self._ending: Ending | None = None
        self._result: RunResult | None = None
        self._live: Iteration | None = None
        self._resumed = resumed
        self._lineages = Lineages(self._state, resumed.past.lineages if resumed is not None else 1)
        if resumed is None:
            row = self._create(key, snippet)
        else:
            row = replace(resumed.row, attempt=resumed.attempt, owner=this_process())
            self._restore(resumed)
        self._finisher = Finisher(self._state, terms, self._checker, row)

    @property
    def id(self) -> str:
        """The run's id."""
        return self._state.id

    @property
    def stubs(self) -> Stubs:
        """What the box will find under `tools`."""
        return self._stubs

    @property
    def terms(self) -> Terms:
        """What binds it."""
        return self._terms

    @property
    def ended(self) -> bool:
        """True where no further iteration can start."""
        return self._ending is not None

    def _create(self, key: str, snippet: str) -> RunRow:
        effective, state = self._effective, self._state
        contract = effective.contract
        now = state.clock.now()
        row = new_row(self._parts, self._terms, caller_key=key, snippet=snippet, now=now)
        created = {"contract": contract.contract, "version": contract.version, "digest": effective.digest}
        lines = [fact_entry(state.where(0), "run_created", now, created)]
        if not key:
            state.journal.begin(row, lines)
            return row
        stored = self._parts.store.create_run(row, lines)
        if stored.id != row.id:
            raise SameRun(stored)
        return stored

    def _restore(self, resumed: Resumption) -> None:
        """Counters, iterations and lineage as they were; what comes of it is `resume`'s."""
        state, past = self._state, resumed.past
        state.restore(self._parts.store.used(state.id))
        state.proven_ended = resumed.proven_ended
        self._iterations = past.iterations
        self._checker.recall(past.facts)
        recall(state, past.facts)
        self._assessor.recall(past.iterations)
        self._ending = past.ending

    # --- iterate -------------------------------------------------------------------------------------------

    def check(self, source: str) -> Checked:
        """Check a snippet against the language policy. Raises SnippetRefused; nothing runs."""
        effective = self._effective
        return check(
            source, language=effective.language, imports=effective.imports, tools=frozenset(self._terms.grants)
        )

    async def iterate(
        self, source: str, continues: Continues = Continues.AUTO, fresh_reads: bool = False
    ) -> Observation:
        """Run one snippet in a fresh box. Raises SnippetRefused before anything starts; a refusal costs no iteration.

        A repair repeats no effect: calls of its lineage are answered from the journal, reads too unless `fresh_reads`.
        After the run has ended it only observes that.
        """
        if self._ending is not None:
            return self._observe(None)
        checked = self.check(source)
        self._stop(await self._blocked(self._calls()) or self._checks_cost())
        if self._ending is not None or not self._spend_iteration():
            return self._observe(None)
        memory = Memory(repair=self._lineages.begin(self._iterations, continues, fresh_reads))
        return await self._run_box(self._snippet(checked, memory))

    async def resume(self) -> None:
        """Go on where an earlier attempt stopped: the same snippet in a new box, answered from the journal first.

        Raises SnippetRefused where today's policy does not take the snippet any more.
        """
        assert self._resumed is not None, "only a resumed run goes on"
        past = self._resumed.past
        live = past.live
        if self._ending is not None:
            return
        if live is None:
            await self._propose_again(self._resumed)
            return
        checked = self.check(live.source)
        made = past.calls.get(live.number, [])
        stopped = await self._blocked([call_record(each) for each in made if each.effect_dispatched])
        if stopped is not None:
            self._stop(stopped)
            return
        self._state.lineage = live.lineage
        earlier = past.of_lineage(live.lineage, live.number)
        memory = Memory(made, RepairIndex(earlier) if earlier else None)
        await self._run_box(replace(self._snippet(checked, memory), now_us=live.now_us))

    async def _propose_again(self, resumed: Resumption) -> None:
        """No snippet is under way: judge the last proposal, or begin where nothing has begun."""
        last = next((record for record in reversed(self._iterations) if record.returned), None)
        snippet = json.loads(resumed.row.document).get("snippet")
        if last is not None:
            await self._assessor.propose(last.number, last.output)
            self._stop(self._escalate())
        elif not self._iterations and snippet:
            await self.iterate(snippet)

    async def _run_box(self, snippet: Snippet) -> Observation:
        number = len(self._iterations) + 1
        self._live = Iteration(self._state, number, snippet, self._guard)
        try:
            with bound_contextvars(run=self.id, iteration=number):
                record = await self._live.run()
        finally:
            self._live = None
        self._iterations.append(record)
        self._stop(record.ending)
        if self._is_taken():
            return self._observe(record)
        if any(call.durable for call in record.calls):
            self._state.journal.flush()
        self._stop(self._weigh(record))
        if self._ending is None:
            stop = await self._assessor.assess(record)
            self._stop(self._checks_cost() or self._escalate() or stop)
        return self._observe(record)

    async def _blocked(self, calls: Sequence[CallRecord]) -> Ending | None:
        """The ending where a precondition does not pass, or a person is asked about it."""
        stopped = await self._assessor.preconditions(calls)
        return self._conditions.escalate(len(self._iterations), stopped) if stopped is not None else None

    def _escalate(self) -> Ending | None:
        """The ending where a named condition holds after a proposal that is no success."""
        return None if self._is_success() else self._conditions.escalate(len(self._iterations))

    async def attempt(self, source: str) -> Observation:
        """As `iterate`, for a loop: a snippet that the language refuses is an observation, and costs an iteration."""
        try:
            return await self.iterate(source)
        except SnippetRefused as refused:
            self._spend_iteration()
            return replace(self._observe(None), refused=refused.faults)

    def is_over(self) -> bool:
        """Whether a loop ends here: the run has ended, its last proposal is a success, or no iteration is left."""
        if self._ending is None and not self._is_success() and not self._state.budget.remaining(Dimension.ITERATIONS):
            self._spend_iteration()
        return self._ending is not None or self._is_success()

    def _is_success(self) -> bool:
        return self._assessor.succeeded and self._assessor.last.iteration == len(self._iterations)

    def _spend_iteration(self) -> bool:
        """Take one iteration; where none is left that ends the run, whatever the predicates say."""
        budget = self._state.budget
        short = budget.shortage({Dimension.ITERATIONS: 1})
        if short is None:
            budget.charge({Dimension.ITERATIONS: 1}, Metered.HOST)
            return True
        last = self._assessor.judge(None, self._iterations)
        detail = f"all {short.limit} iterations are used; {last.detail}"
        self._stop(Ending(Outcome.REJECTED, ReasonCode.ITERATION_LIMIT, detail, (("last", last.reason.value),)))
        return False

    def charge(self, model: str, usage: Mapping[str, int]) -> Charged:
        """Book the agent's own use of a model. Raises ChargeRefused; a charge beyond a limit ends the run."""
        priced, short = book(self._state, len(self._iterations), model, usage)
        if short is not None:
            self._stop(exhausted(short))
        return priced

    def _checks_cost(self) -> Ending | None:
        """The ending where what checks reported went beyond a limit."""
        return exhausted(self._checker.short) if self._checker.short is not None else None

    def _stop(self, ending: Ending | None) -> None:
        """End the run; the first ending wins. A live box goes at once."""
        if ending is None or self._ending is not None:
            return
        if self._live is not None:
            self._live.terminate(ending)
        else:
            self._ending = ending

    def cancel(self, detail: str) -> None:
        """Stop in order: the live box is ended, and no further iteration starts. The first ending wins."""
        self._stop(Ending(Outcome.UNRESOLVED, ReasonCode.CANCELLED, detail))

    def _is_taken(self) -> bool:
        """Whether a later attempt, or a person who cancelled it from elsewhere, owns the run."""
        return self._parts.store.attempt(self.id) not in (0, self._state.attempt)

    def _snippet(self, checked: Checked, memory: Memory) -> Snippet:
        return Snippet(
            checked=checked,
            stubs=self._stubs,
            spec=box_spec(self._effective, self._parts),
            inputs=self._terms.inputs,
            previous=[record.output for record in self._iterations],
            memory=memory,
        )

    def _weigh(self, record: IterationRecord) -> Ending | None:
        """Charge the result's size; a result beyond the limit ends the run."""
        if not record.returned:
            return None
        size = len(json.dumps(record.output, ensure_ascii=False).encode("utf-8", "replace"))
        short = self._state.budget.charge({Dimension.RESULT_BYTES: size}, Metered.HOST)
        return exhausted(short) if short is not None else None

    def _observe(self, record: IterationRecord | None) -> Observation:
        return Observation(
            iteration=iteration_line(record) if record is not None else None,
            calls=call_lines(record.calls) if record is not None else [],
            budget=self._state.budget.report(),
            ending=self._ending,
            checks=[each.to_json() for each in self._checker.results],
            success=self._assessor.last.success if record is not None and record.returned else None,
        )

    def progress(self) -> Progress:
        """The run as it stands now, for whoever watches."""
        return progress_of(self._state, self._checker, self._iterations, self._live)

    # --- finish --------------------------------------------------------------------------------------------

    async def finish(self, cancelled: Ending | None = None) -> RunResult:
        """Judge, deliver, close the record. Called again it returns the same result."""
        if self._result is None:
            recorded = self._resumed is not None and self._resumed.past.ending is not None
            self._ending = ending = self._ending if recorded else cancelled or await self._judge()
            assert ending is not None, "a recorded ending is the ending"
            output = self._last_output() if ending.outcome is Outcome.ACCEPTED else None
            if self._is_taken():
                detail = ending.detail or "another process took the run over"
                self._result = self._finisher.lost(self._iterations, detail)
            else:
                self._result = await self._finisher.finish(ending, output, self._iterations, recorded)
        await self._state.left()
        return self._result

    def _last_output(self) -> Json:
        returned = [record for record in self._iterations if record.returned]
        return returned[-1].output if returned else None

    async def _judge(self) -> Ending:
        """What later iterations did may have changed what the last proposal was judged by."""
        doubts = await Doubts(self._state, self._iterations).settle(ask=self._ending is None)
        last = self._assessor.last
        if self._ending is None and last.fits and last.iteration != len(self._iterations):
            await self._assessor.propose(len(self._iterations), last.output)
        ending = self._assessor.judge(self._ending, self._iterations)
        if ending.reason is ReasonCode.PAUSED and doubts:
            return waiting_under(ending, doubts)
        if ending.outcome is not Outcome.ACCEPTED:
            return ending
        report = self._state.budget.report()
        short = self._checker.short or overspent(report)
        return exhausted(short) if short is not None else unmetered(self._effective.policy, report) or ending

    def _fact(self, kind: str, detail: dict[str, Json]) -> Entry:
        state = self._state
        return fact_entry(state.where(len(self._iterations)), kind, state.clock.now(), detail)

    def _calls(self) -> list[CallRecord]:
        return [record for iteration in self._iterations for record in iteration.calls]
