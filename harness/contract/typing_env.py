"""Types for predicates: a checking environment for CEL, built from JSON Schemas.

Objects with declared properties become messages, so that a misspelt field and a comparison of unlike types are found
when a contract is loaded. Whatever the schema leaves open is dynamic.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from cel_expr_python import cel
from google.protobuf import descriptor_pb2, descriptor_pool, struct_pb2

__all__ = ["TypeEnv"]

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HAS = re.compile(r"\bhas\(\s*[A-Za-z_][\w.\[\]\"']*\.([A-Za-z_]\w*)\s*\)")
_PACKAGE = "facts"
_STRUCT = "google/protobuf/struct.proto"
_DYNAMIC = ".google.protobuf.Value"
_SCALARS = {"string": 9, "integer": 3, "boolean": 8}
"""Field types of descriptors. A `number` is dynamic: CEL does not compare doubles with whole numbers in literals."""
_MESSAGE = 11
MAX_LEVELS = 8
"""Nested objects that are typed; deeper ones, and recursive schemas, are dynamic below."""


class TypeEnv:
    """Environments for checking expressions over facts of known schemas."""

    def __init__(self, schemas: Mapping[str, Any]) -> None:
        self._schemas = dict(schemas)

    @property
    def names(self) -> tuple[str, ...]:
        """The facts that an expression may name."""
        return tuple(self._schemas)

    def full(self) -> Any:
        """Every declared field is there."""
        return self._environment(None)

    def required(self, text: str) -> Any:
        """Only required fields are there, and those that `text` asks for with `has()`."""
        return self._environment(frozenset(_HAS.findall(text)))

    def nearest(self, name: str) -> str:
        """The declared field closest to `name`; empty where none is close."""
        known = {each for schema in self._schemas.values() for each in _fields(schema, schema, 0)}
        hits = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
        return hits[0] if hits else ""

    def _environment(self, guarded: frozenset[str] | None) -> Any:
        messages = _Messages(guarded)
        variables = {name: messages.variable(schema) for name, schema in self._schemas.items()}
        return cel.NewEnv(descriptor_pool=messages.pool(), variables=variables)


def _fields(schema: Any, root: Any, level: int) -> Iterator[str]:
    schema = _resolve(schema, root)
    if level >= MAX_LEVELS or not isinstance(schema, Mapping):
        return
    for name, each in schema.get("properties", {}).items():
        yield name
        yield from _fields(each, root, level + 1)
    if "items" in schema:
        yield from _fields(schema["items"], root, level + 1)


def _resolve(schema: Any, root: Any) -> Any:
    """Follow local references, a bounded number of times."""
    for _ in range(MAX_LEVELS):
        if not isinstance(schema, Mapping) or "$ref" not in schema:
            return schema
        target: Any = root
        for step in str(schema["$ref"]).removeprefix("#").strip("/").split("/"):
            if step:
                step = step.replace("~1", "/").replace("~0", "~")
                target = target.get(step) if isinstance(target, Mapping) else None
        schema = target
    return None


class _Messages:
    """Collects message types while schemas are walked."""

    def __init__(self, guarded: frozenset[str] | None) -> None:
        self._guarded = guarded
        self._file = descriptor_pb2.FileDescriptorProto(
            name="facts.proto", package=_PACKAGE, syntax="proto3", dependency=[_STRUCT]
        )
        self._root: Any = None

    def variable(self, schema: Any) -> Any:
        """The CEL type of a fact."""
        self._root = schema
        resolved = _resolve(schema, schema)
        if _is_message(resolved):
            return cel.Type(f"{_PACKAGE}.{self._message(resolved, 0)}")
        if not isinstance(resolved, Mapping):
            return cel.Type.DYN
        return self._value_type(resolved)

    def _value_type(self, schema: Mapping[str, Any]) -> Any:
        kind = schema.get("type")
        simple = {"string": cel.Type.STRING, "integer": cel.Type.INT, "boolean": cel.Type.BOOL}
        if isinstance(kind, str) and kind in simple:
            return simple[kind]
        if kind == "array":
            return cel.Type.List(self.variable_of(schema.get("items")))
        if kind == "object":
            return cel.Type.Map(cel.Type.STRING, self.variable_of(schema.get("additionalProperties")))
        return cel.Type.DYN

    def variable_of(self, schema: Any) -> Any:
        """The CEL type of an element, with the references of the fact that it stands in."""
        resolved = _resolve(schema, self._root)
        if _is_message(resolved):
            return cel.Type(f"{_PACKAGE}.{self._message(resolved, 0)}")
        return self._value_type(resolved) if isinstance(resolved, Mapping) else cel.Type.DYN

    def _message(self, schema: Mapping[str, Any], level: int) -> str:
        name = f"M{len(self._file.message_type)}"
        message = self._file.message_type.add(name=name)
        required = set(schema.get("required", ()))
        for field, each in schema["properties"].items():
            if self._guarded is not None and field not in required and field not in self._guarded:
                continue
            self._add(message, field, _resolve(each, self._root), level + 1)
        return name

    def _add(self, message: Any, name: str, schema: Any, level: int) -> None:
        kind, type_name, repeated = self._field(schema, level)
        message.field.add(
            name=name, number=len(message.field) + 1, label=3 if repeated else 1, type=kind, type_name=type_name
        )

    def _field(self, schema: Any, level: int) -> tuple[int, str | None, bool]:
        """Descriptor type, name of the message, whether it repeats."""
        if level >= MAX_LEVELS or not isinstance(schema, Mapping):
            return _MESSAGE, _DYNAMIC, False
        kind = schema.get("type")
        if isinstance(kind, str) and kind in _SCALARS:
            return _SCALARS[kind], None, False
        if _is_message(schema):
            return _MESSAGE, f".{_PACKAGE}.{self._message(schema, level)}", False
        if kind == "array":
            inner, type_name, repeated = self._field(_resolve(schema.get("items"), self._root), level + 1)
            return (_MESSAGE, _DYNAMIC, True) if repeated else (inner, type_name, True)
        return _MESSAGE, _DYNAMIC, False

    def pool(self) -> Any:
        """The descriptors of every message."""
        pool = descriptor_pool.DescriptorPool()
        struct = descriptor_pb2.FileDescriptorProto()
        struct_pb2.DESCRIPTOR.CopyToProto(struct)
        pool.Add(struct)
        pool.Add(self._file)
        return pool


def _is_message(schema: Any) -> bool:
    """An object whose members all have names that an expression can write."""
    return (
        isinstance(schema, Mapping)
        and schema.get("type") == "object"
        and bool(schema.get("properties"))
        and all(_IDENTIFIER.fullmatch(name) for name in schema["properties"])
    )
