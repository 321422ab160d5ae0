"""What can still be said of a contract whose shape is wrong: the sound part of it, so that one fault hides no other.

Unknown keys are left out, values that do not fit are left out or their section is stood in for. What is found in the
rest is told only where it does not hang on a part that was stood in for.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from harness.contract.model import Contract
from harness.core.errors import Fault

__all__ = ["Salvaged", "salvage"]

ROUNDS = 4
"""Leaving something out can show the next fault; more rounds than levels of sections are not needed."""

_STAND_INS: Mapping[str, Any] = {
    "contract": "unnamed",
    "version": 1,
    "output": {"schema": {}},
    "budget": {"tokens": 0, "cost_usd": 0, "wall_seconds": 0, "retries": 0, "iterations": 1},
    "permissions": {},
    "completion": {"success": "true"},
    "destination": [{"to": "file:unknown"}],
}
"""For what every contract must have. The rest is left out."""
_HANGS_ON = {
    "permissions": re.compile(r"guard|permissions"),
    "checks": re.compile(r"check"),
    "inputs": re.compile(r"\binputs?\b"),
    "params": re.compile(r"\bparams?\b"),
}
"""Faults elsewhere that a missing section would make: by their words."""


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The sound part."""

    contract: Contract
    left_out: frozenset[str]
    """Top-level keys that were stood in for, or left out."""

    def tells(self, fault: Fault) -> bool:
        """Whether a fault of the sound part is one of the whole."""
        section = re.split(r"[.\[]", fault.place.key, maxsplit=1)[0]
        if section in self.left_out:
            return False
        return not any(words.search(fault.message) for name, words in _HANGS_ON.items() if name in self.left_out)


def salvage(values: Mapping[str, Any], error: ValidationError) -> Salvaged | None:
    """The sound part of a document that is no contract for the reasons of `error`; None where there is too little."""
    document = _copied(dict(values))
    left_out: set[str] = set()
    for number in range(ROUNDS):
        for each in error.errors(include_url=False, include_context=False, include_input=False):
            path = tuple(step for step in each["loc"] if step != "[key]")
            leaf_first = number == 0 and each["type"] != "missing" and len(path) > 1
            if each["type"] == "missing" and _put_in(document, path):
                continue
            if not path or not (each["type"] == "extra_forbidden" or leaf_first) or not _take_out(document, path):
                section = str(path[0]) if path else ""
                left_out.add(section)
                document.pop(section, None)
                if section in _STAND_INS:
                    document[section] = _STAND_INS[section]
        try:
            return Salvaged(Contract.model_validate(document), frozenset(left_out))
        except ValidationError as next_error:
            error = next_error
    return None


def _take_out(document: dict[str, Any], path: Sequence[str | int]) -> bool:
    """Leave one key of a mapping out; False where there is none: taking an item out would move the others."""
    held: Any = document
    for step in path[:-1]:
        try:
            held = held[step]
        except (KeyError, IndexError, TypeError):
            return False
    if isinstance(held, dict) and path[-1] in held:
        del held[path[-1]]
        return True
    return False


def _put_in(document: dict[str, Any], path: Sequence[str | int]) -> bool:
    """Let one key of a section be stood in for, so that the others can still be looked at."""
    held = document.get(str(path[0])) if len(path) == 2 else None
    stand_in = _STAND_INS.get(str(path[0])) if path else None
    if isinstance(held, dict) and isinstance(stand_in, dict) and path[-1] in stand_in:
        held[path[-1]] = stand_in[path[-1]]
        return True
    return False


def _copied(value: Any) -> Any:
    """Containers anew, so that nothing is taken out of the caller's own."""
    if isinstance(value, Mapping):
        return {name: _copied(each) for name, each in value.items()}
    return [_copied(each) for each in value] if isinstance(value, list | tuple) else value
