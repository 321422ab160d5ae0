"""Python values of tools → JSON in the one wire form that the box reads back."""

import dataclasses
import enum
import math
import numbers
import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from harness.core.call import Json
from harness.core.canonical import MAX_DEPTH
from harness.core.errors import HarnessError
from tool_stubs.runtime.leaves import WRITERS

__all__ = ["ResultShape", "to_wire"]

_SURROGATE = re.compile("[\ud800-\udfff]")


class ResultShape(HarnessError):
    """A value that a tool handed over has no JSON form, or none within the bounds; the message names the path."""


def to_wire(value: object, path: str = "$", depth: int = 0) -> Json:
    """`value` as JSON: dates in ISO 8601, Decimal and UUID as text, bytes as base64, sets sorted, models as objects.

    Raises ResultShape for NaN, infinities, lone surrogates, keys that are no text, and types without a form.
    """
    kind = type(value)
    if kind is str:
        return _text(value, path)  # type: ignore[arg-type]
    if value is None or kind is bool or kind is int:
        return value
    if kind is float:
        if not math.isfinite(value):  # type: ignore[arg-type]
            raise ResultShape(f"`{path}` is `{value!r}`, which JSON lacks", hint="return None or text instead")
        return value
    if depth > MAX_DEPTH:
        raise ResultShape(f"`{path}` is nested deeper than {MAX_DEPTH} levels, or holds itself")
    if isinstance(value, Mapping):
        return {_key(name, path): to_wire(item, f"{path}.{name}", depth + 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_wire(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(value)]
    return _other(value, path, depth)


def _other(value: Any, path: str, depth: int) -> Json:
    if isinstance(value, enum.Enum):
        return to_wire(value.value, path, depth + 1)
    for write in WRITERS.values():
        if not isinstance(value, int | float):
            try:
                return write(value)
            except TypeError:
                continue
            except ValueError as error:
                raise ResultShape(f"`{path}` {error}") from error
    if isinstance(value, set | frozenset):
        items = [to_wire(item, f"{path}[…]", depth + 1) for item in value]
        return sorted(items, key=repr)
    if isinstance(value, BaseModel):
        return to_wire(value.model_dump(by_alias=True), path, depth + 1)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return to_wire(fields, path, depth + 1)
    return _subclass(value, path)


def _subclass(value: object, path: str) -> Json:
    """Subclasses of JSON's types, and numbers of other libraries."""
    if isinstance(value, str):
        return _text(str.__str__(value), path)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, float) or (isinstance(value, numbers.Real) and not isinstance(value, numbers.Rational)):
        return to_wire(float(value), path)
    hint = "return text, numbers, lists, dicts, dates, Decimal, UUID, bytes, enums, dataclasses or pydantic models"
    raise ResultShape(f"`{path}` has the type `{type(value).__name__}`, which has no JSON form", hint=hint)


def _text(value: str, path: str) -> str:
    if not value.isascii() and _SURROGATE.search(value):
        raise ResultShape(f"`{path}` holds a lone surrogate, which is not a character")
    return value


def _key(name: object, path: str) -> str:
    if type(name) is str:
        return _text(name, path)
    if isinstance(name, bool) or name is None or isinstance(name, float):
        raise ResultShape(f"`{path}` has the key `{name!r}`; keys are text", hint="write str(key)")
    wire = to_wire(name, path)
    if isinstance(wire, str):
        return wire
    if isinstance(wire, int):
        return str(wire)
    raise ResultShape(f"`{path}` has a key of type `{type(name).__name__}`; keys are text", hint="write str(key)")
