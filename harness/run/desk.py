"""The desk: where a call that came out of the box is decided, executed, recorded and answered.

It puts rooms together and holds no rule of its own: rules live in `enforcement`, moves in `core.state`.
"""

import asyncio
from collections.abc import Awaitable, Coroutine, Sequence
from dataclasses import replace

from harness.core.budget import Amount, Metered, Shortage
from harness.core.call import Answer, Effect
from harness.core.ending import Ending, ReasonCode
from harness.core.ending import Outcome as RunOutcome
from harness.core.errors import StoreError
from harness.core.ports import KeyTaken, Outcome, Reservation
from harness.core.state import Event, State
from harness.core.verdict import Code, Decision, Verdict
from harness.enforcement.budget import exhausted as budget_exhausted
from harness.enforcement.pipeline import Decided, decide, refusal
from harness.executor.execute import Deadline
from harness.output.mask import mask
from harness.run.answers import error_answer, outcome_answer
from harness.run.endings import exhausted, unrecorded
from harness.run.entries import Told, call_entry
from harness.run.guard import Guard
from harness.run.receipts import receipt_answer, receipt_for
from harness.run.record import CallRecord
from harness.run.seat import Seat
from harness.run.state import RunState
from harness.run.view import DeskView

__all__ = ["Desk"]


