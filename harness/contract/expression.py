"""Predicates in CEL: typed when a contract is loaded, bounded when they are evaluated, never true by accident.

The checker's environment is built from JSON Schemas (see `typing_env`); evaluation takes plain JSON.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cel_expr_python import cel

from harness.contract.typing_env import TypeEnv
from harness.core.call import Json
from harness.core.errors import ContractRefused, Fault, Place

__all__ = ["Judged", "Predicate", "compile_predicate", "predicate_faults"]

MAX_TEXT = 4_000
"""Characters of an expression: forty lines, more than a person reads."""
MAX_DEPTH = 100
"""Levels of a fact: values nested in the thousands end the evaluator's process."""
MAX_MEMBERS = 200_000
"""Members of all facts together: some 20 MB; the evaluator copies them."""

_POSITION = re.compile(r"<input>:(\d+):(\d+): (.*)")
_UNDEFINED = re.compile(r"undefined field '([^']*)'")


@dataclass(frozen=True, slots=True)
class Judged:
    """What an expression came to."""

    value: bool
    """True only where it evaluated to the boolean true."""
    error: str = ""
    """Why it could not be evaluated; empty where it was."""


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
            data = {name: facts[name] for name in self._names if name in facts}
            _bounded(data)
            value = self._program.eval(data=data)
            if value.type() == cel.Type.BOOL:
                return Judged(value.value() is True)
            if value.type() == cel.Type.ERROR:
                return Judged(False, _one_line(value.value()))
            return Judged(False, f"it gives a {value.type().name().lower()}, not true or false")
        except (RuntimeError, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            return Judged(False, _one_line(error))


def compile_predicate(text: str, env: Mapping[str, Any]) -> Predicate:
    """Compile `text` against `env`: name → JSON Schema of the fact (None: untyped).

    Raises ContractRefused with every fault.
    """
    faults = predicate_faults(text, env, Place())
    if faults:
        raise ContractRefused(faults)
    names = tuple(env)
    dynamic = cel.NewEnv(variables=dict.fromkeys(names, cel.Type.DYN))
    return Predicate(text, names, dynamic.compile(text))


def predicate_faults(text: str, env: Mapping[str, Any], place: Place) -> list[Fault]:
    """What is wrong with an expression, types included; empty where it compiles to true or false."""
    if len(text) > MAX_TEXT:
        return [Fault("bad_predicate", f"the expression has {len(text)} characters, {MAX_TEXT} are allowed", "", place)]
    if not text.strip():
        return [Fault("bad_predicate", "the expression is empty", "write a condition in CEL", place)]
    types = TypeEnv(env)
    try:
        compiled = types.full().compile(text)
    except (RuntimeError, ValueError, TypeError) as error:
        return [_fault(error, text, types, place)]
    kind = compiled.return_type().name()
    if kind not in ("BOOL", "DYN"):
        return [Fault("bad_predicate", f"`{text}` gives {kind.lower()}, not true or false", "compare it", place)]
    try:
        types.required(text).compile(text)
    except (RuntimeError, ValueError, TypeError) as error:
        return [_unguarded(error, text, place)]
    return []


def _fault(error: Exception, text: str, types: TypeEnv, place: Place) -> Fault:
    words = _one_line(error)
    missing = _UNDEFINED.search(words)
    if missing:
        near = types.nearest(missing.group(1))
        hint = f"did you mean `{near}`?" if near else "name a field of the schema"
        return Fault("unknown_field", f"`{text}`: there is no field `{missing.group(1)}`", hint, place)
    undeclared = re.search(r"undeclared reference to '([^']*)'", words)
    if undeclared:
        hint = f"there are: {', '.join(types.names)}"
        return Fault("unknown_name", f"`{text}`: there is no `{undeclared.group(1)}` here", hint, place)
    if "no matching overload" in words:
        kinds = words.rpartition("applied to ")[2].strip("'")
        hint = "compare values of one type; `int(x)`, `double(x)` and `string(x)` convert"
        return Fault("type_mismatch", f"`{text}`: the types {kinds} do not go together", hint, place)
    return Fault("bad_predicate", f"`{text}`: {words}", "see the contract reference for CEL", place)


def _unguarded(error: Exception, text: str, place: Place) -> Fault:
    missing = _UNDEFINED.search(str(error))
    name = missing.group(1) if missing else "a field"
    return Fault(
        "unguarded_optional",
        f"`{text}`: the field `{name}` is not required and may be missing",
        f"write `has(….{name}) && …`, or make it required in the schema",
        place,
    )


def _one_line(error: object) -> str:
    hit = _POSITION.search(str(error))
    text = hit.group(3) if hit else str(error)
    return " ".join(text.split())[:300]


def _bounded(data: Mapping[str, Json]) -> None:
    """Raise ValueError for facts that the evaluator could not bear."""
    members = 0
    level: list[Any] = list(data.values())
    for depth in range(MAX_DEPTH + 1):
        members += len(level)
        if members > MAX_MEMBERS:
            raise ValueError(f"the facts have more than {MAX_MEMBERS} members")
        following: list[Any] = []
        for value in level:
            if isinstance(value, Mapping):
                following.extend(value.values())
            elif isinstance(value, list | tuple):
                following.extend(value)
        if not following:
            return
        level = following
    raise ValueError(f"the facts are nested deeper than {depth} levels")
