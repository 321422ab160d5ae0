"""The schema of results that were seen: a proposal for tools whose source says nothing of theirs. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.core.call import Json

__all__ = ["learned", "proposal"]

MAX_MEMBERS = 60
"""Members of one object; one with more is taken for a table by key."""
MAX_DEPTH = 20
"""Levels below which anything goes."""


def learned(values: Iterable[Json]) -> dict[str, Any]:
    """A schema that every one of `values` fits. Members that all objects have are required, others may be missing.

    It says no more than was seen: no formats, no enums, no bounds; more members than these may come.
    """
    return _merged(list(values), 0)


def proposal(tool: str, values: Sequence[Json]) -> dict[str, Any]:
    """The overlay's words for a tool, as a proposal with the number of results behind it."""
    return {tool: {"proposed": {"result": learned(values), "learned": len(values)}}}


def _merged(values: list[Json], depth: int) -> dict[str, Any]:
    if not values or depth > MAX_DEPTH:
        return {}
    kinds: dict[str, list[Any]] = {}
    for value in values:
        kinds.setdefault(_kind(value), []).append(value)
    if "integer" in kinds and "number" in kinds:
        kinds["number"] += kinds.pop("integer")
    parts = [_of_kind(kind, found, depth) for kind, found in sorted(kinds.items())]
    plain = [part["type"] for part in parts if len(part) == 1]
    if len(parts) == 1:
        return parts[0]
    if len(plain) == len(parts):
        return {"type": plain}
    if len(parts) == 2 and "null" in plain:
        rest = next(part for part in parts if part["type"] != "null")
        return {**rest, "type": [rest["type"], "null"]}
    return {"anyOf": parts}


def _of_kind(kind: str, values: list[Any], depth: int) -> dict[str, Any]:
    if kind == "array":
        items = _merged([item for value in values for item in value], depth + 1)
        return {"type": "array", **({"items": items} if items else {})}
    if kind != "object":
        return {"type": kind}
    names = list(dict.fromkeys(name for value in values for name in value))
    if len(names) > MAX_MEMBERS:
        found = [item for value in values for item in value.values()]
        return {"type": "object", "additionalProperties": _merged(found, depth + 1)}
    properties = {name: _merged([value[name] for value in values if name in value], depth + 1) for name in names}
    required = [name for name in names if all(name in value for value in values)]
    made: dict[str, Any] = {"type": "object", "properties": properties}
    return {**made, "required": required} if required else made


def _kind(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"
