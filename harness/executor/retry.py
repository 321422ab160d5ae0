"""Repeats: the harness's, never the snippet's; only where an attempt said that another one is safe."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from tenacity import AsyncRetrying, RetryCallState, retry_if_result, stop_after_attempt, stop_any, wait_exponential
from tenacity.stop import stop_base

from harness.contract.tool import RetryRule
from harness.core.budget import Shortage
from harness.core.clock import Clock
from harness.core.ports import Outcome
from harness.core.state import Event
from harness.executor.results import Judged, Results

__all__ = ["OnRetry", "Repeats", "repeat"]

OnRetry = Callable[[], Shortage | None]
"""Charges one repeat; the shortage where the budget has none left."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """How often, how long, and at whose expense."""

    rule: RetryRule
    until: float
    """No repeat starts at or after this reading of the monotonic clock."""
    clock: Clock
    on_retry: OnRetry
    results: Results


class _TooLate(stop_base):
    """Stops where the next pause would pass the end of the time."""

    def __init__(self, plan: Repeats) -> None:
        self._plan = plan

    def __call__(self, retry_state: RetryCallState) -> bool:
        return self._plan.clock.monotonic() + retry_state.upcoming_sleep >= self._plan.until


class _NoneLeft(Exception):
    """The budget has no repeat left."""


async def repeat(first: Judged, again: Callable[[], Awaitable[Judged]], plan: Repeats) -> Outcome:
    """The outcome after the repeats that rule, time and budget allow; `first` was the first attempt."""
    seen = [first]

    async def attempt() -> Judged:
        if made:
            seen.append(await again())
        made.append(True)
        return seen[-1]

    made: list[bool] = []

    def charge(state: RetryCallState) -> None:
        if plan.on_retry() is not None:
            raise _NoneLeft

    retrying = AsyncRetrying(
        retry=retry_if_result(lambda judged: judged.retry),
        stop=stop_any(stop_after_attempt(plan.rule.attempts), _TooLate(plan)),
        wait=wait_exponential(multiplier=plan.rule.wait_s, max=plan.rule.max_wait_s),
        sleep=asyncio.sleep,
        before_sleep=charge,
        retry_error_callback=lambda state: None,
    )
    with contextlib.suppress(_NoneLeft):
        await retrying(attempt)
    outcome = seen[-1].outcome
    if any(judged.outcome.event is Event.LOSE for judged in seen[:-1]):
        outcome = plan.results.doubtful(outcome)
    return replace(outcome, retries=len(seen) - 1)
