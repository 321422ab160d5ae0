"""What a probe is, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from harness.core.ending import ReasonCode

__all__ = ["Finding", "Group", "Own", "Status", "crashed"]


class Status(StrEnum):
    """How a wall answered."""

    HELD = "held"
    FELL = "fell"
    UNTRIED = "untried"
    """It could not be tried here; the detail says why."""


class Group(StrEnum):
    """What is defended."""

    NETWORK = "network"
    HOST = "host"
    RIGHTS = "rights"
    EXHAUSTION = "exhaustion"
    CHANNEL = "channel"
    LANGUAGE = "language"


@dataclass(frozen=True, slots=True)
class Finding:
    """One probe, answered."""

    name: str
    """Stable: `GROUP.what-is-tried`."""
    group: Group
    status: Status
    detail: str
    """What was tried, and where it fell or was not tried, what happened."""


@dataclass(frozen=True, slots=True)
class Own:
    """A probe that has a box of its own, and how that box's run must end."""

    function: str
    """In `box/snippet_ends.py` or `box/snippet_channel.py`."""
    reasons: Mapping[ReasonCode, str]
    """Reasons that count as held → what the detail or the wire's code must hold; empty: anything."""
    values: tuple[object, ...] = ()
    """Results that count as held where the contract was passed."""
    limits: Mapping[str, int | float] = field(default_factory=dict)
    """Limits beside the usual ones."""


def crashed(name: str, group: Group, detail: str) -> Finding:
    """A probe that gave no answer of its own."""
    return Finding(name, group, Status.UNTRIED, detail)
