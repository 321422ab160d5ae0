"""Predicates in CEL: typed when a contract is loaded, bounded when they are evaluated, never true by accident.

The checker's environment is built from JSON Schemas (`typing_env`, `reads`); evaluation takes plain JSON.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

from cel_expr_python import cel

from harness.contract.cel_tree import parse_tree
from harness.contract.reads import read_faults
from harness.contract.shape import shape_of
from harness.contract.typing_env import checking_environment, dynamic_environment
from harness.core.call import Json
from harness.core.canonical import canonical
from harness.core.errors import ContractRefused, Fault, HostileInput, Place

__all__ = ["ExpressionFault", "Gives", "Judged", "Measured", "Predicate", "compile_predicate", "expression_faults"]

MAX_TEXT = 4_000
"""Characters of an expression: forty lines, more than a person reads."""
REMEMBERED = 1_024
"""Expressions whose compilation is kept: some contracts of every team of a host."""
MAX_DEPTH = 100
"""Levels of a fact: values nested in the thousands end the evaluator's process."""
MAX_MEMBERS = 200_000
"""Members of all facts together: some 20 MB; the evaluator copies them."""
MAX_CHARS = 16_000_000
"""Characters of all texts in the facts together: twice the largest frame; concatenation multiplies them."""

_POSITION = re.compile(r"<input>:(\d+):(\d+): (.*)")
_UNDECLARED = re.compile(r"undeclared reference to '([^']*)'")
_OVERLOAD = re.compile(r"no matching overload for '([^']*)' applied to '([^']*)'")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ERRORS = (RuntimeError, ValueError, TypeError, KeyError, OverflowError, RecursionError)
"""What the engine raises, for expressions and for facts that it does not take."""


class ExpressionFault(ContractRefused):
    """An expression that does not compile; `faults` holds everything found."""


class Gives(StrEnum):
    """What an expression must come to."""

    CONDITION = "condition"
    """True or false."""
    NUMBER = "number"


_TYPES = {Gives.CONDITION: ("BOOL", "DYN"), Gives.NUMBER: ("INT", "DOUBLE", "UINT", "DYN")}


@dataclass(frozen=True, slots=True)
class Judged:
    """What an expression came to."""

    value: bool
    """True only where it evaluated to the boolean true."""
    error: str = ""
    """Why it could not be evaluated; empty where it was."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What an expression that gives a number came to."""

    value: float | None
    """None where it could not be evaluated, or is no finite number."""
    error: str = ""
    """Why; empty where it was."""


class Predicate:
    """A compiled expression over named facts. Evaluating takes some microseconds."""

    __slots__ = ("_names", "_program", "text")

    def __init__(self, text: str, names: tuple[str, ...], program: Any) -> None:
        self.text = text
        self._names = names
        self._program = program

    def evaluate(self, facts: Mapping[str, Json]) -> Judged:
        """Judge the facts of now. Never raises: whatever goes wrong is an error, and an error is never true."""
        try:
            kind, value = self._eval(facts)
        except _ERRORS as error:
            return Judged(False, _one_line(error) or type(error).__name__)
        if kind == cel.Type.BOOL:
            return Judged(value is True)
        if kind == cel.Type.ERROR:
            return Judged(False, _one_line(value) or "the evaluator failed")
        return Judged(False, f"it gives {kind.name().lower()}, not true or false")

    def measure(self, facts: Mapping[str, Json]) -> Measured:
        """The number that the expression gives. Never raises."""
        try:
            kind, value = self._eval(facts)
        except _ERRORS as error:
            return Measured(None, _one_line(error) or type(error).__name__)
        if kind == cel.Type.ERROR:
            return Measured(None, _one_line(value) or "the evaluator failed")
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return Measured(None, "it gives no finite number")
        return Measured(float(value))

    def _eval(self, facts: Mapping[str, Json]) -> tuple[Any, Any]:
        """The type and the value; raises one of `_ERRORS`."""
        data = {name: facts[name] for name in self._names if name in facts}
        _check_bounds(data)
        value = self._program.eval(data=data)
        return value.type(), value.value()


def compile_predicate(text: str, env: Mapping[str, Any], gives: Gives = Gives.CONDITION) -> Predicate:
    """Compile `text` against `env`: name → JSON Schema of the fact, where `{}` and None leave it untyped.

    Raises ExpressionFault with every fault.
    """
    faults = expression_faults(text, env, Place(), gives)
    if faults:
        raise ExpressionFault(faults)
    names = tuple(env)
    return Predicate(text, names, _program(text, names))


@lru_cache(maxsize=REMEMBERED)
def _program(text: str, names: tuple[str, ...]) -> Any:
    return dynamic_environment(names).compile(text)


