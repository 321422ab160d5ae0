"""What a snippet sees of chance and time: seeded by the host, and clocks that stand still between answers but a tick.

So a replay draws the same numbers and reads the same times. Installed once, after the fork and before the snippet; what
the box's own code needs of real time it took before. Standard library only.
"""

import concurrent.futures
import datetime
import os
import random
import sys
import time
import types
import uuid
from collections.abc import Callable
from typing import Any

__all__ = ["Clock", "install", "now", "patch_datetime"]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_Datetime = datetime.datetime
_gmtime, _localtime, _strftime, _asctime = time.gmtime, time.localtime, time.strftime, time.asctime
_monotonic = time.monotonic


class Clock:
    """The host's time as of the last answer; each look moves it on by a tick."""

    __slots__ = ("_now", "_start", "_tick")

    def __init__(self, now_us: int, tick_us: int) -> None:
        """Both in whole microseconds; `now_us` since the epoch, `tick_us` at least 1."""
        self._start = self._now = now_us
        self._tick = tick_us

    def look(self) -> int:
        """The time, in microseconds since the epoch, later than at any look before."""
        self._now += self._tick
        return self._now

    def answered(self, at_us: int) -> None:
        """The host answered a call at this time (microseconds since the epoch); the clock never goes back."""
        if at_us > self._now:
            self._now = at_us

    def monotonic(self) -> float:
        """Seconds since the start of the run."""
        return (self.look() - self._start) / 1_000_000


_clock: Clock | None = None


def install(chance: dict[str, Any], sleep: Callable[[float], None]) -> Clock:
    """Give the process the run's chance and time: `seed` (hex), `now_us` and `tick_us` of the host's start."""
    global _clock
    seed = bytes.fromhex(chance["seed"])
    _clock = clock = Clock(int(chance["now_us"]), max(1, int(chance["tick_us"])))
    _install_chance(seed)
    _install_time(clock, sleep)
    return clock


def now(tz: Any = None) -> datetime.datetime:
    """`datetime.now(tz)` by the run's clock; the machine's where none is installed."""
    if _clock is None:
        return _Datetime.now(tz)
    moment = _EPOCH + datetime.timedelta(microseconds=_clock.look())
    return moment.astimezone(tz) if tz is not None else moment.astimezone().replace(tzinfo=None)


# --- chance ----------------------------------------------------------------------------------------------------------


def _install_chance(seed: bytes) -> None:
    source = _Mersenne(seed)

    class Random(_Mersenne):
        """`random.Random`; without a seed of its own it takes one from the run's."""

        def seed(self, a: Any = None, version: int = 2) -> None:
            super().seed(source.getrandbits(256) if a is None else a, version)

    Random.__module__, Random.__qualname__ = "random", "Random"
    random.seed(seed)
    names = vars(random)
    names["Random"] = Random
    names["_urandom"] = vars(os)["urandom"] = source.randbytes
    vars(uuid).update(_generate_time_safe=None, _UuidCreate=None, _last_timestamp=None)
    vars(uuid)["_node"] = source.getrandbits(48) | 1 << 40


_Mersenne = random.Random


# --- time ------------------------------------------------------------------------------------------------------------


def _install_time(clock: Clock, sleep: Callable[[float], None]) -> None:
    look = clock.look

    def seconds() -> float:
        """Seconds since the epoch, by the run's clock."""
        return look() / 1_000_000

    def nanoseconds() -> int:
        """Nanoseconds since the epoch, by the run's clock."""
        return look() * 1_000

    def monotonic_ns() -> int:
        """Nanoseconds since the start of the run."""
        return int(clock.monotonic() * 1_000_000) * 1_000

    def gmtime(secs: "float | None" = None, /) -> time.struct_time:
        """A time in parts, UTC; now, where none is given."""
        return _gmtime(seconds() if secs is None else secs)

    def localtime(secs: "float | None" = None, /) -> time.struct_time:
        """A time in parts; now, where none is given."""
        return _localtime(seconds() if secs is None else secs)

    def strftime(form: str, moment: Any = None, /) -> str:
        """A time as text; now, where none is given."""
        return _strftime(form, localtime() if moment is None else moment)

    def asctime(moment: Any = None, /) -> str:
        """A time as text of a fixed form."""
        return _asctime(localtime() if moment is None else moment)

    def ctime(secs: "float | None" = None, /) -> str:
        """The same, from seconds."""
        return _asctime(localtime(secs))

    def monotonic() -> float:
        """Seconds since the start of the run."""
        return clock.monotonic()

    def pause(seconds: float, /) -> None:
        """Wait; the host keeps the time."""
        sleep(seconds)

    for clocks in ("monotonic", "perf_counter", "process_time", "thread_time"):
        vars(time).update({clocks: monotonic, f"{clocks}_ns": monotonic_ns})
    for act in (gmtime, localtime, strftime, asctime, ctime):
        vars(time)[act.__name__] = act
    vars(time).update(time=seconds, time_ns=nanoseconds, sleep=pause)
    # Its waits are real: a clock that stands still would never reach their end.
    vars(concurrent.futures._base)["time"] = types.SimpleNamespace(monotonic=_monotonic)


# --- datetime, where nothing guards it -------------------------------------------------------------------------------


class _Kind(type):
    """Every datetime is an instance of the one that stands in for it."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _Datetime) if cls is _Patched else super().__instancecheck__(value)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, _Datetime) if cls is _Patched else super().__subclasscheck__(kind)


class _Patched(_Datetime, metaclass=_Kind):
    """`datetime.datetime` in `plain`: `now` and `utcnow` are the run's."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        moment = now(tz)
        return cls.combine(moment.date(), moment.timetz())

    @classmethod
    def utcnow(cls) -> Any:
        return cls.now(datetime.UTC).replace(tzinfo=None)

    def __repr__(self) -> str:
        text = super().__repr__()
        return text if text.startswith("datetime.") else f"datetime.{text}"


_Patched.__name__ = _Patched.__qualname__ = "datetime"
_Patched.__module__ = "datetime"


def patch_datetime() -> None:
    """Let `datetime.datetime` be the run's clock too, for code that no guard looks at; best effort."""
    if "datetime" in sys.modules:
        vars(datetime)["datetime"] = _Patched
