"""Signals to a command or a service: the first one ends in order, the second one at once. Both exit with 8."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from types import FrameType

__all__ = ["EXIT_CANCELLED", "orderly"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)
EXIT_CANCELLED = 8
"""A person or a signal ended it."""
FIRST_WORDS = b"%b: ending in order; once more ends at once\n"
LAST_WORDS = b"ended at once: what ran is left as by a killed host; resume it, or cancel it\n"


@contextlib.contextmanager
def orderly(cancel: Callable[[str], None], kill_now: Callable[[], None]) -> Iterator[None]:
    """While it lasts, the first signal calls `cancel` on the loop, with a word that names it.

    The second one does not wait for the loop, which may be what hangs: `kill_now` ends every box, and the process is
    gone. Handlers of Python's own, since the loop's would wait for it too.
    """
    loop = asyncio.get_running_loop()

    def first(number: int, _frame: FrameType | None) -> None:
        for each in SIGNALS:
            signal.signal(each, second)
        name = signal.Signals(number).name
        loop.call_soon_threadsafe(cancel, name)
        os.write(2, FIRST_WORDS % name.encode())

    def second(_number: int, _frame: FrameType | None) -> None:
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        try:
            kill_now()
            os.write(2, LAST_WORDS)
        finally:
            os._exit(EXIT_CANCELLED)

    before = {number: signal.signal(number, first) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
