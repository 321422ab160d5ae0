"""Time as the harness sees it: one interface, so that tests can own it."""

import time
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "SystemClock", "utc_seconds", "utc_text"]


class Clock(Protocol):
    """Two clocks: one to say when, one to measure how long."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Seconds of a clock that never goes back."""


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


def utc_text(seconds: float) -> str:
    """RFC 3339 in UTC with microseconds, `2026-01-02T03:04:05.000006Z`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def utc_seconds(text: str) -> float:
    """Seconds since the epoch of what `utc_text` wrote. Raises ValueError."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC).timestamp()
