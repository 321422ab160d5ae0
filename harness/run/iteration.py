"""One iteration: one snippet in one box, from start to the facts of its end.

It implements the gateway's listener; it decides nothing about success.
"""

import asyncio
import base64
from collections.abc import Sequence
from dataclasses import dataclass

from harness.core.budget import Dimension, Metered, Shortage
from harness.core.call import Answer, Json
from harness.core.ending import Ending, Outcome, ReasonCode
from harness.core.errors import EnvironmentUnavailable, HostileInput, StoreError
from harness.core.ports import Box, BoxExit, Entry
from harness.gateway.messages import CallFrame, Failed, Hello, Idle, Print, Result, Start
from harness.gateway.server import Connection, attach
from harness.gateway.session import Session, WireLimits
from harness.language.check import Checked
from harness.run.endings import Loss, exhausted, lost_box, paused, unrecorded
from harness.run.entries import fact_entry
from harness.run.guard import Guard
from harness.run.history import ended_facts
from harness.run.hold import hold
from harness.run.ids import chance_seed, new_token
from harness.run.people import approval_terms
from harness.run.printed import Printed
from harness.run.recall import Memory
from harness.run.reception import Reception
from harness.run.record import IterationRecord
from harness.run.state import RunState
from harness.run.watchdog import Watchdog
from harness.sandbox.spec import SandboxSpec
from tool_stubs.generate import Stubs

__all__ = ["Iteration", "Snippet"]

HELLO_SECONDS = 20.0
"""A box that has not said hello by then is lost; a cold container on a busy machine takes a tenth of it."""
LAST_FRAME_SECONDS = 1.0
"""How long a closed channel waits for the exit of the box to explain it."""


NO_MEMORY = Memory()


@dataclass(frozen=True, slots=True)
class Snippet:
    """What goes into the box."""

    checked: Checked
    stubs: Stubs
    spec: SandboxSpec
    inputs: Json
    previous: Sequence[Json]
    """Outputs of earlier iterations, oldest first."""
    memory: Memory = NO_MEMORY
    """What the journal answers."""
    now_us: int = 0
    """What the box's clock showed when the snippet first started, µs since the epoch; 0 for its first start."""


