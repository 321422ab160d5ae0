"""Telling people that bundles wait, beside the run: nobody waits for it but a host that ends, and that not for long."""

import threading
import time
from collections.abc import Sequence

import structlog

from harness.approvals.announce import ANNOUNCE_SECONDS, Announcer, Silent, announcement
from harness.core.bundle import Bundle

__all__ = ["Herald"]

_log = structlog.get_logger("harness.approvals")


class Herald:
    """One announcer, and what it is still telling."""

    def __init__(self, announcer: Announcer | None = None) -> None:
        """Without an announcer nobody is told."""
        self.announcer = announcer or Silent()
        self._telling: set[threading.Thread] = set()

    def tell(self, bundles: Sequence[Bundle]) -> None:
        """Announce each bundle, once. What fails is logged: the bundle stands, and the list shows it."""
        if not bundles or isinstance(self.announcer, Silent):
            return
        messages = [(bundle.reference, announcement(bundle)) for bundle in bundles]

        def speak() -> None:
            for reference, message in messages:
                why = self.announcer.announce(message)
                if why:
                    _log.warning("not_announced", bundle=reference, why=why)
            self._telling.discard(threading.current_thread())

        thread = threading.Thread(target=speak, name="announce", daemon=True)
        self._telling.add(thread)
        thread.start()

    @property
    def telling(self) -> bool:
        """Whether something is being told right now."""
        return bool(self._telling)

    def wait(self, seconds: float = ANNOUNCE_SECONDS) -> None:
        """Wait for what is being told, at most `seconds` in all. Blocking."""
        until = time.monotonic() + seconds
        for thread in tuple(self._telling):
            thread.join(max(until - time.monotonic(), 0))
