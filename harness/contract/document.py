"""A document as values, with the line of every key. YAML in its 1.2 meanings, or JSON; duplicate keys are refused.

Not a model: it knows nothing of contracts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.core.errors import Place

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_NODES", "NO_PLACES", "Document", "Places", "key_text"]

MAX_BYTES = 1_000_000
"""Of one document: some 20,000 lines, far beyond what a person reviews."""
MAX_DEPTH = 64
"""Levels; a JSON Schema of a deep record takes about 20."""
MAX_NODES = 100_000
"""Values and keys together."""

Step = str | int


def key_text(path: tuple[Step, ...]) -> str:
    """The dotted form of a path: `permissions.tools[1].scope.tenant`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where the keys of a document stand. All are equal: where something stands does not change what it says."""

    file: str = ""
    """Path as the user gave it; empty for values that came from Python."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """1-based line by dotted key."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Places)

    def __hash__(self) -> int:
        return 0

    def of(self, key: str) -> Place:
        """The place of a key; of its nearest parent where the key itself is not there."""
        if not self.file and not self.lines:
            return Place(key=key)
        parent = key
        while parent and parent not in self.lines:
            parent = parent[: max(parent.rfind("."), parent.rfind("["), 0)]
        return Place(self.file, self.lines.get(parent, 1), 0, key)


NO_PLACES = Places()
"""Of a value that came from Python."""


@dataclass(frozen=True, slots=True)
class Document:
    """What a text holds."""

    values: Any
    """JSON values; floats may be infinite or not a number, which whoever takes the value refuses."""
    places: Places

    @property
    def folder(self) -> Path:
        """The folder of the file; the current one for values from Python."""
        return Path(self.places.file).parent
