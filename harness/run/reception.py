"""The reception: takes calls from the box, and answers what the journal or a person answers before the desk decides."""

from collections.abc import Sequence
from dataclasses import replace

from harness.core.budget import Metered
from harness.core.call import Answer, Call, Effect, Provenance
from harness.core.errors import StoreError
from harness.core.ports import Outcome
from harness.core.state import Event, State
from harness.core.verdict import ALLOW, Code, Decision, Verdict
from harness.gateway.messages import CallFrame
from harness.ledger.replay import Recorded
from harness.run.answers import DO_NOT_RETRY, outcome_answer, value_answer
from harness.run.desk import Desk
from harness.run.endings import diverged, unrecorded
from harness.run.entries import call_entry
from harness.run.guard import Guard
from harness.run.lost import Finding, as_recorded, find_out, value_unseen, write_off
from harness.run.numbering import Numbering
from harness.run.people import People
from harness.run.questions import ESCALATE, BadQuestion
from harness.run.quiet import Quiet
from harness.run.recall import Memory, Recall
from harness.run.record import CallRecord
from harness.run.seat import Seat
from harness.run.state import RunState
from harness.run.timers import SLEEP, Timers

__all__ = ["Reception"]


class Reception(Desk):
    """A desk with a memory, and with people behind it."""

    def __init__(
        self, run: RunState, iteration: int, seat: Seat, guard: Guard | None = None, memory: Memory | None = None
    ) -> None:
        memory = memory or Memory()
        super().__init__(run, seat, guard)
        self._numbering = Numbering(run, iteration, memory.resumed)
        self._recall = Recall(memory)
        self._quiet = Quiet(self._say_quiet)
        self._timers = Timers(self._woken)
        self.people = People(run, iteration, self.waiting)

    # --- in ------------------------------------------------------------------------------------------------

    def receive(self, frame: CallFrame) -> None:
        """Take one call from the box. Never raises for what the box sent."""
        if self.closed and self.pausing:
            return
        call, known = self._numbering.call(frame)
        record = CallRecord(call, frame.id)
        self.owed[frame.id] = record
        if frame.tool != SLEEP:
            self.records.append(record)
        if self.closed:
            self._deny(record, Verdict(Decision.DENY, Code.RUN_CLOSED, ("the run has ended",)))
            return
        if self._recall.replaying:
            self._recall.arrive(record, known)
            self._remember()
        else:
            self._start(record)
        self._check_quiet()

    @property
    def behind(self) -> bool:
        """True while the box goes a way that it has gone before: what it prints was counted then."""
        return self._recall.behind

    def _start(self, record: CallRecord) -> None:
        if record.call.tool == SLEEP:
            self._sleep(record)
            return
        if record.call.tool == ESCALATE:
            self._ask_question(record)
            return
        earlier = self._recall.earlier(record.call)
        if earlier is not None:
            self._repeat(record, earlier)
        else:
            self._consider(record)

    def _sleep(self, record: CallRecord) -> None:
        record.call = replace(record.call, effect=Effect.READ)
        if not self._timers.start(record):
            reason = "a sleep takes `seconds`, a number from 0 on"
            self._deny(record, Verdict(Decision.DENY, Code.BAD_ARGUMENTS, (reason,)))

    def _ask_question(self, record: CallRecord) -> None:
        """A snippet asks: the answer of a person, or the wait for it. It costs a call."""
        record.call = replace(record.call, effect=Effect.READ)
        try:
            chosen = self.people.chosen(record)
        except BadQuestion as error:
            self._deny(record, Verdict(Decision.DENY, Code.BAD_ARGUMENTS, (str(error),)))
            return
        if chosen is None:
            record.verdict = Verdict(Decision.ASK, Code.APPROVAL_REQUIRED, ("a person is asked",))
            self._ask(record)
        elif chosen.option:
            record.call = record.call.moved(Event.RESERVE).moved(Event.DISPATCH).moved(Event.RETURN_VALID)
            record.verdict = ALLOW
            short = self._charge_refusal(record)
            self._release(record, Event.RETURN_VALID, value_answer(chosen.option))
            self._exhausted(short)
        else:
            code = Code.APPROVAL_REJECTED if chosen.by else Code.APPROVAL_EXPIRED
            who = f"`{chosen.by}` chose none of the options" if chosen.by else "nobody answered in time"
            self._deny(record, Verdict(Decision.DENY, code, (who,)))

    def _woken(self, record: CallRecord) -> None:
        record.call = record.call.moved(Event.RESERVE).moved(Event.DISPATCH).moved(Event.RETURN_VALID)
        try:
            self._release(record, Event.RETURN_VALID, value_answer(None))
        except StoreError as error:  # called by a timer: nobody else would hear of it
            self._seat.terminate(unrecorded(error))
        self._check_quiet()

    # --- what the journal answers ----------------------------------------------------------------------------

    def _remember(self) -> None:
        for record, recorded in self._recall.ready():
            self._give_again(record, recorded)
        for record, known in self._recall.free():
            if known is None or not known.effect_dispatched:
                self._start(record)
            else:
                sent, record.call = record.call, as_recorded(record.call, known, self._run)
                self._spawn(record, self._find_out(record, sent))

    def _give_again(self, record: CallRecord, recorded: Recorded) -> None:
        """The exact answer of then, at the time of then; nothing is written or spent."""
        assert recorded.answer is not None, "only answered calls are released"
        record.call = as_recorded(record.call, recorded, self._run)
        record.provenance, record.verdict = Provenance.REPLAY, recorded.verdict
        record.answer, record.released, record.ended_at = recorded.answer, recorded.released, recorded.answered_at
        self._released = max(self._released, recorded.released)
        self._run.landed(record.call)
        self._saw_read(record)
        del self.owed[record.wire_id]
        self._seat.answer(record.wire_id, recorded.answer, recorded.answered_at)

    def _repeat(self, record: CallRecord, earlier: Recorded) -> None:
        """A repair asks for what an earlier iteration did: its answer, and never the effect again."""
        record.provenance = Provenance.REPLAY
        answer = earlier.resolved or earlier.answer
        if earlier.state in (State.UNKNOWN, State.DISPATCHED) or answer is None:
            reason = f"call {earlier.call} was made, and whether it took effect is not known"
            self._deny(record, Verdict(Decision.DENY, Code.OUTCOME_UNKNOWN, (reason,), DO_NOT_RETRY))
            return
        facts = self._run.compiled.tools.get(record.call.tool)
        effect = facts.effect if facts is not None else record.call.effect
        record.call = replace(record.call, effect=effect, digest=earlier.digest, key=earlier.key).moved(Event.REPLAY)
        record.verdict = Verdict(Decision.REPLAY, Code.JOURNAL, (f"answered as call {earlier.call} was",))
        short = self._charge_refusal(record)
        self._release(record, Event.REPLAY, answer)
        self._exhausted(short)

    async def _find_out(self, record: CallRecord, sent: Call) -> None:
        """An effect was dispatched, and its host died: learn what became of it, or let a person say."""
        write_off(self._run, record)
        self._run.landed(record.call)
        found = await find_out(self._run, record)
        if self.closed:
            return
        if found.finding is Finding.PROVEN:
            self._prove(record, found.outcome)
        elif found.finding is Finding.AGAIN:
            self._run.unknown.pop((sent.lineage, sent.content), None)
            self._run.asks.redone.add(sent.id)
            record.call = sent
            self._consider(record)
        else:
            self._doubt(record)
        self._check_quiet()

    def _doubt(self, record: CallRecord) -> None:
        """What a person said of a call in doubt, or the wish to ask."""
        happened = self.people.happened(record)
        if happened is None and not self.people.was_asked(record):
            self.waiting[record.call.id] = record
            return
        tool = self._run.registry.get(record.call.tool)
        if happened:
            self._prove(record, Outcome(Event.PROVE_DONE), value_unseen(record, tool))
        elif happened is False:
            message = "a person says that the call did not take effect"
            self._prove(record, Outcome(Event.PROVE_NOT_DONE, error_type="DidNotHappen", message=message))
        else:
            self._release(record, Event.LOSE, outcome_answer(record.call, Outcome(Event.LOSE, message="nobody knows")))

    def _prove(self, record: CallRecord, outcome: Outcome, answer: Answer | None = None) -> None:
        run, call = self._run, record.call
        run.unknown.pop((call.lineage, call.content), None)
        record.call = call.moved(outcome.event)
        record.durable = True
        facts = run.compiled.tools.get(call.tool)
        record.cost = dict(facts.request) if facts is not None else {"calls": 1}
        short = run.budget.charge(record.cost, Metered.HOST)
        self._release(record, outcome.event, answer or self._answer(record, outcome), outcome)
        self._exhausted(short)

    # --- what people say -------------------------------------------------------------------------------------

    def decided(self) -> None:
        """People have spoken: everything that they spoke of is decided again, on the facts of now."""
        for record in self.people.decided():
            if record.call.state is State.UNKNOWN:
                self._doubt(record)
                continue
            record.call = record.call.moved(Event.ANSWER)
            record.guarded = False
            self._run.journal.note(call_entry(record.call, Event.ANSWER, self._run.clock.now()))
            self._start_again(record)
        self._check_quiet()

    def _start_again(self, record: CallRecord) -> None:
        if record.call.tool == ESCALATE:
            self._ask_question(record)
        else:
            self._consider(record)

    def idle(self, waiting: Sequence[int]) -> None:
        """The box says that it can only wait for these answers."""
        if self._tasks or set(waiting) != set(self.owed):
            return
        if self._is_quiet():
            self._quiet.now()
        elif self._recall.replaying and not self.waiting:
            self.check_divergence()

    def check_divergence(self) -> None:
        """End the run where the box will not make a call that the journal holds."""
        found = self._recall.divergence()
        if found is not None:
            self._seat.terminate(diverged(found))

    def divergence_at_end(self) -> None:
        """The box has ended by itself: what the journal holds and it has not made is told."""
        if self._recall.replaying:
            self.check_divergence()

    # --- quiet -----------------------------------------------------------------------------------------------

    def _check_quiet(self) -> None:
        self._quiet.observe(self._is_quiet())

    def _say_quiet(self) -> None:
        """Nobody is asked about calls that the journal does not expect while others of it are not made."""
        if self._recall.replaying:
            self.check_divergence()
        if not self.closed:
            self._seat.quiet()

    def _is_quiet(self) -> bool:
        if self.closed:
            return False
        return bool(self.waiting) and len(self.owed) - len(self._timers) == len(self.waiting) and not self._tasks

    async def close(self) -> None:
        """As a desk does; timers end with it."""
        self._quiet.close()
        self._timers.close()
        await super().close()
