"""A thread that commits, so that a loop need not wait for the disk: runs that end at the same time share a commit."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["Commits"]


class Commits:
    """One commit under way, and one that waits for it and carries all that is handed over meanwhile."""

    def __init__(self, flush: Callable[[], None]) -> None:
        """`flush` commits what waits; it is called in the thread, which is started with the first commit."""
        self._flush = flush
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="commits")
        self._next: Future[None] | None = None

    def soon(self) -> "Future[None]":
        """The commit that begins next: it carries all that was handed over by now. Ends with what `flush` raises."""
        with self._lock:
            if self._next is None:
                self._next = self._thread.submit(self._commit)
            return self._next

    def close(self) -> None:
        """Wait for the commits that were asked for. None can be asked for afterwards."""
        self._thread.shutdown()

    def _commit(self) -> None:
        with self._lock:
            self._next = None
        self._flush()
