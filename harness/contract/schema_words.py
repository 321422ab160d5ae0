"""What a schema engine finds, in our words: what was expected, what was there, and where."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from harness.core.canonical import canonical
from harness.core.errors import Fault, HostileInput, Place

__all__ = ["MAX_SHOWN", "SchemaFault", "instance_fault", "path_text", "schema_fault"]

MAX_SHOWN = 80
"""Characters of a value that a fault shows."""
MAX_BRANCHES = 8
"""So many branches of a choice a fault lists."""
MAX_LEVELS = 4
"""Choices inside choices that are followed."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")
_USUAL = {
    "float": "number",
    "double": "number",
    "decimal": "number",
    "int": "integer",
    "long": "integer",
    "str": "string",
    "text": "string",
    "bool": "boolean",
    "dict": "object",
    "map": "object",
    "list": "array",
    "tuple": "array",
    "set": "array",
    "none": "null",
}
"""Names that other languages give to the types of JSON Schema (C33)."""
_EXPECTED = {
    "minimum": "at least {limit}",
    "maximum": "at most {limit}",
    "exclusiveMinimum": "more than {limit}",
    "exclusiveMaximum": "less than {limit}",
    "minLength": "at least {limit} characters",
    "maxLength": "at most {limit} characters",
    "minItems": "at least {limit} items",
    "maxItems": "at most {limit} items",
    "minProperties": "at least {limit} members",
    "maxProperties": "at most {limit} members",
    "multipleOf": "a multiple of {limit}",
    "pattern": "text that matches `{limit}`",
    "format": "a {limit}",
    "required": "the member `{limit}`",
    "additionalProperties": "no other members",
    "unevaluatedProperties": "no other members",
    "additionalItems": "no further items",
    "unevaluatedItems": "no further items",
    "falseSchema": "nothing",
    "uniqueItems": "items of which no two are equal",
    "contains": "an item that fits `contains`",
    "minContains": "more items that fit `contains`",
    "maxContains": "fewer items that fit `contains`",
    "propertyNames": "other names of members",
    "not": "anything but what `not` describes",
}


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """One way in which a value does not fit."""

    path: str
    """`$` is the value itself; `$.items[0].name`, `$["odd name"]`."""
    message: str
    """One line in our words."""
    expected: str
    got: str
    keyword: str = ""
    """The schema's keyword that was not met."""


def instance_fault(error: Any) -> SchemaFault:
    """What an error of the engine says of a value."""
    keyword = str(error.kind.name)
    expected = _expected(error, 0)
    got = _got(keyword, error.kind.value, error.instance)
    return SchemaFault(path_text(error.instance_path), f"expected {expected}, got {got}", expected, got, keyword)


def schema_fault(error: Any, place: Place) -> Fault:
    """What an error of the engine says of a schema that is none."""
    steps = list(error.instance_path)
    path = path_text(steps)
    keyword = next((step for step in reversed(steps) if isinstance(step, str)), "")
    if keyword == "type":
        lower = str(error.instance).lower()
        usual = lower if lower in _TYPES else _USUAL.get(lower)
        hint = f"did you mean `{usual}`?" if usual else f"there are {', '.join(_TYPES)}"
        return Fault(
            "bad_schema", f"`{path}`: `{str(error.instance)[:MAX_SHOWN]}` is no type of JSON Schema", hint, place
        )
    if keyword in ("pattern", "patternProperties") or str(error.kind.name) == "format":
        hint = "patterns run in a linear-time engine: no look-around, no back-references, no huge repeats"
        return Fault("bad_schema", f"`{path}`: {_shown(error.instance)} is no pattern", hint, place)
    if str(error.kind.name) == "$ref":
        hint = "refer to a definition of the same schema, `#/$defs/NAME`"
        return Fault("bad_schema", f"a reference leads nowhere: {str(error.message)[:120]}", hint, place)
    fault = instance_fault(error)
    return Fault("bad_schema", f"`{path}` of the schema: {fault.message}", "see JSON Schema 2020-12", place)


def path_text(steps: Iterable[str | int]) -> str:
    """A path as a person writes it."""
    text = "$"
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if _NAME.fullmatch(step) else f"[{_quoted(step)}]"
    return text


def _quoted(name: str) -> str:
    try:
        return canonical(name[:MAX_SHOWN]).decode("utf-8")
    except HostileInput:
        return '"?"'


def _expected(error: Any, level: int) -> str:
    keyword, detail = str(error.kind.name), error.kind.value
    if keyword == "type":
        kinds = [str(each) for each in detail] if isinstance(detail, list) else [str(detail)]
        return " or ".join(sorted(kinds, key=lambda kind: kind == "null"))
    if keyword == "enum":
        return "one of " + _shown(detail)
    if keyword == "const":
        return _shown(detail)
    if keyword == "oneOfMultipleValid":
        return "what fits only one of the choices of `oneOf`"
    if keyword in ("anyOf", "oneOfNotValid", "oneOf") and level < MAX_LEVELS:
        choices = list(dict.fromkeys(_choices(error, level)))
        if choices:
            return " or ".join(choices[:MAX_BRANCHES]) + (" or another" if len(choices) > MAX_BRANCHES else "")
    if keyword in _EXPECTED:
        return _EXPECTED[keyword].format(limit=detail)
    return f"what `{keyword}` asks for"


def _choices(error: Any, level: int) -> Iterator[str]:
    """What each branch of a choice expects: its first complaint, with the path where that lies deeper."""
    depth = len(error.instance_path)
    for branch in getattr(error.kind, "context", None) or ():
        for inner in branch[:1]:
            below = path_text(inner.instance_path[depth:])[1:].lstrip(".")
            said = _expected(inner, level + 1)
            yield f"`{below}` {said}" if below else said


def _got(keyword: str, detail: Any, instance: Any) -> str:
    if keyword == "required":
        return "nothing there"
    if keyword in ("additionalProperties", "unevaluatedProperties") and isinstance(detail, list):
        return ", ".join(_shown(each) for each in detail[:10]) + (f" and {len(detail) - 10} more" * (len(detail) > 10))
    return f"{_kind(instance)} {_shown(instance)}" if keyword == "type" else _shown(instance)


def _kind(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    return "null" if value is None else names.get(type(value), type(value).__name__)


def _shown(value: Any) -> str:
    if isinstance(value, str) and len(value) > MAX_SHOWN:
        value = value[:MAX_SHOWN]
    try:
        text = canonical(value).decode("utf-8")
    except HostileInput:
        text = f"a {type(value).__name__}"
    return f"`{text if len(text) < MAX_SHOWN else text[: MAX_SHOWN - 1] + '…'}`"
