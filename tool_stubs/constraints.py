"""Constraints in words: what a schema says of a value beyond its type."""

from collections.abc import Mapping
from typing import Any

from tool_stubs.shape import LEAVES
from tool_stubs.text import literal, one_line

__all__ = ["constraints"]

_WORDS = (
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "more than {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "less than {}"),
    ("multipleOf", "a multiple of {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("pattern", "matches {}"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
)


def constraints(schema: Any) -> str:
    """`at least 1, at most 50`; empty where the type says it all."""
    if not isinstance(schema, Mapping):
        return ""
    form = schema.get("format")
    leaf = form in LEAVES or schema.get("contentEncoding") == "base64"
    told = [
        words.format(_shown(schema[key])) for key, words in _WORDS if key in schema and not (leaf and key == "pattern")
    ]
    if schema.get("uniqueItems") is True and schema.get("x-python") != "set":
        told.append("no item twice")
    if isinstance(form, str) and not leaf:
        told.append(f"format {one_line(form, 40)}")
    unit = schema.get("x-unit")
    if isinstance(unit, str):
        told.append(f"in {one_line(unit, 40)}")
    return ", ".join(told)


def _shown(value: Any) -> str:
    return one_line(f"`{value}`" if isinstance(value, str) else literal(value), 80)
