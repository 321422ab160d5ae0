"""The outside world of the crash tests: effects counted in a file, the tools that cause them, every case."""

import os
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.contract.tool import ErrorRule
from harness.executor.current import call_key
from harness.executor.reconcile import DidNotHappen, Happened
from harness.registry.decorator import key, tool

SHAPES = ("one", "gather", "threads")
KINDS = ("none", "natural", "derived", "key", "looked")
"""Idempotency; `looked` has none, and a look-up."""
EFFECTS = ("write", "destructive")
APPROVALS = ("none", "before_execute", "always")
NUMBERS = (1, 2)
"""The effects of a run."""


class Busy(Exception):
    """An error after which the tool honours its key: it may be asked again."""


AGAIN = {Busy: ErrorRule(no_effect=False, retry=True, hint="")}


@dataclass(frozen=True)
class Case:
    """One way of having effects."""

    shape: str
    kind: str
    effect: str
    approval: str

    @property
    def tool(self) -> str:
        return f"{self.effect}_{self.kind}"

    def __str__(self) -> str:
        return f"{self.shape}-{self.kind}-{self.effect}-{self.approval}"


CASES = [Case(s, k, e, a) for s in SHAPES for k in KINDS for e in EFFECTS for a in APPROVALS]


class World:
    """What is outside of the harness. One folder; every act is one line, written before the act is said to be done."""

    folder = Path()

    @classmethod
    def act(cls, number: int, key_: str = "") -> int:
        """Do it, unless the key says that it was done."""
        if key_ and key_ in [line.split()[1] for line in cls.lines("acts") if " " in line]:
            return number
        cls._line("acts", f"{number} {key_}".strip())
        return number

    @classmethod
    def acted(cls) -> list[int]:
        """Every act, in order."""
        return [int(line.split()[0]) for line in cls.lines("acts")]

    @classmethod
    def lines(cls, name: str) -> list[str]:
        path = cls.folder / name
        return path.read_text().splitlines() if path.exists() else []

    @classmethod
    def _line(cls, name: str, text: str) -> None:
        descriptor = os.open(cls.folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(descriptor, f"{text}\n".encode())
        os.close(descriptor)


def act_none(number: int) -> int:
    """Act without any key."""
    return World.act(number)


def act_derived(number: int) -> int:
    """Act under the key that the harness names."""
    return World.act(number, call_key())


def act_key(number: int, operation: str) -> int:
    """Act under the caller's key."""
    return World.act(number, operation)


def found(number: int) -> object:
    """Whether it was done."""
    return Happened(number) if number in World.acted() else DidNotHappen()


@tool(effect="read")
def look() -> int:
    """A read before the effects."""
    return len(World.folder.name)


def tools() -> list[Any]:
    """Every tool of the cases."""
    made: list[Any] = [look]
    for effect in EFFECTS:
        settings: dict[str, dict[str, Any]] = {
            "none": {},
            "natural": {"idempotency": "natural"},
            "derived": {"idempotency": "derived", "errors": AGAIN},
            "key": {"idempotency": key("operation"), "errors": AGAIN},
            "looked": {"reconcile": found},
        }
        functions = {"derived": act_derived, "key": act_key}
        for kind, more in settings.items():
            function = functions.get(kind, act_none)
            made.append(
                tool(effect=effect, name=f"{effect}_{kind}", preview="act {number}", timeout_s=5, **more)(
                    _copy(function)
                )
            )
    return made


def _copy(function: Any) -> Any:
    """A function of its own for each tool: the metadata is kept on it."""
    made = types.FunctionType(function.__code__, function.__globals__, function.__name__)
    made.__annotations__, made.__doc__ = dict(function.__annotations__), function.__doc__
    return made
