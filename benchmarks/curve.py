"""A curve: what one unit costs at each size, and where that bends."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Curve", "rss_mb"]

BEND = 1.5
"""A unit that costs so many times what it cost one point before is a bend."""


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement."""

    size: int
    unit_us: float
    """µs of one unit."""
    memory_mb: float
    """By which the host grew meanwhile."""


@dataclass(slots=True)
class Curve:
    """One curve."""

    name: str
    size: str
    """What grows."""
    unit: str
    """What `unit_us` is the cost of."""
    note: str = ""
    points: list[Point] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    """Sizes that a limit refuses, with its word."""

    def add(self, size: int, unit_us: float, memory_mb: float) -> None:
        """One more point; sizes ascend. Printed at once, as the largest take minutes."""
        self.points.append(Point(size, unit_us, memory_mb))
        sign = "  bend" if self._bends(len(self.points) - 1) else ""
        print(f"{self.name:16} {size:>12,} {self.size:10} {unit_us:12.1f} us a {self.unit:8} {memory_mb:8.1f} MB{sign}")

    def refuse(self, size: int, why: str) -> None:
        """A size that a limit refuses."""
        self.refused[size] = why
        print(f"{self.name:16} {size:>12,} {self.size:10} refused: {why}")

    def bends(self) -> list[int]:
        """The sizes at which a unit begins to cost more."""
        return [point.size for index, point in enumerate(self.points) if self._bends(index)]

    def _bends(self, index: int) -> bool:
        return index > 0 and self.points[index].unit_us > BEND * self.points[index - 1].unit_us

    def to_json(self) -> dict[str, object]:
        """The curve as JSON."""
        rows: Sequence[dict[str, float]] = [
            {"size": each.size, "unit_us": round(each.unit_us, 2), "memory_mb": round(each.memory_mb, 2)}
            for each in self.points
        ]
        head = {"name": self.name, "size": self.size, "unit": self.unit, "note": self.note}
        return {**head, "points": rows, "refused": self.refused, "bends": self.bends()}


def rss_mb() -> float:
    """Resident memory of this process, MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0
