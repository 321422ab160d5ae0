"""One budget that travels with a run: limits, what is used, what is reserved, in dimensions with units.

Reserve before, settle after, release on failure. Not a clock and not a store: amounts come from outside.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

__all__ = ["Amount", "Budget", "Dimension", "Metered", "Shortage", "Usage", "tool_calls"]

Amount = int | float | Decimal
"""Whole numbers for counts and bytes, seconds as float, money in exact decimals."""


class Dimension(StrEnum):
    """What a run can spend; the unit is in the name."""

    TOKENS = "tokens"
    COST_USD = "cost_usd"
    WALL_SECONDS = "wall_seconds"
    RETRIES = "retries"
    ITERATIONS = "iterations"
    CALLS = "calls"
    CPU_SECONDS = "cpu_seconds"
    MEMORY_MB = "memory_mb"
    PIDS = "pids"
    DISK_MB = "disk_mb"
    OUTPUT_BYTES = "output_bytes"
    RESULT_BYTES = "result_bytes"
    JOURNAL_BYTES = "journal_bytes"


PEAKS = frozenset({Dimension.MEMORY_MB, Dimension.PIDS, Dimension.DISK_MB})
"""Dimensions whose use is a highest level, not a sum."""


COUNTED = frozenset({Dimension.CALLS, Dimension.RETRIES, Dimension.ITERATIONS})
"""Dimensions that the host counts itself, whoever settles them."""


class Metered(StrEnum):
    """Who reported the use of a dimension."""

    NONE = "none"
    TOOLS = "tools"
    CHARGED = "charged"
    PROXIED = "proxied"
    HOST = "host"


def tool_calls(tool: str) -> str:
    """Name of the counter of one tool's calls."""
    return f"calls:{tool}"


@dataclass(frozen=True, slots=True)
class Shortage:
    """A limit that was, or would have been, exceeded."""

    dimension: str
    limit: Amount
    amount: Amount
    """What the total would have become."""

    def __str__(self) -> str:
        return f"{self.dimension}: limit {self.limit}, reached {self.amount}"


@dataclass(frozen=True, slots=True)
class Usage:
    """One line of the budget report."""

    limit: Amount | None
    """None where nothing limits the counter."""
    used: Amount
    reserved: Amount
    metered: Metered


class Budget:
    """Counters by name (`calls`, `calls:read_record`, `tokens`, …), all changed through the four verbs.

    Single-threaded: it belongs to the loop of the run that owns it.
    """

    def __init__(self, limits: Mapping[str, Amount]) -> None:
        self._limits = dict(limits)
        self._used: dict[str, Amount] = dict.fromkeys(limits, 0)
        self._reserved: dict[str, Amount] = {}
        self._metered: dict[str, Metered] = {}

    def shortage(self, request: Mapping[str, Amount]) -> Shortage | None:
        """The first limit that `request` would exceed, or None. Changes nothing."""
        for name, amount in request.items():
            if type(amount) is not int or amount < 0:
                _check("reservation", name, amount)
            limit = self._limits.get(name)
            if limit is None:
                continue
            total = _plus(_plus(self._used.get(name, 0), self._reserved.get(name, 0)), amount)
            if total > limit:
                return Shortage(name, limit, total)
        return None

    def reserve(self, request: Mapping[str, Amount]) -> Shortage | None:
        """Hold `request`, all of it or nothing; the shortage where it does not fit."""
        short = self.shortage(request)
        if short is None:
            for name, amount in request.items():
                self._reserved[name] = _plus(self._reserved.get(name, 0), amount)
        return short

    def settle(
        self, request: Mapping[str, Amount], actual: Mapping[str, Amount], metered: Metered = Metered.TOOLS
    ) -> Shortage | None:
        """Turn a reservation into use. What was really used counts, even above the limit: then the shortage."""
        self.release(request)
        return self.charge(actual, metered)

    def release(self, request: Mapping[str, Amount]) -> None:
        """Give a reservation back."""
        for name, amount in request.items():
            left = _plus(self._reserved.get(name, 0), -amount)
            if left < 0:
                raise ValueError(f"more of `{name}` released than was reserved")
            self._reserved[name] = left

    def charge(self, actual: Mapping[str, Amount], metered: Metered = Metered.CHARGED) -> Shortage | None:
        """Add use that has already happened; the first shortage that it makes, or None."""
        short: Shortage | None = None
        for name, amount in actual.items():
            if type(amount) is not int or amount < 0:
                _check("charge", name, amount)
            self._note(name, _plus(self._used.get(name, 0), amount), metered)
            short = short or self._over(name)
        return short

    def observe(self, name: str, level: Amount, metered: Metered = Metered.HOST) -> Shortage | None:
        """Record a measured total or level (cpu seconds, peak memory): the highest seen counts."""
        self._note(name, max(level, self._used.get(name, 0)), metered)
        return self._over(name)

    def limit(self, name: str) -> Amount | None:
        """The limit of a counter; None where nothing limits it."""
        return self._limits.get(name)

    def remaining(self, name: str) -> Amount | None:
        """Limit less use and reservations, not below zero; None where nothing limits the counter."""
        limit = self._limits.get(name)
        if limit is None:
            return None
        left = limit - self._used.get(name, 0) - self._reserved.get(name, 0)  # type: ignore[operator]
        return max(left, 0)

    def report(self) -> dict[str, Usage]:
        """Every counter that has a limit or a use."""
        names = [*self._limits, *(name for name in self._used if name not in self._limits)]
        return {
            name: Usage(
                self._limits.get(name),
                self._used.get(name, 0),
                self._reserved.get(name, 0),
                self._metered.get(name, Metered.NONE),
            )
            for name in names
        }

    def snapshot(self) -> dict[str, Amount]:
        """What is used, by counter: stored with the journal, given back to `restore` by a resume."""
        return dict(self._used)

    def restore(self, used: Mapping[str, Amount]) -> None:
        """Start from the counters of an earlier attempt; reservations do not survive."""
        self._used.update(used)
        self._reserved.clear()

    def _note(self, name: str, used: Amount, metered: Metered) -> None:
        self._used[name] = used
        if self._metered.get(name) is metered:
            return
        if name.partition(":")[0] in COUNTED:
            metered = Metered.HOST
        if used and _STRENGTH.index(metered) > _STRENGTH.index(self._metered.get(name, Metered.NONE)):
            self._metered[name] = metered

    def _over(self, name: str) -> Shortage | None:
        limit = self._limits.get(name)
        used = self._used[name]
        return Shortage(name, limit, used) if limit is not None and used > limit else None


_STRENGTH = (Metered.NONE, Metered.HOST, Metered.TOOLS, Metered.CHARGED, Metered.PROXIED)
"""Where several report one dimension, the last of them in this order names it."""


def _plus(left: Amount, right: Amount) -> Amount:
    """The sum; money stays exact where a float joins it, by the digits that the float shows."""
    if type(left) is int or type(right) is int:
        return left + right  # type: ignore[operator]
    if isinstance(left, Decimal) and isinstance(right, float):
        return left + Decimal(repr(right))
    if isinstance(right, Decimal) and isinstance(left, float):
        return Decimal(repr(left)) + right
    return left + right  # type: ignore[operator]


def _check(what: str, name: str, amount: Amount) -> None:
    """Raise ValueError for what is no finite amount from 0 on."""
    if not amount >= 0:
        raise ValueError(f"a {what} of `{name}` cannot be negative")
    if amount == _INFINITE:
        raise ValueError(f"a {what} of `{name}` cannot be infinite")


_INFINITE = float("inf")
