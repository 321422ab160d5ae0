"""Hold, then let go: a box that waits for a person is frozen for a while, then given up; the run is paused."""

import asyncio
from collections.abc import Sequence

from harness.core.bundle import Bundle, BundleState, Ledger
from harness.core.clock import Clock
from harness.core.ports import Box

__all__ = ["POLL_SECONDS", "hold"]

POLL_SECONDS = 0.1
"""How often a held run looks for a decision: one read of some 30 µs each."""


async def hold(box: Box, bundles: Sequence[Bundle], seconds: float, store: Ledger, clock: Clock) -> bool:
    """Freeze `box` for at most `seconds`; True, thawed, once one of `bundles` is decided or has expired."""
    await box.freeze()
    until = clock.monotonic() + seconds
    while clock.monotonic() < until:
        now = store.judged_now()
        for bundle in bundles:
            found = store.bundle(bundle.reference)
            if found is None or found.state is not BundleState.OPEN or found.expires_at <= now:
                await box.thaw()
                return True
        await asyncio.sleep(min(POLL_SECONDS, max(until - clock.monotonic(), 0)))
    return False
