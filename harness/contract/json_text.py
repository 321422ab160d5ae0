"""JSON to values with lines: strict, with duplicate keys refused. NaN and infinities are no JSON."""

import re
from json import JSONDecoder
from typing import Any

from harness.contract.document import MAX_DEPTH, MAX_NODES, Document, Places, Step, key_text
from harness.contract.faults import refusal
from harness.core.errors import Fault, Place

__all__ = ["parse_json"]

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_STRINGS = JSONDecoder()
"""Only asked where a text begins."""
_WORDS = {"true": True, "false": False, "null": None}
MAX_NUMBER = 100
"""Characters of a number; no amount has as many."""


def parse_json(text: str, file: str) -> Document:
    """The one value of a JSON text. Raises ContractRefused."""
    reader = _Reader(text, file)
    try:
        values = reader.document()
    except ValueError as error:
        fault = Fault("bad_json", str(error), "check commas, quotes and brackets", reader.place())
        raise refusal([*reader.faults, fault]) from None
    if reader.faults:
        raise refusal(reader.faults)
    return Document(values, Places(file, reader.lines))


class _Reader:
    """A recursive reader; depth is counted, so the recursion is bounded."""

    def __init__(self, text: str, file: str) -> None:
        self.faults: list[Fault] = []
        self.lines: dict[str, int] = {}
        self._text = text
        self._file = file
        self._at = 0
        self._nodes = 0
        self._counted = (0, 1)

    def place(self, key: str = "") -> Place:
        """Where the reader stands. Counts lines from where it last looked."""
        since, line = self._counted
        line += self._text.count("\n", since, self._at)
        self._counted = (max(self._at, since), line)
        return Place(self._file, line, self._at - self._text.rfind("\n", 0, self._at), key)

    def document(self) -> Any:
        value = self._value(())
        self._skip()
        if self._at < len(self._text):
            raise ValueError("something follows the value")
        return value

    def _skip(self) -> str:
        """The next character that is no space; empty at the end."""
        hit = _SPACE.match(self._text, self._at)
        self._at = hit.end() if hit else self._at
        return self._text[self._at : self._at + 1]

    def _take(self, wanted: str) -> None:
        if self._skip() != wanted:
            raise ValueError(f"`{wanted}` is missing")
        self._at += 1

    def _value(self, path: tuple[Step, ...]) -> Any:
        self._nodes += 1
        if self._nodes > MAX_NODES or len(path) > MAX_DEPTH:
            raise ValueError(f"the document has more than {MAX_NODES} values, or more than {MAX_DEPTH} levels")
        mark = self._skip()
        self.lines.setdefault(key_text(path), self.place().line)
        if mark == "{":
            return self._object(path)
        if mark == "[":
            return self._array(path)
        if mark == '"':
            return self._string()
        return self._literal()

    def _string(self) -> str:
        value, self._at = _STRINGS.raw_decode(self._text, self._at)
        return str(value)

    def _literal(self) -> Any:
        for word, value in _WORDS.items():
            if self._text.startswith(word, self._at):
                self._at += len(word)
                return value
        hit = _NUMBER.match(self._text, self._at)
        if hit is None or len(hit[0]) > MAX_NUMBER:
            raise ValueError("a value is missing, or is no JSON")
        self._at = hit.end()
        return float(hit[0]) if hit[2] or hit[3] else int(hit[0])

    def _array(self, path: tuple[Step, ...]) -> list[Any]:
        self._take("[")
        values: list[Any] = []
        if self._skip() == "]":
            self._at += 1
            return values
        while True:
            values.append(self._value((*path, len(values))))
            if self._skip() != ",":
                self._take("]")
                return values
            self._at += 1

    def _object(self, path: tuple[Step, ...]) -> dict[str, Any]:
        self._take("{")
        values: dict[str, Any] = {}
        if self._skip() == "}":
            self._at += 1
            return values
        while True:
            if self._skip() != '"':
                raise ValueError("a key in quotes is missing")
            place = self.place()
            key = self._string()
            below = key_text((*path, key))
            if key in values:
                hint = f"the first is on line {self.lines.get(below, 0)}"
                where = Place(self._file, place.line, place.column, below)
                self.faults.append(Fault("duplicate_key", f"the key `{key[:80]}` stands twice", hint, where))
            else:
                self.lines[below] = place.line
            self._take(":")
            value = self._value((*path, key))
            values.setdefault(key, value)
            if self._skip() != ",":
                self._take("}")
                return values
            self._at += 1
