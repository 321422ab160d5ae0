"""Canonical JSON after RFC 8785 (JCS), and digests over it.

One documented extension: integers beyond 2^53 keep their exact digits.
Not a validator of schemas: it refuses only what has no canonical form.
"""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any

import msgspec

from harness.core.errors import HostileInput

__all__ = ["MAX_DEPTH", "canonical", "digest", "utf16_order"]

MAX_DEPTH = 200
"""Levels of nesting; deeper values are refused, long before the interpreter's own limit of 1,000 frames."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_encode_sorted = msgspec.json.Encoder(order="sorted").encode


def canonical(value: Any) -> bytes:
    """UTF-8 bytes of the canonical form of a JSON value.

    Raises HostileInput with code `not_finite`, `surrogate`, `not_json`, `too_deep`, each naming the path.
    """
    if _plain_sailing(value, MAX_DEPTH):
        try:
            return _encode_sorted(value)
        except UnicodeEncodeError:
            return _careful(value)  # a lone surrogate: the careful writer says where
    try:
        return _encode_sorted(_tidy(value, MAX_DEPTH))
    except (_OddError, UnicodeEncodeError):
        return _careful(value)


class _OddError(Exception):
    """Something is in a value that only the careful writer writes, or refuses."""


def digest(*values: Any) -> str:
    """SHA-256 hex over the canonical forms of `values`, each framed by its length."""
    state = hashlib.sha256()
    for value in values:
        text = canonical(value)
        state.update(len(text).to_bytes(8, "big"))
        state.update(text)
    return state.hexdigest()


def _careful(value: Any) -> bytes:
    parts: list[str] = []
    _write(value, parts, "$", 0)
    return "".join(parts).encode("utf-8")


def _plain_sailing(value: Any, room: int) -> bool:
    """Whether the C encoder writes `value` exactly as RFC 8785 does: no odd number, key or type, not deep.

    Arguments of ordinary calls are such; it spares them 5 of 6 µs.
    """
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(value.bit_length() < 10_000)
    if kind is float:
        # Where both write the shortest digits with a point; outside they place it differently, `1.0` and `1`.
        return bool(1e-4 <= abs(value) < 1e15 and value % 1)
    if room == 0:
        return False
    if kind is dict:
        for name, item in value.items():
            if type(name) is not str or not name.isascii():
                return False
            if type(item) is not str and not _plain_sailing(item, room - 1):
                return False
        return True
    return kind is list and all(_plain_sailing(item, room - 1) for item in value)


def _tidy(value: Any, room: int) -> Any:
    """An equal value that the C encoder writes as RFC 8785 does: `1.0` as `1`, a tuple as a list. Raises _OddError."""
    kind = type(value)
    if kind is float and abs(value) < 2**53 and value % 1 == 0:
        return int(value)
    if kind is dict and room:
        tidy = {}
        for name, item in value.items():
            if type(name) is not str or not name.isascii():
                raise _OddError
            tidy[name] = item if type(item) is str else _tidy(item, room - 1)
        return tidy
    if kind in (list, tuple) and room:
        return [_tidy(item, room - 1) for item in value]
    if kind in (list, tuple, dict) or not _plain_sailing(value, 0):
        raise _OddError
    return value


def utf16_order(name: str) -> bytes:
    """Sort key of a member name: RFC 8785 orders by UTF-16 code units."""
    return name.encode("utf-16-be")


def _write(value: Any, parts: list[str], path: str, depth: int) -> None:
    kind = type(value)
    if kind is str:
        parts.append(_text(value, path))
    elif value is None:
        parts.append("null")
    elif kind is bool:
        parts.append("true" if value else "false")
    elif kind is int:
        parts.append(int.__repr__(value) if value.bit_length() < 10_000 else _refuse_int(path))
    elif kind is float:
        parts.append(_number(value, path))
    elif depth >= MAX_DEPTH:
        raise HostileInput("too_deep", f"{path} is nested deeper than {MAX_DEPTH} levels")
    elif isinstance(value, Mapping):
        _object(value, parts, path, depth)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        parts.append("[")
        for index, item in enumerate(value):
            if index:
                parts.append(",")
            _write(item, parts, f"{path}[{index}]", depth + 1)
        parts.append("]")
    else:
        _write(_plain(value, path), parts, path, depth)


def _object(value: Mapping[Any, Any], parts: list[str], path: str, depth: int) -> None:
    names = list(value)
    for name in names:
        if type(name) is not str:
            raise HostileInput("not_json", f"{path} has a key of type `{type(name).__name__}`, keys are text")
        if not name.isascii():
            _text(name, path)
    names.sort(key=None if all(map(str.isascii, names)) else utf16_order)
    parts.append("{")
    for index, name in enumerate(names):
        parts.append("," if index else "")
        parts.append(_text(name, path))
        parts.append(":")
        _write(value[name], parts, f"{path}.{name}", depth + 1)
    parts.append("}")


def _plain(value: Any, path: str) -> Any:
    """The JSON value inside a subclass of a JSON type (an enum with a text value, a named tuple)."""
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value.value if hasattr(value, "value") else value)
    raise HostileInput("not_json", f"{path} has the type `{type(value).__name__}`, which JSON lacks")


def _text(value: str, path: str) -> str:
    if not value.isascii() and _SURROGATE.search(value):
        raise HostileInput("surrogate", f"{path} holds a lone surrogate, which is not a character")
    return encode_basestring(value)


def _refuse_int(path: str) -> str:
    raise HostileInput("number_too_long", f"{path} is an integer of more than 10,000 bits")


def _number(value: float, path: str) -> str:
    """ECMAScript's Number.prototype.toString, as RFC 8785 wants it."""
    if not math.isfinite(value):
        raise HostileInput("not_finite", f"{path} is `{value!r}`, which JSON lacks")
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(value).partition("e")
    sign, mantissa = ("-", mantissa[1:]) if mantissa[0] == "-" else ("", mantissa)
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return sign + _place_point(digits, point)


def _place_point(digits: str, point: int) -> str:
    """Decimal notation from 1e-7 up to 1e21, exponent notation outside."""
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    mark = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return digits[0] + (f".{digits[1:]}" if count > 1 else "") + mark
