"""A figure: a list of samples, set beside a baseline of the same run and a goal."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Figure", "percentile"]


def percentile(samples: Sequence[float], share: float) -> float:
    """The sample below which `share` of them lie (nearest rank)."""
    ordered = sorted(samples)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table."""

    name: str
    """Stable name of the figure, with the backend where there are two: `cold_run.docker`."""
    samples: Sequence[float]
    """In `unit`."""
    unit: str
    baseline: str
    """Name of the baseline; empty where the goal is absolute."""
    base: float
    """The baseline's median, in `unit`; 1 where the goal is absolute."""
    goal: float
    """The p50 may be at most so many times the baseline (or, `at_least`, must be at least so much)."""
    at_least: bool = False
    note: str = ""

    @property
    def p50(self) -> float:
        """Median."""
        return statistics.median(self.samples)

    @property
    def ratio(self) -> float:
        """Median over baseline."""
        return self.p50 / self.base

    @property
    def met(self) -> bool:
        """Whether the goal is reached."""
        return self.ratio >= self.goal if self.at_least else self.ratio <= self.goal

    def to_json(self) -> dict[str, object]:
        """The row as JSON."""
        return {
            "name": self.name,
            "p50": self.p50,
            "p95": percentile(self.samples, 0.95),
            "p99": percentile(self.samples, 0.99),
            "n": len(self.samples),
            "unit": self.unit,
            "baseline": self.baseline,
            "base": self.base,
            "ratio": round(self.ratio, 3),
            "goal": self.goal,
            "at_least": self.at_least,
            "met": self.met,
            "note": self.note,
        }
