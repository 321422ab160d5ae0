"""The watch over a run's box: the wall clock by a timer, the measured dimensions by sampling."""

import asyncio
from collections.abc import Callable

from harness.core.budget import Dimension, Shortage
from harness.core.ending import Ending, Outcome, ReasonCode
from harness.core.errors import StoreError
from harness.core.ports import Box
from harness.run.endings import exhausted, unrecorded
from harness.run.state import RunState

__all__ = ["SAMPLE_SECONDS", "Watchdog"]

SAMPLE_SECONDS = 0.05
"""One sampling period: a limit on cpu is noticed within it; a reading costs the host 3 to 50 µs."""
FENCE_SECONDS = 0.5
"""How often a run that makes no calls looks whether it was taken over; calls see it at their next journal line."""


class Watchdog:
    """Calls `stop(ending)` once, when a limit is passed."""

    def __init__(self, run: RunState, stop: Callable[[Ending], None]) -> None:
        self._run = run
        self._stop = stop
        self._box: Box | None = None
        self._wall: asyncio.TimerHandle | None = None
        self._sample: asyncio.TimerHandle | None = None
        self._next_fence = run.clock.monotonic() + FENCE_SECONDS
        self._cpu_before = float(run.budget.report()[Dimension.CPU_SECONDS].used)

    def start(self) -> None:
        """Arm the wall clock."""
        loop = asyncio.get_running_loop()
        self._wall = loop.call_later(self._run.wall_left(), self._wall_over)

    def watch(self, box: Box) -> None:
        """Sample this box from now on."""
        self._box = box
        self._tick()

    def rest(self) -> None:
        """The execution clock stands still: the box is frozen."""
        if self._wall is not None:
            self._wall.cancel()
            self._wall = None

    def stop(self) -> None:
        """No more timers."""
        for handle in (self._wall, self._sample):
            if handle is not None:
                handle.cancel()
        self._wall = self._sample = None

    def read(self, box: Box) -> Shortage | None:
        """Book one reading."""
        usage = box.usage()
        budget = self._run.budget
        short: Shortage | None = None
        if usage.cpu_seconds is not None:
            short = budget.observe(Dimension.CPU_SECONDS, round(self._cpu_before + usage.cpu_seconds, 6))
        short = short or budget.observe(Dimension.JOURNAL_BYTES, self._run.journal.bytes)
        if usage.memory_mb is not None:
            budget.observe(Dimension.MEMORY_MB, round(usage.memory_mb, 3))
        if usage.pids is not None:
            budget.observe(Dimension.PIDS, usage.pids)
        return short

    def _tick(self) -> None:
        if self._box is None:
            return
        short = self.read(self._box)
        try:
            self._look_for_fence()
        except StoreError as error:
            self._stop(unrecorded(error))
            return
        if short is not None:
            self._stop(exhausted(short))
            return
        self._sample = asyncio.get_running_loop().call_later(SAMPLE_SECONDS, self._tick)

    def _look_for_fence(self) -> None:
        """A later attempt, on this host or on another, or a person's `harness cancel`, takes the run away."""
        run = self._run
        now = run.clock.monotonic()
        if now < self._next_fence:
            return
        self._next_fence = now + FENCE_SECONDS
        attempt = run.parts.store.attempt(run.id)
        if attempt not in (0, run.attempt):
            detail = f"attempt {attempt} owns the run, this was attempt {run.attempt}"
            self._stop(Ending(Outcome.UNRESOLVED, ReasonCode.CANCELLED, detail, (("by", "fence"),)))

    def _wall_over(self) -> None:
        limit = self._run.budget.limit(Dimension.WALL_SECONDS)
        self._stop(exhausted(Shortage(Dimension.WALL_SECONDS, limit or 0, round(self._run.wall_used(), 3))))
