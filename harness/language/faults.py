"""Collects what is wrong with a snippet, each fault at its place in the text."""

import ast
from collections.abc import Iterable

from harness.core.errors import Fault, Place

__all__ = ["MAX_FAULTS", "Faults"]

MAX_FAULTS = 50
"""More than these help nobody; the rest is counted."""


class Faults:
    """The faults of one snippet."""

    def __init__(self, source: str) -> None:
        self._lines = source.split("\n")
        self._found: dict[tuple[int, int, str, str], Fault] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, node: ast.AST, code: str, message: str, hint: str) -> None:
        """Record a fault at a node."""
        line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        self.at(line, self._column(line, offset), code, message, hint)

    def at(self, line: int, column: int, code: str, message: str, hint: str) -> None:
        """Record a fault at a place, both 1-based."""
        place = Place(line=line, column=column)
        self._found.setdefault((line, column, code, message), Fault(code, message, hint, place))

    def listed(self) -> list[Fault]:
        """In the order of the text; where there are very many, the first ones and a word on the rest."""
        faults: Iterable[Fault] = self._found.values()
        ordered = sorted(faults, key=lambda fault: (fault.place.line, fault.place.column, fault.code))
        if len(ordered) <= MAX_FAULTS:
            return ordered
        left = len(ordered) - MAX_FAULTS
        return [*ordered[:MAX_FAULTS], Fault("more", f"{left} further faults are not shown", "mend these first")]

    def _column(self, line: int, offset: int) -> int:
        """The 1-based character of a byte offset."""
        text = self._lines[line - 1] if 0 < line <= len(self._lines) else ""
        return len(text.encode("utf-8")[:offset].decode("utf-8", "ignore")) + 1
