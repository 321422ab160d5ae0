"""Stores that hold how a run began or ended and have not written it yet: written at the latest as the program ends."""

import atexit
from typing import Protocol

__all__ = ["UNSETTLED", "settle_all"]


class _Flushed(Protocol):
    def flush(self) -> None:
        """Make everything handed over so far durable."""


UNSETTLED: set[_Flushed] = set()
"""Kept alive here until it is on disk: a program may let go of its harness without closing it."""


@atexit.register
def settle_all() -> None:
    """Write what is left. Raises StoreError."""
    for store in list(UNSETTLED):
        store.flush()
