"""The syntax tree of a compiled CEL expression, read from its serialised form.

Only what checks of reads need; the wire format is that of `cel.expr.CheckedExpr`, whose field numbers are frozen.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

__all__ = ["Kind", "Node", "parse_tree"]


class Kind(StrEnum):
    """What a node is."""

    CONST = "const"
    IDENT = "ident"
    SELECT = "select"
    CALL = "call"
    LIST = "list"
    STRUCT = "struct"
    COMPREHENSION = "comprehension"


@dataclass(frozen=True, slots=True)
class Node:
    """One node of the tree."""

    id: int
    kind: Kind
    name: str = ""
    """IDENT: the name. SELECT: the field. CALL: the function. COMPREHENSION: the variable."""
    value: Any = None
    """CONST: text, whole number or bool; None for others. SELECT: True where it is `has()`."""
    children: tuple["Node", ...] = ()
    """SELECT: operand. CALL: target where there is one, then arguments. COMPREHENSION: range, initial value, condition,
    step, result."""
    accumulator: str = ""
    """COMPREHENSION: the second, hidden variable."""


def parse_tree(serialised: bytes) -> Node:
    """The tree of `Expression.serialize()`. Raises ValueError where it is something else."""
    checked = _one(serialised, 2)
    return _node(_one(checked, 4))


def _node(data: bytes) -> Node:
    fields = dict(_fields(data))
    ident = int(fields.get(2, 0))
    if 4 in fields:
        return Node(ident, Kind.IDENT, _text(fields[4], 1))
    if 5 in fields:
        select = dict(_fields(fields[5]))
        return Node(ident, Kind.SELECT, select[2].decode("utf-8"), bool(select.get(3, 0)), (_node(select[1]),))
    if 6 in fields:
        return _call(ident, fields[6])
    if 7 in fields:
        items = tuple(_node(each) for number, each in _fields(fields[7]) if number == 1)
        return Node(ident, Kind.LIST, children=items)
    if 8 in fields:
        return _struct(ident, fields[8])
    if 9 in fields:
        return _comprehension(ident, fields[9])
    return Node(ident, Kind.CONST, value=_constant(fields.get(3, b"")))


def _call(ident: int, data: bytes) -> Node:
    name, children = "", []
    for number, each in sorted(_fields(data), key=lambda field: field[0]):
        if number == 2:
            name = each.decode("utf-8")
        elif number in (1, 3):
            children.append(_node(each))
    return Node(ident, Kind.CALL, name, children=tuple(children))


def _struct(ident: int, data: bytes) -> Node:
    children = []
    for number, entry in _fields(data):
        if number == 2:
            children += [_node(each) for inner, each in _fields(entry) if inner in (3, 4)]
    return Node(ident, Kind.STRUCT, children=tuple(children))


def _comprehension(ident: int, data: bytes) -> Node:
    fields = dict(_fields(data))
    children = tuple(_node(fields[number]) for number in (2, 4, 5, 6, 7))
    return Node(ident, Kind.COMPREHENSION, _decoded(fields, 1), None, children, _decoded(fields, 3))


def _decoded(fields: dict[int, Any], number: int) -> str:
    return str(fields[number].decode("utf-8")) if number in fields else ""


def _constant(data: bytes) -> Any:
    for number, value in _fields(data):
        if number == 2:
            return bool(value)
        if number == 3:
            return value - 2**64 if value >= 2**63 else value
        if number == 6:
            return value.decode("utf-8")
    return None


def _text(data: bytes, number: int) -> str:
    return _decoded(dict(_fields(data)), number)


def _one(data: bytes, number: int) -> bytes:
    for found, value in _fields(data):
        if found == number and isinstance(value, bytes):
            return value
    raise ValueError("it is no serialised expression")


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Number and raw value of each field of a protobuf message."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        wire = tag & 7
        value: int | bytes
        if wire == 0:
            value, at = _varint(data, at)
        elif wire == 2:
            size, at = _varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            width = 8 if wire == 1 else 4
            value, at = data[at : at + width], at + width
        yield tag >> 3, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
