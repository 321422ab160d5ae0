"""Pins: the admitted definitions of a source, whole, in a file beside the overlay. What differs from them is refused.

They make a host start without its sources, and let `admit` show what changed.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.contract.load import read_document
from harness.core.call import Effect
from harness.core.canonical import digest
from harness.core.errors import ContractRefused, Fault, HostileInput, Place
from harness.toolsets.definition import Definition, Hints

__all__ = ["differences", "pins_path", "read_pins", "write_pins"]

FORMAT = 1


def pins_path(overlay: Path) -> Path:
    """The file of pins of an overlay: `git.tools.yaml` → `git.tools.lock.json`."""
    return overlay.with_name(f"{overlay.name.removesuffix('.yaml').removesuffix('.yml')}.lock.json")


def read_pins(path: Path) -> dict[str, Definition] | None:
    """The admitted definitions by name; None where nothing was admitted yet. Raises ContractRefused."""
    if not path.exists():
        return None
    values = read_document(path).values
    try:
        if values["format"] != FORMAT:
            raise _bad(path, f"the format is `{values['format']}`, not {FORMAT}")
        return {name: _definition(name, each, path) for name, each in values["tools"].items()}
    except (KeyError, TypeError, AttributeError, ValueError, HostileInput) as error:
        raise _bad(path, "it is no file of pins") from error


def write_pins(path: Path, definitions: Mapping[str, Definition]) -> None:
    """Admit these definitions, and no others."""
    document = {
        "format": FORMAT,
        "tools": {
            name: {
                "pin": each.digest,
                "description": each.description,
                "input": each.input_schema,
                "output": each.output_schema,
                "hints": {
                    "effect": each.hints.effect.value if each.hints.effect else None,
                    "repeatable": each.hints.repeatable,
                    "words": each.hints.words,
                },
                "raw": dict(each.raw),
            }
            for name, each in sorted(definitions.items())
        },
    }
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", "utf-8")
    os.replace(temporary, path)


def differences(before: Mapping[str, Definition] | None, after: Mapping[str, Definition]) -> list[str]:
    """What changed, one line each, for people; empty where nothing did."""
    old = before or {}
    lines = [f"- {name}: gone" for name in sorted(old.keys() - after.keys())]
    lines += [f"+ {name}: new" for name in sorted(after.keys() - old.keys())]
    for name in sorted(old.keys() & after.keys()):
        if old[name].digest != after[name].digest:
            lines += [f"~ {name}: {line}" for line in _changes("", dict(old[name].raw), dict(after[name].raw))]
    return lines


def _changes(path: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            where = f"{path}.{key}" if path else str(key)
            if key not in old:
                yield f"{where}: added {_shown(new[key])}"
            elif key not in new:
                yield f"{where}: removed, was {_shown(old[key])}"
            else:
                yield from _changes(where, old[key], new[key])
    elif old != new or type(old) is not type(new):
        yield f"{path}: {_shown(old)} → {_shown(new)}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return f"`{text if len(text) <= 200 else text[:199] + '…'}`"


def _definition(name: str, each: Any, path: Path) -> Definition:
    hints = each["hints"]
    effect = Effect(hints["effect"]) if hints["effect"] else None
    made = Definition(
        name,
        each["description"],
        each["input"],
        each["output"],
        each["raw"],
        Hints(effect, bool(hints["repeatable"]), str(hints["words"])),
    )
    if made.digest != each["pin"]:
        raise _bad(path, f"the definition of `{name}` is not the one that its pin names ({digest(each['raw'])[:12]})")
    return made


def _bad(path: Path, why: str) -> ContractRefused:
    hint = "look at the file's history; `harness tools admit` writes it anew"
    return ContractRefused([Fault("bad_pins", f"`{path.name}` cannot be used: {why}", hint, Place(str(path)))])
