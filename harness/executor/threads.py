"""A pool of daemon threads for blocking tools: capped, never joined, so that one that hangs holds nothing up.

The standard pool waits for its threads when the interpreter exits; a tool that hangs would hang the exit.
"""

import threading
from collections import deque
from collections.abc import Callable

__all__ = ["DaemonPool", "Job"]


class Job:
    """One piece of work that either starts or is withdrawn, never both."""

    __slots__ = ("_lock", "_taken", "_work", "finished")

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._taken = False
        self.finished = False
        """True once the work is done: nothing of it runs any more."""

    def run(self) -> None:
        """Do the work, unless it was withdrawn first."""
        with self._lock:
            if self._taken:
                return
            self._taken = True
        try:
            self._work()
        finally:
            self.finished = True

    def withdraw(self) -> bool:
        """True where the work had not started, and now never will."""
        with self._lock:
            if self._taken:
                return False
            self._taken = True
            self._work = _nothing
            return True


def _nothing() -> None:
    """What is left of a job that was withdrawn: it must not hold on to arguments."""


class DaemonPool:
    """At most `cap` threads, made when needed. Work must not raise."""

    def __init__(self, cap: int) -> None:
        if cap < 1:
            raise ValueError("a pool needs at least one thread")
        self._cap = cap
        self._jobs: deque[Job] = deque()
        self._change = threading.Condition()
        self._waiting = 0
        self._count = 0
        self._closed = False

    @property
    def threads(self) -> int:
        """Threads that were made; each that a tool hangs in is lost to the cap."""
        return self._count

    def submit(self, job: Job) -> None:
        """Queue a job; a thread takes it as soon as one is free."""
        with self._change:
            self._jobs.append(job)
            if self._waiting >= len(self._jobs):
                self._change.notify()
            elif self._count < self._cap and not self._closed:
                self._spawn()

    def close(self) -> None:
        """Let idle threads end; nobody waits for the others."""
        with self._change:
            self._closed = True
            self._change.notify_all()

    def _spawn(self) -> None:
        thread = threading.Thread(target=self._serve, name=f"tool-{self._count}", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return  # the machine gives no more threads: those that are there will come to it
        self._count += 1

    def _serve(self) -> None:
        while (job := self._next()) is not None:
            job.run()
            del job

    def _next(self) -> Job | None:
        with self._change:
            while not self._jobs:
                if self._closed:
                    return None
                self._waiting += 1
                self._change.wait()
                self._waiting -= 1
            return self._jobs.popleft()
