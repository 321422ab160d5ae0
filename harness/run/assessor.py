"""After each iteration: does the proposal fit, do the checks pass, does success hold, does a condition stop the run?

Success and stopping are separate facts; this file finds them, `harness.completion.terminal` makes the ending.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.completion.stops import Seen, Stops
from harness.completion.terminal import EndFacts, check_ending, judge
from harness.contract.completion_terms import CheckKind
from harness.contract.expression import Judged
from harness.contract.schema import SchemaFault
from harness.core.call import Effect, Json
from harness.core.ending import Ending
from harness.core.state import FINAL, State
from harness.output.validate import validate
from harness.run.checks import Checker
from harness.run.entries import fact_entry
from harness.run.facts import run_facts
from harness.run.record import CallRecord, IterationRecord
from harness.run.state import RunState

__all__ = ["Assessment", "Assessor"]


@dataclass(frozen=True, slots=True)
class Assessment:
    """What is known of the last proposal."""

    iteration: int
    """After which it was found; 0 before the first."""
    output: Json = None
    proposed: bool = False
    faults: Sequence[SchemaFault] = ()
    success: Judged | None = None
    """None where it was not asked."""

    @property
    def fits(self) -> bool:
        """Whether there is an output that fits its schema."""
        return self.proposed and not self.faults


class Assessor:
    """Judges the proposals of one run."""

    def __init__(self, run: RunState, checker: Checker) -> None:
        self._run = run
        self._checker = checker
        self._stops = Stops(run.effective.stops)
        self.last = Assessment(0)

    async def preconditions(self, calls: Sequence[CallRecord]) -> Ending | None:
        """Make them while the run has had no effect; the ending where one does not pass."""
        if any(record.call.effect is not Effect.READ and record.call.state in _ACTED for record in calls):
            return None
        failed = await self._checker.make(CheckKind.PRECONDITION, self.last.iteration)
        return check_ending(failed[0], len(failed)) if failed else None

    async def assess(self, record: IterationRecord) -> Ending | None:
        """Judge what `record` brought; the ending where a stop condition holds and success does not."""
        if record.returned:
            await self.propose(record.number, record.output)
        run, last = self._run, self.last
        seen = Seen(record.snippet, record.output, record.returned, record.returned and last.fits)
        stop = self._stops.observe(seen, self.facts(record.number))
        succeeded = record.returned and self.succeeded
        if stop is None or succeeded:
            return None
        run.journal.note(fact_entry(run.where(record.number), "stopped", run.clock.now(), {"detail": stop.detail}))
        return stop

    def recall(self, iterations: Sequence[IterationRecord]) -> None:
        """Count the iterations of an earlier attempt, so that a loop that went nowhere is still seen."""
        for record in iterations:
            if record.returned:
                faults = tuple(validate(record.output, self._run.effective.output_validator))
                self.last = Assessment(record.number, record.output, True, faults)
            seen = Seen(record.snippet, record.output, record.returned, record.returned and self.last.fits)
            self._stops.observe(seen, self.facts(record.number))

    async def propose(self, iteration: int, output: Json) -> None:
        """Judge `output` as the proposal after `iteration`."""
        run = self._run
        faults = tuple(validate(output, run.effective.output_validator))
        self.last = Assessment(iteration, output, True, faults)
        if faults:
            return
        await self._checker.make(CheckKind.POSTCONDITION, iteration, output)
        success = run.effective.success.evaluate(self.facts(iteration))
        self.last = Assessment(iteration, output, True, (), success)
        detail: dict[str, Json] = {"success": success.value, "error": success.error}
        detail["obstacles"] = [each.id for each in self._checker.obstacles]
        run.journal.note(fact_entry(run.where(iteration), "judged", run.clock.now(), detail))

    @property
    def succeeded(self) -> bool:
        """Whether the last proposal fits, every check passes, and success holds without an error."""
        success = self.last.success
        if not self.last.fits or success is None or self._checker.obstacles:
            return False
        return success.value is True and not success.error

    def facts(self, iteration: int) -> dict[str, Json]:
        """What the expressions of the contract see now."""
        output = self.last.output if self.last.fits else None
        return run_facts(self._run, iteration, output, self._checker.facts)

    def judge(self, stopped: Ending | None, iterations: Sequence[IterationRecord]) -> Ending:
        """The ending of the run, when no further iteration follows."""
        calls = [record.call for iteration in iterations for record in iteration.calls]
        last = self.last
        return judge(
            EndFacts(
                stopped=stopped,
                iterations=len(iterations),
                has_output=last.proposed,
                failure=iterations[-1].failure if iterations else None,
                output_faults=last.faults,
                success=last.success,
                obstacles=self._checker.obstacles,
                unresolved=tuple(call.id for call in calls if call.state is State.UNKNOWN),
                open_calls=tuple(
                    call.id for call in calls if call.state not in FINAL and call.state is not State.UNKNOWN
                ),
            )
        )


_ACTED = frozenset({State.DISPATCHED, State.UNKNOWN, State.SUCCEEDED, State.PARTIAL, State.APPLIED_INVALID})
"""States in which an effect has, or may have, taken place."""
