"""Sleeps of a snippet: `time.sleep`, `asyncio.sleep` and every timer are calls that the host answers when it is time.

They touch nothing, so nothing decides about them; what bounds them is the run's wall clock.
"""

import asyncio
import math
from typing import Protocol

from harness.core.call import Answer
from harness.core.clock import Clock
from harness.gateway.messages import CallFrame
from harness.run.answers import error_answer, value_answer

__all__ = ["SLEEP", "Seat", "Timers"]

SLEEP = "harness.sleep"
"""Name under which a box asks for time: `{seconds}`."""
LONGEST_SECONDS = 86_400.0 * 365
"""A year: no run lasts so long, and the loop's own clock takes it."""


class Seat(Protocol):
    """Who sends the answer."""

    def answer(self, wire_id: int, answer: Answer, at: float) -> None:
        """Send an answer to the box, as of `at` (seconds since the epoch)."""


class Timers:
    """The sleeps of one iteration."""

    def __init__(self, seat: Seat, clock: Clock) -> None:
        self._seat = seat
        self._clock = clock
        self._running: dict[int, asyncio.TimerHandle] = {}

    def start(self, frame: CallFrame) -> None:
        """Answer `frame` when its time has come. What is no time is refused."""
        seconds = frame.args.get("seconds")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
            message = "a sleep takes `seconds`, a number from 0 on"
            error = {"kind": "ToolDenied", "code": "bad_arguments", "tool": SLEEP, "message": message}
            self._seat.answer(frame.id, error_answer({**error, "hint": "", "data": {}}), self._clock.now())
            return
        loop = asyncio.get_running_loop()
        self._running[frame.id] = loop.call_later(min(float(seconds), LONGEST_SECONDS), self._over, frame.id)

    def close(self) -> None:
        """Forget what is still running."""
        for handle in self._running.values():
            handle.cancel()
        self._running.clear()

    def _over(self, number: int) -> None:
        del self._running[number]
        self._seat.answer(number, value_answer(None), self._clock.now())
