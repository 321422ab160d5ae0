"""What a snippet sees of chance and time: seeded for its iteration, clocks that stand where the host's last answer was.

The same seed and the same answers give the same numbers, ids and times: what a replay needs.
"""

import hashlib
import os
import random
import time
import uuid
from collections.abc import Callable
from typing import Any

__all__ = ["Clock", "install"]

NANO = 1_000


class Clock:
    """The host's time as of the last answer, a fixed tick later at each look."""

    def __init__(self, now_us: int, tick_us: int) -> None:
        self._now = now_us
        self._start = now_us
        self._tick = tick_us

    def answered(self, at_us: int) -> None:
        """An answer came, given at `at_us`; time never goes back."""
        self._now = max(self._now, at_us)

    def look(self) -> int:
        """Microseconds since the epoch; each look is a tick later."""
        self._now += self._tick
        return self._now

    def time(self) -> float:
        """As `time.time`."""
        return self.look() / 1_000_000

    def time_ns(self) -> int:
        """As `time.time_ns`."""
        return self.look() * NANO

    def monotonic(self) -> float:
        """Seconds since the snippet began."""
        return (self.look() - self._start) / 1_000_000

    def monotonic_ns(self) -> int:
        """Nanoseconds since the snippet began."""
        return (self.look() - self._start) * NANO


class _Bytes:
    """A stream of bytes from a seed: SHAKE-256 in counter mode."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self._count = 0

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        self._count += 1
        return hashlib.shake_256(self._seed + self._count.to_bytes(8, "big")).digest(size)


def install(chance: dict[str, Any], sleep: Callable[[float], None]) -> Clock:
    """Seed everything by which Python draws, and put the clock in place of the machine's; the clock.

    `sleep` waits through the host.
    """
    seed = bytes.fromhex(chance["seed"])
    clock = Clock(int(chance["now_us"]), int(chance["tick_us"]))
    stream = _Bytes(seed)
    os.urandom = stream.take
    random._urandom = stream.take  # type: ignore[attr-defined]
    random.seed(seed)
    uuid.uuid4 = lambda: uuid.UUID(bytes=stream.take(16), version=4)
    for name in ("time", "time_ns", "monotonic", "monotonic_ns"):
        setattr(time, name, getattr(clock, name))
    time.perf_counter = clock.monotonic
    time.perf_counter_ns = clock.monotonic_ns
    time.sleep = sleep
    return clock
