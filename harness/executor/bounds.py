"""Bounds on what a tool returns, looked at before anything else touches it: size, depth, members, plain JSON.

A tool is trusted code, and what it passes on often is not: a page of 100 MB, a tree of 100,000 levels.
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping

import msgspec

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_INT_BITS", "MAX_MEMBERS", "json_fault", "size_fault"]

MAX_BYTES = 8 * 1024 * 1024 - 64 * 1024
"""Bytes of JSON: one frame of 8 MiB to the box, less room for the envelope."""
MAX_DEPTH = 100
"""Levels: half of what the canonical form takes, a fiftieth of what predicates survive."""
MAX_MEMBERS = 1_000_000
"""Items of all lists and objects together: what 8 MiB of the shortest members come to, within a factor of four."""
MAX_INT_BITS = 10_000
"""Bits of one integer, as in the canonical form."""


class _Broken(Exception):
    """Carries the sentence up while the path grows at its front."""

    def __init__(self, why: str) -> None:
        self.why = why
        self.path: list[str] = []


class _Tally:
    __slots__ = ("least", "members", "most")

    def __init__(self) -> None:
        self.members = 0
        self.least = 0
        """The JSON has at least so many bytes."""
        self.most = 0
        """And at most so many."""


def json_fault(value: object) -> str:
    """What keeps `value` from being a JSON value within the bounds, with its path; empty where nothing does."""
    tally = _Tally()
    try:
        _walk(value, 0, tally)
        if tally.most > MAX_BYTES and len(msgspec.json.encode(value)) > MAX_BYTES:
            raise _Broken(f"is larger than {MAX_BYTES} bytes")
    except _Broken as broken:
        return f"${''.join(reversed(broken.path))} {broken.why}"
    return ""


def size_fault(value: object) -> str:
    """The same bounds for any Python value, before it is made into JSON; looks into builtin containers and fields."""
    members = size = 0
    stack: list[tuple[object, int]] = [(value, 0)]
    while stack:
        each, depth = stack.pop()
        if isinstance(each, str | bytes | bytearray):
            size += len(each)
        inner = _inside(each)
        if inner is None:
            continue
        if depth >= MAX_DEPTH:
            return f"$ is nested deeper than {MAX_DEPTH} levels"
        for item in inner:
            members += 1
            stack.append((item, depth + 1))
            if members > MAX_MEMBERS:
                return f"$ has more than {MAX_MEMBERS} members"
        if size > MAX_BYTES:
            break
    return f"$ is larger than {MAX_BYTES} bytes" if size > MAX_BYTES else ""


def _inside(value: object) -> Iterator[object] | None:
    """What a container holds; None for everything that is no container."""
    if isinstance(value, dict):
        return (item for pair in value.items() for item in pair)
    if isinstance(value, list | tuple | set | frozenset):
        return iter(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return (getattr(value, field.name, None) for field in dataclasses.fields(value))
    fields = getattr(type(value), "model_fields", None)
    if isinstance(fields, Mapping):
        return iter(tuple(vars(value).values()))
    return None


def _walk(value: object, depth: int, tally: _Tally) -> None:
    kind = type(value)
    if kind is str:
        _text(value, tally)  # type: ignore[arg-type]
    elif value is None or kind is bool:
        tally.most += 5
    elif kind is int:
        _integer(value, tally)  # type: ignore[arg-type]
    elif kind is float:
        tally.most += 25
        if not math.isfinite(value):  # type: ignore[arg-type]
            raise _Broken(f"is `{value!r}`, which JSON lacks")
    elif kind is dict or kind is list:
        if depth >= MAX_DEPTH:
            raise _Broken(f"is nested deeper than {MAX_DEPTH} levels")
        _members(len(value), tally)  # type: ignore[arg-type]
        if kind is dict:
            _object(value, depth, tally)  # type: ignore[arg-type]
        else:
            _array(value, depth, tally)  # type: ignore[arg-type]
    else:
        raise _Broken(f"has the type `{kind.__name__}`, which JSON lacks")


def _object(value: dict[object, object], depth: int, tally: _Tally) -> None:
    for name, item in value.items():
        if type(name) is not str:
            raise _Broken(f"has a key of type `{type(name).__name__}`, keys are text")
        _text(name, tally)
        try:
            _walk(item, depth + 1, tally)
        except _Broken as broken:
            broken.path.append(f".{name[:80]}")
            raise


def _array(value: list[object], depth: int, tally: _Tally) -> None:
    for index, item in enumerate(value):
        try:
            _walk(item, depth + 1, tally)
        except _Broken as broken:
            broken.path.append(f"[{index}]")
            raise


def _text(value: str, tally: _Tally) -> None:
    count = len(value)
    tally.most += 6 * count + 3
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise _Broken("holds a lone surrogate, which is not a character") from None
    if count > 64:
        _least(count, tally)


def _integer(value: int, tally: _Tally) -> None:
    bits = value.bit_length()
    if bits > MAX_INT_BITS:
        raise _Broken(f"is an integer of more than {MAX_INT_BITS} bits")
    tally.most += bits // 3 + 3


def _members(count: int, tally: _Tally) -> None:
    tally.members += count
    tally.most += 2 * count + 2
    if tally.members > MAX_MEMBERS:
        raise _Broken(f"brings the members to more than {MAX_MEMBERS}")


def _least(count: int, tally: _Tally) -> None:
    tally.least += count
    if tally.least > MAX_BYTES:
        raise _Broken(f"brings the size to more than {MAX_BYTES} bytes")
