"""A tool as its source defines it, before anybody said anything of it: what is pinned, and what the hints may do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.core.call import Effect, Json
from harness.core.canonical import digest

__all__ = ["Definition", "Hints"]

_RANK = {Effect.READ: 0, Effect.WRITE: 1, Effect.DESTRUCTIVE: 2}


@dataclass(frozen=True, slots=True)
class Hints:
    """What a source says of the effect of its own tool. †It may tighten by itself; to loosen takes a person's line."""

    effect: Effect | None = None
    """None where it says nothing."""
    repeatable: bool = False
    """The source says that a repeat changes nothing more."""
    words: str = ""
    """Where it says so: `readOnlyHint`, `GET`."""

    @property
    def tightens(self) -> Effect | None:
        """The effect, where it is stricter than what holds where nothing is said."""
        stricter = self.effect is not None and _RANK[self.effect] > _RANK[Effect.WRITE]
        return self.effect if stricter else None

    @property
    def loosens(self) -> Effect | None:
        """The effect, where it is looser than what holds where nothing is said."""
        looser = self.effect is not None and _RANK[self.effect] < _RANK[Effect.WRITE]
        return self.effect if looser else None


@dataclass(frozen=True, slots=True)
class Definition:
    """One tool of one source."""

    name: str
    """As the source calls it."""
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    raw: Mapping[str, Json]
    """The whole definition as it came: the pin covers every member of it."""
    hints: Hints = Hints()
    digest: str = field(init=False)
    """SHA-256 hex over `raw`. Raises HostileInput where `raw` has no canonical form."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", digest(dict(self.raw)))
