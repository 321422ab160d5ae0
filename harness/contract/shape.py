"""What a JSON Schema says of the shape of a value: its fields, which are always there, its items, its listed values.

References inside the schema are followed. Whatever is not plain is dynamic: nothing is known, nothing is claimed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["DYNAMIC", "Shape", "shape_of"]

MAX_HOPS = 16
"""References and wrappers followed at one place."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One place of a value. Built by `shape_of`."""

    kind: str = ""
    """`object`, `array`, `string`, `integer`, `number`, `boolean`, `null`; empty where it is dynamic."""
    nullable: bool = False
    values: tuple[Any, ...] = ()
    """The listed values; empty where any may be."""
    schema: Mapping[str, Any] = field(default_factory=dict)
    root: Any = None

    @property
    def fields(self) -> Mapping[str, Any]:
        """Declared members, name → schema."""
        properties = self.schema.get("properties")
        return properties if isinstance(properties, Mapping) else {}

    @property
    def required(self) -> frozenset[str]:
        """Members that are always there."""
        return frozenset(name for name in self.schema.get("required", ()) if isinstance(name, str))

    @property
    def is_closed(self) -> bool:
        """Whether an undeclared member is surely a mistake: some are declared, and others are not spoken of."""
        others = self.schema.get("additionalProperties", self.schema.get("unevaluatedProperties"))
        return self.kind == "object" and (others is False or (others is None and bool(self.fields)))

    @property
    def is_open(self) -> bool:
        """Whether the schema speaks of members that it does not name."""
        others = self.schema.get("additionalProperties")
        return self.kind == "object" and (others is True or isinstance(others, Mapping))

    def member(self, name: str) -> "Shape":
        """The shape of a member."""
        if name in self.fields:
            return shape_of(self.fields[name], self.root)
        return shape_of(self.schema.get("additionalProperties"), self.root)

    @property
    def items(self) -> "Shape":
        """The shape of an array's items."""
        return shape_of(self.schema.get("items"), self.root) if "prefixItems" not in self.schema else DYNAMIC


DYNAMIC = Shape()
"""Nothing is known."""


def shape_of(schema: Any, root: Any = None) -> Shape:
    """The shape that a schema describes; `root` is the document in which its references are looked up."""
    root = schema if root is None else root
    nullable = False
    for _ in range(MAX_HOPS):
        if not isinstance(schema, Mapping):
            return DYNAMIC
        inner, null = _unwrap(schema, root)
        nullable = nullable or null
        if inner is None:
            return _plain(schema, root, nullable)
        schema = inner
    return DYNAMIC


def _unwrap(schema: Mapping[str, Any], root: Any) -> tuple[Any, bool]:
    """What a reference or a choice of one stands for, and whether null may stand there; None where it is neither."""
    if isinstance(schema.get("$ref"), str):
        return _target(schema["$ref"], root) or True, False
    for word in ("anyOf", "oneOf"):
        branches = schema.get(word)
        if isinstance(branches, list | tuple):
            solid = [each for each in branches if not _is_null(each)]
            return (solid[0] if len(solid) == 1 else True), len(solid) < len(branches)
    if isinstance(schema.get("allOf"), list | tuple):
        return (schema["allOf"][0] if len(schema["allOf"]) == 1 and "properties" not in schema else True), False
    return None, False


def _is_null(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "null"


def _target(reference: str, root: Any) -> Any:
    target = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        if step:
            step = step.replace("~1", "/").replace("~0", "~")
            target = target.get(step) if isinstance(target, Mapping) else None
    return target


def _plain(schema: Mapping[str, Any], root: Any, nullable: bool) -> Shape:
    kind = schema.get("type")
    if isinstance(kind, list | tuple):
        nullable = nullable or "null" in kind
        solid = [each for each in kind if each != "null"]
        kind = solid[0] if len(solid) == 1 else ""
    values = tuple(schema["enum"]) if isinstance(schema.get("enum"), list | tuple) else ()
    if "const" in schema:
        values = (schema["const"],)
    if not kind and "properties" in schema:
        kind = "object"
    if not kind and values and all(isinstance(each, str) for each in values):
        kind = "string"
    return Shape(kind if isinstance(kind, str) else "", nullable or None in values, values, schema, root)