class Iteration:
    """Runs once. `run()` returns the record; the record's `ending` says where it did not end by itself."""

    def __init__(self, run: RunState, number: int, snippet: Snippet, guard: Guard | None = None) -> None:
        self._run = run
        self._snippet = snippet
        self._token = new_token()
        self._printed = Printed()
        self._over: asyncio.Event = asyncio.Event()
        self._hello: asyncio.Event = asyncio.Event()
        self._connection: Connection | None = None
        self._box: Box | None = None
        self._lost: HostileInput | None = None
        self._ended = False
        self.record = IterationRecord(number, snippet.checked.digest, run.lineage, run.clock.now())
        self.desk = Reception(run, number, self, guard, snippet.memory)
        self._now_us = snippet.now_us or int(run.clock.now() * 1_000_000)
        self._people: asyncio.Task[None] | None = None
        self._watchdog = Watchdog(run, self.terminate)

    async def run(self) -> IterationRecord:
        """Start a box, serve it to its end, leave nothing behind."""
        run = self._run
        run.start_wall()
        run.asks.oldest_read = 0.0
        run.journal.note(self._fact("iteration_started", self._started()))
        watchdog = self._watchdog
        try:
            await self._live(watchdog)
        finally:
            watchdog.stop()
            await self._clean_up(watchdog)
            run.stop_wall()
        return self.record

    def _started(self) -> dict[str, Json]:
        """What a later attempt needs to start the very same snippet again."""
        return {"snippet": self.record.snippet, "source": self._snippet.checked.source, "now_us": self._now_us}

    async def _live(self, watchdog: Watchdog) -> None:
        watchdog.start()
        try:
            await self._open(watchdog)
        except EnvironmentUnavailable as error:
            self.terminate(Ending(Outcome.REJECTED, ReasonCode.ENVIRONMENT_UNAVAILABLE, str(error)))
            return
        await self._over.wait()
        if self.record.ending is None and self._lost is None:
            await self._wait_for_calls()

    async def _open(self, watchdog: Watchdog) -> None:
        starting = asyncio.ensure_future(self._run.parts.backend.start(self._snippet.spec))
        stopped = asyncio.ensure_future(self._over.wait())
        await asyncio.wait({starting, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not starting.done():
            await self._abandon(starting)
            return
        self._box = box = starting.result()
        if self._over.is_set():
            return
        watchdog.watch(box)
        session = Session(self._token, WireLimits())
        self._connection = await attach(asyncio.get_running_loop(), box.channel, session, self)
        await self._first(self._hello, self._over)
        if self._over.is_set():
            return
        await box.verify()
        self._connection.send_start(self._start())

    async def _abandon(self, starting: "asyncio.Future[Box]") -> None:
        """The run was stopped while its box was being made: let it come, then throw it away."""
        try:
            self._box = await starting
        except EnvironmentUnavailable:
            self._box = None

    async def _first(self, *events: asyncio.Event) -> None:
        waits = [asyncio.ensure_future(event.wait()) for event in events]
        done, rest = await asyncio.wait(waits, timeout=HELLO_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for wait in rest:
            wait.cancel()
        if not done:
            raise EnvironmentUnavailable(
                f"the box said nothing within {HELLO_SECONDS:.0f} seconds", hint="run `harness doctor`"
            )

    def _start(self) -> Start:
        run, snippet = self._run, self._snippet
        checked, effective = snippet.checked, run.effective
        return Start(
            token=self._token,
            run=run.id,
            iteration=self.record.number,
            attempt=run.attempt,
            language=checked.language.value,
            imports=list(effective.imports),
            code=base64.b64encode(checked.code).decode("ascii"),
            source=checked.source,
            tools={"source": snippet.stubs.source, "table": snippet.stubs.table},
            inputs=snippet.inputs,
            previous=list(snippet.previous),
            budget=self._budget(),
            chance={
                "seed": chance_seed(run.parts.secret, run.id, self.record.number),
                "now_us": self._now_us,
                "tick_us": 1,
            },
        )

    def _budget(self) -> dict[str, Json]:
        left = {name: self._run.budget.remaining(name) for name in self._run.effective.limits}
        return {name: amount if isinstance(amount, int | float) else str(amount) for name, amount in left.items()}

    async def _wait_for_calls(self) -> None:
        """The snippet is done: what it dispatched and did not await is waited for, within the wall limit."""
        self._over.clear()
        settling = asyncio.ensure_future(self.desk.settle())
        stopped = asyncio.ensure_future(self._over.wait())
        await asyncio.wait({settling, stopped}, return_when=asyncio.FIRST_COMPLETED)
        settling.cancel()
        stopped.cancel()

    async def _clean_up(self, watchdog: Watchdog) -> None:
        if self._connection is not None:
            self._connection.close()
        exit_: BoxExit | None = None
        short: Shortage | None = None
        if self._box is not None:
            short = watchdog.read(self._box)
            if self._ended:
                self._run.leave(self._box)
            else:
                exit_ = await self._box.close()
            self.record.usage = self._box.usage()
            self.record.exit = exit_
        if self._people is not None:
            self._people.cancel()
        await self.desk.close()
        self._explain(exit_, short)
        record, run = self.record, self._run
        record.calls = self.desk.records
        record.printed, record.printed_bytes = self._printed.text, self._printed.bytes
        record.ended_at = run.clock.now()
        run.journal.note(self._fact("iteration_ended", ended_facts(record, self.desk.pausing)))

    def _explain(self, exit_: BoxExit | None, short: Shortage | None) -> None:
        """A box that went away without a result: say why, from what the host saw."""
        if not self._ended and self.record.ending is None:
            self._set_ending(lost_box(Loss(exit_, self._lost, short), self._run))

    # --- what the gateway hears ----------------------------------------------------------------------------

    def on_hello(self, hello: Hello) -> None:
        """The box is confined and ready; the host reads /proc before it believes so."""
        self._hello.set()

    def on_open(self) -> None:
        """The token came back: the conversation is open."""

    def on_call(self, frame: CallFrame) -> None:
        """A stub was used, or the snippet sleeps."""
        try:
            self.desk.receive(frame)
        except StoreError as error:  # the loop would take it for the end of the channel
            self.terminate(unrecorded(error))

    def on_print(self, frame: Print) -> None:
        """The snippet printed."""
        size = self._printed.add(frame.text)
        if self.desk.behind:
            return
        short = self._run.budget.charge({Dimension.OUTPUT_BYTES: size}, Metered.HOST)
        if short is not None:
            self.terminate(exhausted(short))

    def on_idle(self, frame: Idle) -> None:
        """The box says that nothing in it can go on without an answer: a hint, the host's view decides."""
        self.desk.idle(frame.waiting)

    def on_result(self, frame: Result) -> None:
        """The snippet returned."""
        self._ended = True
        self.record.returned = not frame.none
        self.record.output = frame.value
        self.desk.divergence_at_end()
        self._over.set()

    def on_failed(self, frame: Failed) -> None:
        """An exception left the snippet."""
        self._ended = True
        self.record.failure = {
            "type": frame.type,
            "message": frame.message,
            "traceback": frame.traceback,
            "line": frame.line,
        }
        self.desk.divergence_at_end()
        self._over.set()

    def on_lost(self, error: HostileInput | None) -> None:
        """The channel is closed, by the box or because it broke a rule."""
        self._lost = error
        self._over.set()

    # --- what the desk asks --------------------------------------------------------------------------------

    def answer(self, wire_id: int, answer: Answer, at: float) -> None:
        """Send an answer to the box; its clock stands at `at` from then on, in a replay too."""
        if self._connection is not None:
            self._connection.send_answer(wire_id, answer, int(at * 1_000_000))

    def terminate(self, ending: Ending) -> None:
        """Stop for good; the first ending wins. Whatever the box still sends is refused."""
        self._set_ending(ending)
        self.desk.closed = True
        self.desk.pausing = self.desk.pausing or self._goes_on_later()
        self._over.set()

    def quiet(self) -> None:
        """Only a person can move this run on."""
        if self._people is None or self._people.done():
            self._people = asyncio.ensure_future(self._ask_people())

    async def _ask_people(self) -> None:
        try:
            await self._wait_for_people()
        except StoreError as error:
            self.terminate(unrecorded(error))

    async def _wait_for_people(self) -> None:
        """Put what waits to people; hold the box for a while, then let it go."""
        run = self._run
        fresh, bundles = self.desk.people.put()
        run.parts.herald.tell(fresh)
        seconds = approval_terms(run).hold_seconds
        if seconds and self._box is not None:
            run.stop_wall()
            self._watchdog.rest()
            decided = await hold(self._box, bundles, seconds, run.parts.store, run.clock)
            if decided:
                run.start_wall()
                self._watchdog.start()
                self._people = None
                self.desk.decided()
                return
        self.terminate(paused(self.desk.waiting.values(), bundles))

    def _goes_on_later(self) -> bool:
        """Whether the run only pauses: a person must speak, or a resumed run finds no box today."""
        ending = self.record.ending
        if ending is None or self._ended:
            return False
        resumed = self._run.attempt > 1
        if ending.reason in (ReasonCode.PAUSED, ReasonCode.ESCALATED):
            return True
        return resumed and ending.reason is ReasonCode.ENVIRONMENT_UNAVAILABLE

    def _set_ending(self, ending: Ending) -> None:
        if self.record.ending is None:
            self.record.ending = ending

    def _fact(self, kind: str, detail: dict[str, Json]) -> Entry:
        return fact_entry(self._run.where(self.record.number), kind, self._run.clock.now(), detail)
