"""One limit of a scope, compiled: an argument, a test over its value, and what is allowed in words.

Whatever a limit cannot judge it refuses.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from harness.contract.grants import Constraint, ConstraintKind
from harness.contract.schema import compile_schema
from harness.core.call import Json
from harness.core.canonical import canonical
from harness.core.errors import HostileInput

__all__ = ["Limit", "compile_limit"]

Test = Callable[[Json], bool]

SHOWN_VALUES = 20
"""So many allowed values a refusal lists."""
DECIMAL_CHARS = 64
"""Longest text that is read as a number: more digits than any amount has."""

_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_HIDDEN = re.compile(r"[\x00-\x1f\x7f\\]|%(2e|2f|5c|00)", re.IGNORECASE)
"""What may mean another place to whoever reads the path: control characters, backslashes, escaped separators."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What the contract lets an argument be."""

    argument: str
    allows: Test
    """True only where the value is certainly inside."""
    allowed: str
    """A phrase: `one of 42, 43`, `a path under retry/`, `at most 500`."""


def compile_limit(constraint: Constraint) -> Limit:
    """The limit of a constraint that binding has already found well-formed."""
    value = constraint.value
    if constraint.kind is ConstraintKind.EQUALS:
        return Limit(constraint.argument, _member([value]), f"exactly {_show(value)}")
    if constraint.kind is ConstraintKind.ONE_OF:
        test = _each(_member(value))
        return Limit(constraint.argument, test, f"one of {_show_all(value)}")
    if constraint.kind is ConstraintKind.UNDER:
        return Limit(constraint.argument, _each(_under(value)), f"a path under `{value}`, without `..`")
    if constraint.kind is ConstraintKind.MAX:
        return Limit(constraint.argument, _at_most(value), f"at most {value}")
    return Limit(constraint.argument, _each(_matches(value)), f"text that matches `{value}` as a whole")


def _each(test: Test) -> Test:
    """A list of things passes where it names at least one and each passes: an empty list often means `all`."""

    def allows(value: Json) -> bool:
        if isinstance(value, list):
            return bool(value) and all(not isinstance(item, list) and test(item) for item in value)
        return test(value)

    return allows


def _member(allowed: list[Json]) -> Test:
    """Equality of JSON values: 1 and 1.0 are equal, 1 and true are not."""
    texts = frozenset(each for each in allowed if type(each) is str)
    forms = frozenset(canonical(each) for each in allowed)

    def allows(value: Json) -> bool:
        if type(value) is str:
            return value in texts
        try:
            return canonical(value) in forms
        except HostileInput:
            return False

    return allows


def _under(prefix: str) -> Test:
    """Strictly below a folder (or URL), by whole segments, with no way up and nothing hidden."""
    folder = prefix if prefix.endswith("/") else prefix + "/"

    def allows(value: Json) -> bool:
        if type(value) is not str or not value.startswith(folder) or _HIDDEN.search(value):
            return False
        segments = value[len(folder) :].removesuffix("/").split("/")
        return not any(segment in ("", ".", "..") for segment in segments)

    return allows


def _at_most(limit: int | float | Decimal) -> Test:
    """Numbers, and decimals that travel as text; exact, never through a float."""
    bound = Decimal(str(limit))

    def allows(value: Json) -> bool:
        if type(value) is int or (type(value) is float and math.isfinite(value)):
            return value <= bound
        if type(value) is str and len(value) <= DECIMAL_CHARS and _DECIMAL.fullmatch(value):
            return Decimal(value) <= bound
        return False

    return allows


def _matches(pattern: str) -> Test:
    """The whole text, in the schema engine's bounded expressions: no input makes them run away (B23)."""
    compile_schema({"type": "string", "pattern": pattern})  # alone first: `a)|(b` must not slip through the brackets
    return compile_schema({"type": "string", "pattern": f"^(?:{pattern})$"}).ok


def _show(value: Json) -> str:
    text = canonical(value).decode("utf-8")
    return text if len(text) <= 200 else text[:199] + "…"


def _show_all(values: list[Json]) -> str:
    shown = ", ".join(_show(value) for value in values[:SHOWN_VALUES])
    more = len(values) - SHOWN_VALUES
    return f"{shown} and {more} more" if more > 0 else shown
