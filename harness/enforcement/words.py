"""Words for refusals: hostile names made safe to show, the nearest known names, parameters in a phrase."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["LISTED_NAMES", "SHOWN_CHARS", "listed", "nearest", "parameter_kinds", "shown"]

SHOWN_CHARS = 80
"""So much of a hostile name or value is repeated in a message."""
LISTED_NAMES = 20
"""So many names a hint lists; a larger surface has `search`."""


def shown(text: str) -> str:
    """A name or value from the box in backticks: one line, no control characters, no lone surrogates, cut."""
    cut = text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
    safe = "".join(char if char.isprintable() and char != "`" else f"\\u{ord(char):04x}" for char in cut)
    return f"`{safe}`"


def nearest(name: str, known: Sequence[str]) -> list[str]:
    """Up to three known names that `name` may have meant, best first; a difference in case alone counts as none."""
    folded: dict[str, str] = {}
    for each in known:
        folded.setdefault(_fold(each), each)
    hits = difflib.get_close_matches(_fold(name[:SHOWN_CHARS]), folded, n=3, cutoff=0.6)
    return [folded[hit] for hit in hits]


def _fold(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


def listed(names: Iterable[str]) -> str:
    """Names in backticks, cut at `LISTED_NAMES`."""
    every = list(names)
    text = ", ".join(f"`{name}`" for name in every[:LISTED_NAMES])
    more = len(every) - LISTED_NAMES
    return f"{text} and {more} more" if more > 0 else text


def parameter_kinds(schema: Mapping[str, Any]) -> dict[str, str]:
    """Name → type in a word or two, of each property of an object schema."""
    required = schema.get("required", ())
    return {
        name: _kind(each) + ("" if name in required else " (optional)")
        for name, each in schema.get("properties", {}).items()
    }


def _kind(schema: Any) -> str:
    """A schema's type in a word or two."""
    if not isinstance(schema, Mapping):
        return "any"
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in list(schema["enum"])[:LISTED_NAMES])
    kind = schema.get("type")
    if isinstance(kind, str):
        return f"{kind} ({schema['format']})" if isinstance(schema.get("format"), str) else kind
    if isinstance(kind, list):
        return " or ".join(str(each) for each in kind)
    branches = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(branches, list):
        return " or ".join(dict.fromkeys(_kind(branch) for branch in branches))
    return "object" if "$ref" in schema or "properties" in schema else "any"
