"""Types for predicates: a checking environment for CEL, built from the shapes of the facts.

Objects with declared members become messages, so that a comparison of unlike types is found when a contract is loaded.
Whatever a schema leaves open is dynamic. The environment only checks; nothing is evaluated in it.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from cel_expr_python import cel
from google.protobuf import descriptor_pb2, descriptor_pool, struct_pb2, wrappers_pb2

from harness.contract.shape import Shape

__all__ = ["DYNAMIC_MARK", "checking_environment", "dynamic_environment"]

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PACKAGE = "facts"
_MESSAGE = 11
_DYNAMIC = ".google.protobuf.Value"
_SCALARS = {"string": 9, "integer": 3, "boolean": 8}
"""Field types of descriptors. A `number` is dynamic: CEL does not compare doubles with whole numbers in literals."""
_WRAPPERS = {"string": "StringValue", "integer": "Int64Value", "boolean": "BoolValue"}
"""Of scalars that may be null."""
_VARIABLES = {"string": cel.Type.STRING, "integer": cel.Type.INT, "boolean": cel.Type.BOOL}
DYNAMIC_MARK = "x-dynamic"
"""In a schema: members are read by `[…]` too, which messages do not take; `reads` alone looks at them."""
MAX_LEVELS = 8
"""Nested objects that are typed; deeper ones, and recursive schemas, are dynamic below."""
MAX_FIELDS = 5_000
"""Fields of all messages together; what is beyond is dynamic."""


@lru_cache(maxsize=256)
def dynamic_environment(names: tuple[str, ...]) -> Any:
    """The environment in which expressions are evaluated: names, without types."""
    return cel.NewEnv(variables=dict.fromkeys(names, cel.Type.DYN))


def checking_environment(shapes: Mapping[str, Shape]) -> Any:
    """The environment in which an expression over facts of these shapes is checked."""
    messages = _Messages()
    variables = {name: messages.variable(shape, 0) for name, shape in shapes.items()}
    return cel.NewEnv(descriptor_pool=messages.pool(), variables=variables)


class _Messages:
    """Collects message types while shapes are walked."""

    def __init__(self) -> None:
        self._file = descriptor_pb2.FileDescriptorProto(
            name="facts.proto",
            package=_PACKAGE,
            syntax="proto2",
            dependency=[struct_pb2.DESCRIPTOR.name, wrappers_pb2.DESCRIPTOR.name],
        )
        self._fields = 0

    def variable(self, shape: Shape, level: int) -> Any:
        """The CEL type of a fact."""
        if shape.kind in _VARIABLES:
            wrapper = cel.Type(f"google.protobuf.{_WRAPPERS[shape.kind]}")
            return wrapper if shape.nullable else _VARIABLES[shape.kind]
        if level < MAX_LEVELS and self._is_message(shape):
            return cel.Type(f"{_PACKAGE}.{self._message(shape, level)}")
        if level < MAX_LEVELS and shape.kind == "array" and not shape.nullable:
            return cel.Type.List(self.variable(shape.items, level + 1))
        if level < MAX_LEVELS and shape.kind == "object" and shape.is_open and not shape.fields and not shape.nullable:
            return cel.Type.Map(cel.Type.STRING, self.variable(shape.member(""), level + 1))
        return cel.Type.DYN

    def _is_message(self, shape: Shape) -> bool:
        """An object whose members all have names that an expression, and a descriptor, can write."""
        names = shape.fields
        return (
            shape.kind == "object"
            and bool(names)
            and not shape.schema.get(DYNAMIC_MARK)
            and not shape.is_open
            and all(isinstance(name, str) and _IDENTIFIER.fullmatch(name) for name in names)
            and len({name.replace("_", "").lower() for name in names}) == len(names)
            and self._fields + len(names) <= MAX_FIELDS
        )

    def _message(self, shape: Shape, level: int) -> str:
        name = f"M{len(self._file.message_type)}"
        message = self._file.message_type.add(name=name)
        self._fields += len(shape.fields)
        for number, field in enumerate(shape.fields, 1):
            kind, type_name, repeated = self._field(shape.member(field), level + 1)
            message.field.add(
                name=field, number=_number(number), label=3 if repeated else 1, type=kind, type_name=type_name
            )
        return name

    def _field(self, shape: Shape, level: int) -> tuple[int, str | None, bool]:
        """Descriptor type, name of the message, whether it repeats."""
        if shape.kind in _SCALARS:
            if shape.nullable:
                return _MESSAGE, f".google.protobuf.{_WRAPPERS[shape.kind]}", False
            return _SCALARS[shape.kind], None, False
        if level < MAX_LEVELS and self._is_message(shape):
            return _MESSAGE, f".{_PACKAGE}.{self._message(shape, level)}", False
        if level < MAX_LEVELS and shape.kind == "array" and not shape.nullable:
            inner, type_name, repeated = self._field(shape.items, level + 1)
            return (_MESSAGE, _DYNAMIC, True) if repeated else (inner, type_name, True)
        return _MESSAGE, _DYNAMIC, False

    def pool(self) -> Any:
        """The descriptors of every message."""
        pool = descriptor_pool.DescriptorPool()
        for module in (struct_pb2, wrappers_pb2):
            known = descriptor_pb2.FileDescriptorProto()
            module.DESCRIPTOR.CopyToProto(known)
            pool.Add(known)
        pool.Add(self._file)
        return pool


def _number(position: int) -> int:
    """Field numbers, with the gap that protobuf keeps for itself."""
    return position if position < 19_000 else position + 1_000
