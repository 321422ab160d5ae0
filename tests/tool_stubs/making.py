"""Surfaces that the tests of the stubs use, and a box's end of them that needs no socket."""

import json
from collections.abc import Callable
from typing import Any

from tool_stubs.generate import generate
from tool_stubs.runtime.stub import build

__all__ = ["Box", "item", "record_tool"]


def item(name: str = "tool", /, **changes: Any) -> dict[str, Any]:
    """One item of a surface; what is not given is the strict value."""
    base: dict[str, Any] = {
        "name": name,
        "description": "",
        "parameters": {"type": "object", "properties": {}},
        "result": None,
        "effect": "write",
        "approval": "none",
        "errors": {},
        "calls": None,
    }
    return {**base, **changes}


def record_tool(**changes: Any) -> dict[str, Any]:
    """`read_record(record_id, limit=10, *, deep=…)`."""
    schema = {
        "type": "object",
        "properties": {
            "record_id": {"type": "integer"},
            "limit": {"type": "integer", "default": 10},
            "deep": {"type": "boolean"},
        },
        "required": ["record_id"],
        "additionalProperties": False,
        "x-keyword-only": ["deep"],
        "x-python": "function",
    }
    return item("read_record", parameters=schema, effect="read", **changes)


class Box:
    """A tools module whose calls are kept, and answered by a function of the arguments."""

    def __init__(self, *items: dict[str, Any], answer: Callable[[dict[str, Any]], Any] = lambda _: None) -> None:
        self.stubs = generate(items)
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._answer = answer
        self.module = build(json.loads(json.dumps(self.stubs.table)), self._call, source=self.stubs.source)

    def _call(self, tool: str, arguments: dict[str, Any], decode: Callable[[Any], Any]) -> Any:
        travelled = json.loads(json.dumps(arguments, allow_nan=False))
        self.calls.append((tool, travelled))
        return decode(json.loads(json.dumps(self._answer(travelled))))

    def __getattr__(self, name: str) -> Any:
        return self.module[name] if name in self.module else self.module["__getattr__"](name)
