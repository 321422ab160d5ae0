"""The guard: effects of a run with invariants go one at a time, each between two looks at what must not change."""

import asyncio
from collections.abc import Sequence

from harness.completion.checks import CheckResult
from harness.completion.terminal import check_ending
from harness.core.call import Call, Effect
from harness.core.ending import Ending, Outcome, ReasonCode
from harness.core.verdict import Code, Decision, Verdict
from harness.run.checks import Checker

__all__ = ["Guard"]


class Guard:
    """Holds the line in which effects wait. One for each run."""

    def __init__(self, checker: Checker) -> None:
        self._checker = checker
        self._line: asyncio.Lock | None = None

    @property
    def line(self) -> asyncio.Lock:
        """Who holds it may act. Unguarded effects wait in it too: none may follow an invariant that just broke."""
        if self._line is None:
            self._line = asyncio.Lock()
        return self._line

    def wanted(self, call: Call) -> bool:
        """Whether `call` must wait for its turn."""
        return call.effect is not Effect.READ and self._checker.has_invariants

    async def look(self, call: Call) -> Ending | None:
        """Make the invariants that guard the call's tool; the ending of the run where one does not hold."""
        broken = await self._checker.around(call.tool, call.iteration)
        return _ending(broken) if broken else None

    @staticmethod
    def refusal(ending: Ending) -> Verdict:
        """What the call is told that was about to act."""
        hint = "nothing of the call has run, and the run has ended"
        return Verdict(Decision.DENY, Code.INVARIANT_BROKEN, (ending.detail,), hint)


def _ending(broken: Sequence[CheckResult]) -> Ending:
    """An expression that errors stops the run too, with its own reason."""
    first = broken[0]
    if first.error:
        detail = f"the invariant `{first.id}` could not be judged: {first.error}"
        return Ending(Outcome.REJECTED, ReasonCode.PREDICATE_ERROR, detail, (("check", first.id),))
    return check_ending(first, len(broken))