def expression_faults(text: str, env: Mapping[str, Any], place: Place, gives: Gives = Gives.CONDITION) -> list[Fault]:
    """What is wrong with an expression, types and reads included; empty where it may be evaluated."""
    if not text.strip():
        return [Fault("bad_predicate", "the expression is empty", "write a condition in CEL", place)]
    if len(text) > MAX_TEXT:
        said = f"the expression has {len(text)} characters, {MAX_TEXT} are allowed"
        return [Fault("bad_predicate", said, "name the parts as params, or test less", place)]
    shown = _shown(text)
    if _SURROGATE.search(text):
        return [Fault("bad_predicate", f"`{shown}` holds a lone surrogate", "write characters", place)]
    try:
        found = _remembered(text, tuple(env), canonical(list(env.values())), gives)
    except HostileInput as error:
        return [Fault("bad_schema", f"the facts of `{shown}` have no schema: {error.message}", "", place)]
    return [replace(fault, place=place) for fault in found]


@lru_cache(maxsize=REMEMBERED)
def _remembered(text: str, names: tuple[str, ...], schemas: bytes, gives: Gives) -> tuple[Fault, ...]:
    """The faults of an expression, without a place; `schemas` is the canonical form of the facts' schemas.

    A contract is looked at when it is loaded and again when it is bound, and a host binds it for every run.
    """
    shown, nowhere = _shown(text), Place()
    shapes = {name: shape_of(schema) for name, schema in zip(names, json.loads(schemas), strict=True)}
    try:
        tree = parse_tree(_program(text, names).serialize())
    except _ERRORS as error:
        return (_fault(error, shown, names, nowhere),)
    faults = read_faults(tree, shapes, shown, nowhere)
    if any(fault.code == "unknown_field" for fault in faults):
        return tuple(faults)  # the engine would say the same again, in its own words
    try:
        kind = checking_environment(shapes).compile(text).return_type().name()
    except _ERRORS as error:
        return (*faults, _fault(error, shown, names, nowhere))
    if kind not in _TYPES[gives]:
        wanted = "true or false" if gives is Gives.CONDITION else "a number"
        faults.append(Fault("type_mismatch", f"`{shown}` gives {_kind(kind)}, not {wanted}", "compare it"))
    return tuple(faults)


def _shown(text: str) -> str:
    line = " ".join(_SURROGATE.sub("?", text).split())
    return line if len(line) <= 120 else line[:119] + "…"


def _kind(name: str) -> str:
    return "an object" if name.startswith("facts.") else name.lower()


def _fault(error: Exception, shown: str, names: tuple[str, ...], place: Place) -> Fault:
    words = _one_line(error)
    undeclared = _UNDECLARED.search(words)
    if undeclared:
        hint = f"there are: {', '.join(names)}"
        return Fault("unknown_name", f"`{shown}`: there is no `{undeclared[1]}` here", hint, place)
    overload = _OVERLOAD.search(words)
    if overload:
        kinds = re.sub(r"facts\.M\d+", "object", overload[2]).replace("wrapper", "nullable ").strip("()")
        operator = overload[1].strip("_@").replace("_", " ")
        hint = "compare values of one type; `int(x)`, `double(x)` and `string(x)` convert"
        if operator == "[ ]" or operator == "[]":
            operator, hint = "[…]", "read a field of an object as `.name`"
        return Fault("type_mismatch", f"`{shown}`: `{operator}` does not take the types {kinds}", hint, place)
    said = re.sub(r"facts\.M\d+", "object", words)
    return Fault("bad_predicate", f"`{shown}`: {said}", "see docs/contract.md for what CEL takes", place)


def _one_line(error: object) -> str:
    text = str(error)
    hit = _POSITION.search(text)
    words = hit[3] if hit else text
    words = words.removeprefix("INVALID_ARGUMENT: ").removesuffix("[INVALID_ARGUMENT]")
    return " ".join(_SURROGATE.sub("?", words).split())[:300]


def _check_bounds(data: Mapping[str, Json]) -> None:
    """Raise ValueError for facts that the evaluator could not bear."""
    members = chars = depth = 0
    level: list[Any] = list(data.values())
    while level:
        members += len(level)
        depth += 1
        if members > MAX_MEMBERS or depth > MAX_DEPTH:
            raise ValueError(f"the facts have more than {MAX_MEMBERS} members, or more than {MAX_DEPTH} levels")
        following: list[Any] = []
        for value in level:
            if isinstance(value, str):
                chars += len(value)
            elif isinstance(value, Mapping):
                following.extend(value.values())
            elif isinstance(value, list | tuple):
                following.extend(value)
        if chars > MAX_CHARS:
            raise ValueError(f"the texts in the facts have more than {MAX_CHARS} characters")
        level = following
