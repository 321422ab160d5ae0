"""Signals to a command or a service: the first one ends in order, the second one at once. Both exit with 8."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

__all__ = ["EXIT_CANCELLED", "orderly"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)
EXIT_CANCELLED = 8
"""A person or a signal ended it."""
FIRST_WORDS = b"%b: ending in order; once more ends at once\n"
LAST_WORDS = b"ended at once: what ran is left as by a killed host; resume it, or cancel it\n"


@dataclass(frozen=True, slots=True, eq=False)
class _Watch:
    loop: asyncio.AbstractEventLoop
    cancel: Callable[[str], None]
    kill_now: Callable[[], None]


_watches: list[_Watch] = []
"""What a signal ends: several runs of one process overlap, and end in any order."""
_before: dict[int, Any] = {}
"""Handlers of before the first of them."""


@contextlib.contextmanager
def orderly(cancel: Callable[[str], None], kill_now: Callable[[], None]) -> Iterator[None]:
    """While it lasts, the first signal calls `cancel` on the loop, with a word that names it.

    The second one does not wait for the loop, which may be what hangs: `kill_now` ends every box, and the process is
    gone. Handlers of Python's own, since the loop's would wait for it too. Several may overlap: all hear a signal.
    """
    watch = _Watch(asyncio.get_running_loop(), cancel, kill_now)
    if not _watches:
        _before.update({number: signal.signal(number, _first) for number in SIGNALS})
    _watches.append(watch)
    try:
        yield
    finally:
        _watches.remove(watch)
        if not _watches:
            for number, handler in _before.items():
                signal.signal(number, handler)


def _first(number: int, _frame: FrameType | None) -> None:
    for each in SIGNALS:
        signal.signal(each, _second)
    name = signal.Signals(number).name
    for watch in _watches:
        watch.loop.call_soon_threadsafe(watch.cancel, name)
    os.write(2, FIRST_WORDS % name.encode())


def _second(_number: int, _frame: FrameType | None) -> None:
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    try:
        for watch in _watches:
            watch.kill_now()
        os.write(2, LAST_WORDS)
    finally:
        os._exit(EXIT_CANCELLED)
