"""Values on the wire, from the box's side: what has a JSON form goes out, and what has none is refused with its place.

The limits are the host's, so that no ordinary value of a snippet breaks a rule of the wire; tests compare the two.
"""

import dataclasses
import datetime
import decimal
import enum
import json
import json.encoder
import math
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from sandbox_image.promise import Promise, resolve
from tool_stubs.runtime.leaves import WRITERS

__all__ = [
    "DEPTH",
    "FRAME_BYTES",
    "IN_FLIGHT",
    "MEMBERS",
    "NUMBER_CHARS",
    "STRING_CHARS",
    "decode",
    "encode",
    "encode_arguments",
    "plain",
]

FRAME_BYTES = 8 << 20
DEPTH = 98
"""Levels of a value: the host takes 100, and a message has up to two around it."""
MEMBERS = 199_000
"""The host takes 200,000, the message's own included."""
STRING_CHARS = 4 << 20
NUMBER_CHARS = 1_000
NUMBER_BITS = 3_300
"""An integer of so many bits has fewer than `NUMBER_CHARS` digits."""
IN_FLIGHT = 10_000
FRAME_ROOM = 2_000
"""Bytes of a frame beside its value."""

_SCALARS = frozenset((str, int, float, bool, type(None)))


def _encoder() -> Callable[[Any, int], Iterable[str]]:
    """The C encoder, made once: `json.dumps` makes a new one for every value."""
    text = json.encoder.encode_basestring
    make = json.encoder.c_make_encoder  # type: ignore[attr-defined]
    if make is None:
        plain_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return lambda value, _: (plain_encoder.encode(value),)
    made: Callable[[Any, int], Iterable[str]] = make(None, _no_form, text, None, ":", ",", False, False, False)
    return made


def _no_form(value: object) -> object:
    raise TypeError(f"`{type(value).__name__}` has no JSON form")


_chunks = _encoder()
_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def decode(frame: bytes | memoryview) -> Any:
    """The value in a frame of the host."""
    return _scan(str(frame, "utf-8"), 0)[0]


def encode(value: object, root: str) -> bytes:
    """UTF-8 JSON of `value`, called `root` in messages. Raises TypeError or ValueError that name the place."""
    return _bounded(plain(value, root), root)


def encode_arguments(arguments: dict[str, Any], tool: str) -> bytes:
    """The same for a call's arguments; quick where they are scalars, as they mostly are."""
    for value in arguments.values():
        if type(value) not in _SCALARS:
            return encode(arguments, f"an argument of `{tool}`")
    try:
        text = "".join(_chunks(arguments, 0)).encode("utf-8")
    except ValueError:  # the walk finds the place
        return encode(arguments, f"an argument of `{tool}`")
    return text if len(text) < NUMBER_CHARS else encode(arguments, f"an argument of `{tool}`")


def _bounded(value: Any, root: str) -> bytes:
    text = "".join(_chunks(value, 0)).encode("utf-8")
    if len(text) > FRAME_BYTES - FRAME_ROOM:
        raise ValueError(f"{root} takes {len(text)} bytes, and {FRAME_BYTES - FRAME_ROOM} are the most")
    return text


def plain(value: object, root: str) -> Any:
    """`value` in JSON types: tuples as lists, dataclasses as objects, times as ISO 8601, bytes as base64.

    Raises TypeError for what has no such form, ValueError for what is too deep or large, each naming the place.
    """
    return _Walk(root).plain(value, "", 1)


class _Walk:
    def __init__(self, root: str) -> None:
        self._root = root
        self._members = 0

    def plain(self, value: Any, path: str, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            return self._text(value, path)
        if value is None or kind is bool:
            return value
        if kind is int:
            if value.bit_length() > NUMBER_BITS:
                raise ValueError(f"{self._at(path)} is an integer of more than {NUMBER_CHARS} digits")
            return value
        if kind is float:
            if not math.isfinite(value):
                raise ValueError(f"{self._at(path)} is `{value!r}`, which JSON lacks")
            return value
        if isinstance(value, dict | list | tuple):
            return self._container(value, path, depth)
        return self._other(value, path, depth)

    def _container(self, value: Any, path: str, depth: int) -> Any:
        if depth > DEPTH:
            raise ValueError(f"{self._root} is nested deeper than {DEPTH} levels, or holds itself")
        self._members += len(value) + 1
        if self._members > MEMBERS:
            raise ValueError(f"{self._root} has more than {MEMBERS} members")
        if isinstance(value, Promise):
            return self._container(resolve(value), path, depth)
        if isinstance(value, dict):
            return {
                self._key(name, path): self.plain(item, f"{path}.{name}", depth + 1) for name, item in dict.items(value)
            }
        return [self.plain(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]

    def _key(self, name: object, path: str) -> str:
        if type(name) is str:
            return self._text(name, path)
        if isinstance(name, str):
            return str(name.value) if isinstance(name, enum.Enum) else str.__str__(name)
        hint = "JSON keys are text: use str(key)"
        raise TypeError(f"{self._at(path)} has the key `{name!r:.40}` of type `{type(name).__name__}`; {hint}")

    def _text(self, value: str, path: str) -> str:
        if not value.isascii():
            try:
                size = len(value.encode("utf-8"))
            except UnicodeEncodeError as error:
                raise ValueError(
                    f"{self._at(path)} holds a lone surrogate at character {error.start}, which is no character"
                ) from None
        else:
            size = len(value)
        if size * 6 > STRING_CHARS and self._travelling(value) > STRING_CHARS:
            raise ValueError(f"{self._at(path)} is a text of {size} bytes, and {STRING_CHARS} are the most")
        return value

    def _travelling(self, value: str) -> int:
        return len("".join(_chunks(value, 0)).encode("utf-8")) - 2

    def _other(self, value: Any, path: str, depth: int) -> Any:
        """What JSON lacks, and what is a subclass of a JSON type."""
        if isinstance(value, Promise):
            return self.plain(resolve(value), path, depth)
        to_wire = getattr(type(value), "__wire__", None)
        if to_wire is not None:
            return self.plain(to_wire(value, path, depth), path, depth)
        if isinstance(value, enum.Enum):
            return self.plain(value.value, path, depth)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
            return self.plain(fields, path, depth)
        for leaf, kind in _LEAVES:
            if isinstance(value, leaf):
                return self.plain(WRITERS[kind](value), path, depth)
        for base in (str, int, float):
            if isinstance(value, base):
                return self.plain(base(value), path, depth)
        hint = _HINTS.get(type(value).__name__, "use text, numbers, lists and dicts")
        raise TypeError(f"{self._at(path)} is of type `{type(value).__name__}`, which JSON lacks; {hint}")

    def _at(self, path: str) -> str:
        return f"{self._root} at `${path}`" if path else self._root


_LEAVES: tuple[tuple[Any, str], ...] = (
    (datetime.datetime, "datetime"),
    (datetime.date, "date"),
    (datetime.time, "time"),
    (datetime.timedelta, "duration"),
    (decimal.Decimal, "decimal"),
    (uuid.UUID, "uuid"),
    (bytes | bytearray | memoryview, "bytes"),
)
"""Types that have a text of their own on the wire, a datetime before the date that it is."""

_HINTS = {
    "set": "use sorted(…)",
    "frozenset": "use sorted(…)",
    "generator": "use list(…)",
    "map": "use list(…)",
    "filter": "use list(…)",
    "zip": "use list(…)",
    "dict_keys": "use list(…)",
    "dict_values": "use list(…)",
    "dict_items": "use list(…)",
    "range": "use list(…)",
    "coroutine": "await it",
}
