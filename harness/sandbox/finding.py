"""One thing that was looked at on this machine, with the mend where it is missing."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "Status"]


class Status(StrEnum):
    """How a thing stands."""

    WORKS = "works"
    MISSING = "missing"
    OPTIONAL = "optional"
    """Not there, and nothing needs it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    """`docker`, `docker image`, `bubblewrap`, `seccomp`, …"""
    status: Status
    detail: str
    """One sentence: what is there, or what is missing."""
    hint: str = ""
    """The mend; empty where it works."""
