"""Sleeps of a snippet: `time.sleep`, `asyncio.sleep` and every timer are calls that the host answers when it is time.

They touch nothing, so nothing decides about them; what bounds them is the run's wall clock.
"""

import asyncio
import math
from collections.abc import Callable

from harness.run.record import CallRecord

__all__ = ["SLEEP", "Timers"]

SLEEP = "harness.sleep"
"""Name under which a box asks for time: `{seconds}`."""
LONGEST_SECONDS = 86_400.0 * 365
"""A year: no run lasts so long, and the loop's own clock takes it."""


class Timers:
    """The sleeps of one iteration; `woken` hears when one is over."""

    def __init__(self, woken: Callable[[CallRecord], None]) -> None:
        self._woken = woken
        self._running: dict[int, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._running)

    def start(self, record: CallRecord) -> bool:
        """Wake `record` when its time has come. False where its `seconds` are no time."""
        seconds = record.call.arguments.get("seconds")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
            return False
        loop = asyncio.get_running_loop()
        self._running[record.wire_id] = loop.call_later(min(float(seconds), LONGEST_SECONDS), self._over, record)
        return True

    def close(self) -> None:
        """Forget what is still running."""
        for handle in self._running.values():
            handle.cancel()
        self._running.clear()

    def _over(self, record: CallRecord) -> None:
        del self._running[record.wire_id]
        self._woken(record)
