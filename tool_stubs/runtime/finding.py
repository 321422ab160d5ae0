"""Finding one's way in a large surface, from inside a snippet: search by words, and the full text of one tool."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tool_stubs.runtime.nearest import nearest

__all__ = ["Finder"]

MAX_SHOWN = 50
"""Tools that one search gives at most: more is no search."""

_WORD = re.compile(r"[a-z0-9]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Finder:
    """The two functions `search` and `describe` of the module `tools`, where the surface is large."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], source: str) -> None:
        self._rows = rows
        self._lines = source.splitlines()
        self._words: list[tuple[str, set[str], set[str], str]] | None = None

    def search(self, query: str, limit: int = 10) -> list[dict[str, str]]:
        """Tools for some words, best first: `name` as it is imported, `signature`, and `purpose` in one line.

        A word counts for the tools that have it, or its beginning, in their name or in their text.
        """
        wanted = _split(query)
        found = []
        for at, (name, own, told, first) in enumerate(self._index()):
            score = sum(_fit(word, own) * 3 + _fit(word, told) for word in wanted)
            if score:
                found.append((-score, at, {"name": name, "signature": self._head(at), "purpose": first}))
        return [each for _, _, each in sorted(found, key=lambda each: each[:2])[: max(0, min(limit, MAX_SHOWN))]]

    def describe(self, name: str) -> str:
        """The full text of a tool: signature, arguments, result, errors. Raises LookupError with the nearest."""
        for row in self._rows:
            if name in (row["py"], row["name"]):
                return self._text(row)
        near = nearest(name, [row["py"] for row in self._rows])
        raise LookupError(f"there is no tool {name!r} in this run" + (f" (did you mean {near!r}?)" if near else ""))

    def _index(self) -> list[tuple[str, set[str], set[str], str]]:
        if self._words is None:
            self._words = []
            for row in self._rows:
                text = self._doc(row)
                first = next((line.strip().strip('"') for line in text if line.strip().strip('"')), "")
                names = set(_split(row["py"])) | set(_split(row["name"]))
                self._words.append((row["py"], names, set(_split(" ".join(text))), first))
        return self._words

    def _doc(self, row: Mapping[str, Any]) -> list[str]:
        span = row.get("doc")
        return self._lines[span[0] - 1 : span[1]] if span else []

    def _head(self, at: int) -> str:
        row = self._rows[at]
        lines = self._text(row).splitlines()
        end = next((number for number, line in enumerate(lines) if line.rstrip().endswith(":")), 0)
        head = " ".join(line.strip() for line in lines[: end + 1])
        return head.removeprefix("def ").rstrip(":") or str(row["py"])

    def _text(self, row: Mapping[str, Any]) -> str:
        span = row.get("doc")
        if not span or not self._lines:
            return f"def {row['py']}(...):"
        start = span[0] - 1
        while start > 0 and not self._lines[start].startswith("def "):
            start -= 1
        return "\n".join(self._lines[start : span[1]])


def _split(text: str) -> list[str]:
    return _WORD.findall(_HUMP.sub(" ", text).replace("_", " ").lower())


def _fit(word: str, words: set[str]) -> int:
    """2 for the word itself, 1 where one begins with it, or it with one of at least four letters."""
    if word in words:
        return 2
    return int(
        any(len(word) > 2 and (each.startswith(word) or (len(each) > 3 and word.startswith(each))) for each in words)
    )