class Desk:
    """Serves the calls of one iteration. Lives on the loop of its run; nothing in it blocks but the store."""

    def __init__(self, run: RunState, seat: Seat, guard: Guard | None = None) -> None:
        self._run = run
        self._guard = guard
        self._seat = seat
        self._view = DeskView(run)
        self._joined: dict[str, list[CallRecord]] = {}
        self._tasks: dict[asyncio.Task[None], CallRecord] = {}
        self._lined: list[tuple[CallRecord, Decided]] = []
        self._fenced: set[str] = set()
        self._released = 0
        self.waiting: dict[str, CallRecord] = {}
        """By call id: calls that need a person."""
        self.records: list[CallRecord] = []
        self.owed: dict[int, CallRecord] = {}
        """Calls whose answer the box still waits for, by the box's number."""
        self.closed = False
        self.pausing = False
        """True where the run goes on another day: what is open stays open."""

    # --- decide --------------------------------------------------------------------------------------------

    def _consider(self, record: CallRecord) -> None:
        decided = decide(self._run.compiled, record.call, self._view)
        record.call, record.verdict, record.request = decided.call, decided.verdict, decided.request
        record.text = decided.text
        decision = decided.verdict.decision
        if decision is Decision.ALLOW:
            self._allow(record, decided)
        elif decision is Decision.DENY:
            self._deny(record, decided.verdict)
        elif decision is Decision.REPLAY:
            self._replay(record, decided)
        else:
            self._ask(record)

    def _deny(self, record: CallRecord, verdict: Verdict, event: Event = Event.DENY) -> None:
        record.verdict = verdict
        record.call = record.call.moved(event)
        answer = error_answer(refusal(record.call, verdict))
        short = self._charge_refusal(record)
        self._release(record, event, answer)
        if short is not None:
            self._exhausted(short)
        elif verdict.code is Code.BUDGET_EXHAUSTED:
            self._exhausted(self._run.budget.shortage(record.request))

    def _charge_refusal(self, record: CallRecord) -> Shortage | None:
        record.cost = {"calls": 1}
        return self._run.budget.charge({"calls": 1}, Metered.HOST)

    def _replay(self, record: CallRecord, decided: Decided) -> None:
        if decided.joined:
            record.call = record.call.moved(Event.JOIN)
            self._joined.setdefault(decided.joined, []).append(record)
            self._run.budget.charge({"calls": 1}, Metered.HOST)
            return
        receipt = decided.receipt
        assert receipt is not None, "a replay is answered by a receipt or by a call in flight"
        record.call = record.call.moved(Event.REPLAY)
        short = self._charge_refusal(record)
        self._release(
            record, Event.REPLAY, receipt_answer(receipt, self._run.grant(record.call.tool), self._run.data_classes)
        )
        if short is not None:
            self._exhausted(short)

    def _ask(self, record: CallRecord) -> None:
        record.call = record.call.moved(Event.ASK)
        self.waiting[record.call.id] = record
        self._run.journal.note(
            call_entry(
                record.call, Event.ASK, self._run.clock.now(), Told(record.verdict, data=self._arguments(record))
            )
        )

    # --- do ------------------------------------------------------------------------------------------------

    def _allow(self, record: CallRecord, decided: Decided) -> None:
        if self._guard is not None and not record.guarded and self._guard.wanted(record.call):
            self._spawn(record, self._guarded(record, self._guard))
            return
        short = self._run.budget.reserve(record.request)
        if short is not None:
            self._deny(record, budget_exhausted(short, record.request))
            return
        if record.call.effect is Effect.READ:
            record.call = record.call.moved(Event.RESERVE, Event.DISPATCH)
        else:
            record.call = record.call.moved(Event.RESERVE)
            self._line_up(record, decided)
            return
        self._execute(record)

    def _line_up(self, record: CallRecord, decided: Decided) -> None:
        """Effects that are allowed in one turn of the loop share a commit; a guarded one has its turn now."""
        if record.guarded:
            self._take([(record, decided)])
            return
        self._lined.append((record, decided))
        if len(self._lined) == 1:
            self._spawn(record, self._take_lined())

    async def _take_lined(self) -> None:
        lined, self._lined = self._lined, []
        if not self.closed:
            self._take(lined)

    def _execute(self, record: CallRecord) -> None:
        self._run.in_flight(record.call)
        outcome = self._begin(record)
        if record.guarded:
            record.pending = outcome
        elif isinstance(outcome, Outcome):
            self._conclude(record, outcome)
        else:
            self._spawn(record, self._follow(record, outcome))

    def _spawn(self, record: CallRecord, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks[task] = record
        task.add_done_callback(self._worked)

    def _worked(self, task: "asyncio.Task[None]") -> None:
        record = self._tasks.pop(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, StoreError):
            self._seat.terminate(unrecorded(error))
        elif error is not None:  # a fault of the harness: the call's ending was not seen, and the run does not go on
            detail = f"the harness failed at call {record.call.id}: {type(error).__name__}"
            self._seat.terminate(Ending(RunOutcome.UNRESOLVED, ReasonCode.INTERNAL, detail))
        self._check_quiet()

    async def _guarded(self, record: CallRecord, guard: Guard) -> None:
        """One effect between two looks at the invariants; its answer waits for the second."""
        async with guard.line:
            broken = None if self.closed else await guard.look(record.call)
            if self.closed:
                self._deny(record, Verdict(Decision.DENY, Code.RUN_CLOSED, ("the run has ended",)))
                return
            if broken is not None:
                self._seat.terminate(broken)
                self._deny(record, guard.refusal(broken))
                return
            record.guarded = True
            self._consider(record)  # on the facts of now: others had their turn meanwhile
            if record.pending is not None:
                await self._act(record, record.pending, guard)
        self._check_quiet()

    async def _act(self, record: CallRecord, pending: Outcome | Awaitable[Outcome], guard: Guard) -> None:
        outcome = pending if isinstance(pending, Outcome) else await pending
        try:
            broken = await guard.look(record.call)
            if broken is not None:
                self._seat.terminate(broken)
        finally:
            self._conclude(record, outcome)

    def _take(self, lined: Sequence[tuple[CallRecord, Decided]]) -> None:
        """Take keys, approvals and journal lines in one transaction, then act; what loses goes another way."""
        reservations = [self._reservation(record, decided) for record, decided in lined]
        for (record, _), lost in zip(lined, self._run.journal.reserve_all(reservations), strict=True):
            if lost is None:
                record.durable = True
                record.call = record.call.moved(Event.DISPATCH)
                self._execute(record)
                continue
            self._run.budget.release(record.request)
            if isinstance(lost, KeyTaken):
                self._view.remember(lost.receipt)
                self._consider_again(record)
            elif record.call.id not in self._fenced:
                self._fenced.add(record.call.id)
                self._run.asks.refresh()
                self._consider_again(record)
            else:
                self._seat.terminate(Ending(RunOutcome.UNRESOLVED, ReasonCode.CANCELLED, f"fenced: {lost.why}"))

    def _reservation(self, record: CallRecord, decided: Decided) -> Reservation:
        run = self._run
        call = record.call.moved(Event.DISPATCH)
        told = Told(record.verdict, data=self._arguments(record))
        entry = call_entry(call, Event.DISPATCH, run.clock.now(), told)
        return Reservation(
            entry=entry,
            receipt=receipt_for(call, run.holder, State.DISPATCHED, entry.at),
            approval=run.asks.to_consume(call, decided.approval),
            again=decided.again,
            used=run.snapshot(),
        )

    def _consider_again(self, record: CallRecord) -> None:
        """Another was faster with the key or the approval: decide once more, with that as a fact."""
        record.call = record.call.moved(Event.HOST_DIED)
        self._consider(record)

    def _begin(self, record: CallRecord) -> Outcome | Awaitable[Outcome]:
        run, call = self._run, record.call
        tool = run.registry.get(call.tool)
        if tool is None:
            raise LookupError(f"the registry lost the tool `{call.tool}` after it was granted")
        left = max(run.wall_left(), 0.001)
        deadline = Deadline(min(tool.contract.timeout_s, left), run.clock.monotonic() + left)
        return run.executor.begin(tool, call, deadline, self._on_retry)

    def _on_retry(self) -> Shortage | None:
        short = self._run.budget.charge({"retries": 1}, Metered.HOST)
        if short is not None:
            self._exhausted(short)
        return short

    async def _follow(self, record: CallRecord, pending: Awaitable[Outcome]) -> None:
        outcome = await pending
        self._conclude(record, outcome)

    def _conclude(self, record: CallRecord, outcome: Outcome) -> None:
        run = self._run
        record.call = record.call.moved(outcome.event)
        run.landed(record.call)
        record.cost = self._cost(record, outcome)
        short = run.budget.settle(record.request, record.cost)
        answer = self._answer(record, outcome)
        self._release(record, outcome.event, answer, outcome)
        for joiner in self._joined.pop(record.call.id, ()):
            joiner.call = joiner.call.moved(outcome.event)
            self._release(joiner, outcome.event, answer)
        if short is not None:
            self._exhausted(short)

    def _cost(self, record: CallRecord, outcome: Outcome) -> dict[str, Amount]:
        """What the tool reported replaces what was estimated; an unknown ending costs what was reserved."""
        cost: dict[str, Amount] = dict(record.request)
        if outcome.cost and record.call.state is not State.UNKNOWN:
            cost.update(outcome.cost)
        return cost

    def _answer(self, record: CallRecord, outcome: Outcome) -> Answer:
        grant = self._run.grant(record.call.tool)
        if grant.masks and outcome.value is not None:
            outcome = replace(outcome, value=mask(outcome.value, grant.tool.data, self._run.data_classes))
        return outcome_answer(record.call, outcome)

    # --- out -----------------------------------------------------------------------------------------------

    def _release(self, record: CallRecord, event: Event, answer: Answer, outcome: Outcome | None = None) -> None:
        run = self._run
        self._released += 1
        record.answer, record.released, record.ended_at = answer, self._released, run.clock.now()
        told = Told(
            record.verdict,
            answer,
            self._released,
            record.cost,
            b"" if record.durable else self._arguments(record),
        )
        entry = call_entry(record.call, event, record.ended_at, told)
        if record.durable and outcome is not None:
            run.journal.settle(entry, receipt_for(record.call, run.holder, record.call.state, entry.at, outcome))
        else:
            run.journal.note(entry)
        self.owed.pop(record.wire_id, None)
        self._saw_read(record)
        self._seat.answer(record.wire_id, answer, record.ended_at)

    def _arguments(self, record: CallRecord) -> bytes:
        return record.text or self._run.arguments_json(record.call)

    def _exhausted(self, short: Shortage | None) -> None:
        if short is not None:
            self._seat.terminate(exhausted(short))

    def _saw_read(self, record: CallRecord) -> None:
        """Remember how old the oldest read behind later calls is."""
        if record.call.effect is Effect.READ and record.call.state is State.SUCCEEDED:
            self._run.asks.oldest_read = self._run.asks.oldest_read or record.ended_at

    def _check_quiet(self) -> None:
        """Something has happened: whoever waits for quiet may look."""

    # --- end -----------------------------------------------------------------------------------------------

    async def settle(self) -> None:
        """Wait until every dispatched call has ended; each is bounded by its own deadline."""
        while self._tasks:
            await asyncio.wait(list(self._tasks))

    async def close(self) -> None:
        """No call counts from here on: what was not dispatched is denied, what is in flight is let go."""
        self.closed = True
        if not self.pausing:
            for record in [each for each in self.waiting.values() if each.call.state is State.WAITING]:
                self._deny(record, Verdict(Decision.DENY, Code.ABANDONED, ("the snippet ended first",)), Event.ABANDON)
            self.waiting.clear()
        for task in [*self._tasks]:
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks))
        for record in self.records:
            if record.call.state is State.DISPATCHED:
                self._lose(record)
            elif record.call.state is State.RESERVED:
                self._run.budget.release(record.request)
                self._deny(record, Verdict(Decision.DENY, Code.ABANDONED, ("the run ended first",)), Event.ABANDON)
            elif record.call.state is State.RECEIVED and not self.pausing:
                self._deny(record, Verdict(Decision.DENY, Code.ABANDONED, ("the snippet ended first",)))

    def _lose(self, record: CallRecord) -> None:
        event = Event.LOSE
        message = "the run ended before the tool answered"
        if record.call.effect is Effect.READ:
            event = Event.RAISE_NO_EFFECT
        self._conclude(record, Outcome(event, error_type="Abandoned", message=message, settled=False))
