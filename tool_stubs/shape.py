"""A shape: how one schema is written in Python, and how its values travel."""

from dataclasses import dataclass, field
from typing import Any

__all__ = ["ANY", "LEAVES", "FieldLine", "NamedType", "Shape", "entry_of", "union"]


@dataclass(frozen=True, slots=True)
class Shape:
    """One schema's two faces."""

    annotation: str
    """Python source of its type."""
    codec: Any = None
    """Spec for the box's codec; None where JSON is the value."""


ANY = Shape("Any")

LEAVES: dict[str, Shape] = {
    "date-time": Shape("dt.datetime", "datetime"),
    "iso-datetime": Shape("dt.datetime", "datetime"),
    "iso-time": Shape("dt.time", "time"),
    "iso-duration": Shape("dt.timedelta", "duration"),
    "date": Shape("dt.date", "date"),
    "time": Shape("dt.time", "time"),
    "duration": Shape("dt.timedelta", "duration"),
    "decimal": Shape("Decimal", "decimal"),
    "uuid": Shape("UUID", "uuid"),
    "byte": Shape("bytes", "bytes"),
    "base64": Shape("bytes", "bytes"),
}
"""`format` of a text → what arrives in the snippet."""


@dataclass(slots=True)
class FieldLine:
    """One field of a named type."""

    wire: str
    name: str
    """Python name; equal to `wire` for a typed dict."""
    annotation: str
    required: bool
    description: str
    codec: Any = None
    default: Any = None
    """JSON value; only with `has_default`."""
    has_default: bool = False


@dataclass(slots=True)
class NamedType:
    """A class or alias that the generated text defines."""

    name: str
    kind: str
    """`dict`, `dataclass`, `enum` or `alias`."""
    description: str = ""
    fields: list[FieldLine] = field(default_factory=list)
    members: list[tuple[str, Any]] = field(default_factory=list)
    base: str = ""
    """Of an enum: `str`, `int` or empty."""
    frozen: bool = False
    alias: Shape = ANY
    rest: Any = None
    """Of a typed dict: spec of members that are not listed."""


def union(branches: list[tuple[dict[str, Any], Shape]]) -> Shape:
    """Any one of the branches; each comes with the test that tells it."""
    names = list(dict.fromkeys(shape.annotation for _, shape in branches))
    if "Any" in names or not names:
        annotation = "Any"
    else:
        annotation = " | ".join([name for name in names if name != "None"] + ["None"] * ("None" in names))
    if all(shape.codec is None for _, shape in branches):
        return Shape(annotation)
    rest = [(test, shape) for test, shape in branches if shape.annotation != "None"]
    if len(rest) == 1:
        return Shape(annotation, {"optional": rest[0][1].codec} if len(branches) > 1 else rest[0][1].codec)
    return Shape(annotation, {"union": [[test, shape.codec] for test, shape in branches]})


def entry_of(named: NamedType) -> dict[str, Any]:
    """A named type as the table has it, before pruning."""
    if named.kind == "alias":
        return {"kind": "alias", "codec": named.alias.codec}
    if named.kind == "enum":
        return {"kind": "enum", "base": named.base, "members": [list(each) for each in named.members]}
    if named.kind == "dict":
        return {"kind": "dict", "fields": {line.wire: line.codec for line in named.fields}, "rest": named.rest}
    fields: list[dict[str, Any]] = []
    for line in sorted(named.fields, key=lambda each: each.has_default or not each.required):
        field: dict[str, Any] = {"name": line.name, "wire": line.wire, "codec": line.codec}
        if line.has_default or not line.required:
            field["default"] = line.default
        fields.append(field)
    return {"kind": "dataclass", "fields": fields, "frozen": named.frozen}
