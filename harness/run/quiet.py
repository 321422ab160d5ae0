"""Quiet: the moment from which only a person can move a box on, found with a short bound."""

import asyncio
from collections.abc import Callable

__all__ = ["QUIET_SECONDS", "Quiet"]

QUIET_SECONDS = 0.25
"""How long a box that has not said that it is idle may still think of another call: later ones form the next bundle."""


class Quiet:
    """Says once that it is quiet, `QUIET_SECONDS` after it became so, or at once when the box itself says so."""

    def __init__(self, say: Callable[[], None]) -> None:
        self._say = say
        self._timer: asyncio.TimerHandle | None = None

    def observe(self, is_quiet: bool) -> None:
        """How it stands after something has happened."""
        self.close()
        if is_quiet:
            self._timer = asyncio.get_running_loop().call_later(QUIET_SECONDS, self.now)

    def now(self) -> None:
        """Say it."""
        self.close()
        self._say()

    def close(self) -> None:
        """No more timers."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
