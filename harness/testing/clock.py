"""A clock that moves when a test says so."""

__all__ = ["FakeClock"]


class FakeClock:
    """`harness.core.clock.Clock` under a test's hand."""

    def __init__(self, now: float = 1_767_225_600.0) -> None:
        self._now = now
        self._monotonic = 0.0

    def now(self) -> float:
        """Seconds since the epoch, UTC; starts at 2026-01-01T00:00:00Z."""
        return self._now

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let time pass. Raises ValueError for a negative number: time does not go back here."""
        if seconds < 0:
            raise ValueError("a clock is only moved forward; use `set_now` to play a wrong one")
        self._now += seconds
        self._monotonic += seconds

    def set_now(self, now: float) -> None:
        """Set the wall clock alone, as a wrong or corrected machine clock would be."""
        self._now = now
