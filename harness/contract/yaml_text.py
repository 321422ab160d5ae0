"""YAML to values with lines: the 1.2 core meanings over PyYAML's events, and nothing that hides what a document says.

`on` and `yes` are text, `1:30` and dates are text, `1e5` is a number, `50_000` is one too. Duplicate keys, anchors,
tags and further documents are refused.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from harness.contract.document import MAX_DEPTH, MAX_NODES, Document, Places, Step, key_text
from harness.contract.faults import refusal
from harness.core.errors import Fault, Place

__all__ = ["parse_yaml"]

MAX_INT_DIGITS = 100
"""Digits of a whole number; no amount has as many."""

_NULL = re.compile(r"null|Null|NULL|~|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+(_[0-9]+)*")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(_[0-9]+)*(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"[-+]?(\.inf|\.Inf|\.INF)")
_NAN = re.compile(r"\.nan|\.NaN|\.NAN")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_yaml(text: str, file: str) -> Document:
    """The one document of a YAML text. Raises ContractRefused with every fault that is no syntax error."""
    reader = _Reader(file)
    try:
        values = reader.read(yaml.parse(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 0
        said = " ".join((error.problem or error.context or "it is no YAML").split())
        hint = "check indentation, quotes and brackets on this line and the one before"
        raise refusal([Fault("bad_yaml", said[:200], hint, Place(file, line))]) from None
    except _Stop as error:
        hint = "write the keys that it needs" if error.is_empty else "leave out what is not needed"
        raise refusal([Fault("bad_yaml", str(error), hint, Place(file))]) from None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise refusal([Fault("bad_yaml", f"the text is no YAML: {said}", "save it as UTF-8", Place(file))]) from None
    if reader.faults:
        raise refusal(reader.faults)
    return Document(values, Places(file, reader.lines))


class _Stop(ValueError):
    """The document is refused as a whole."""

    def __init__(self, message: str, *, is_empty: bool = False) -> None:
        super().__init__(message)
        self.is_empty = is_empty


class _Reader:
    """Builds values from events; faults that leave the rest readable are collected."""

    def __init__(self, file: str) -> None:
        self.faults: list[Fault] = []
        self.lines: dict[str, int] = {}
        self._file = file
        self._nodes = 0

    def read(self, events: Iterator[Any]) -> Any:
        for kind in (yaml.StreamStartEvent, yaml.DocumentStartEvent):
            event = next(events)
            if not isinstance(event, kind):
                raise _Stop("the file is empty", is_empty=True)
        values = self._value(next(events), events, ())
        next(events)
        if not isinstance(event := next(events), yaml.StreamEndEvent):
            self._fault("several_documents", "a second document begins", "keep one document in a file", event, ())
        return values

    def _fault(self, code: str, message: str, hint: str, event: Any, path: tuple[Step, ...]) -> None:
        place = Place(self._file, event.start_mark.line + 1, event.start_mark.column + 1, key_text(path))
        self.faults.append(Fault(code, message, hint, place))

    def _value(self, event: Any, events: Iterator[Any], path: tuple[Step, ...]) -> Any:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise _Stop(f"the document has more than {MAX_NODES} values")
        if len(path) > MAX_DEPTH:
            raise _Stop(f"line {event.start_mark.line + 1} is nested deeper than {MAX_DEPTH} levels")
        self.lines.setdefault(key_text(path), event.start_mark.line + 1)
        if getattr(event, "anchor", None) is not None:
            hint = "write the value out where it is used"
            self._fault("yaml_anchor", "anchors and aliases are not taken", hint, event, path)
        if isinstance(event, yaml.AliasEvent):
            return None
        if event.tag is not None:
            self._fault("yaml_tag", f"the tag `{event.tag[:60]}` is not taken", "leave it out", event, path)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, path)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(events, path)
        return self._mapping(events, path)

    def _sequence(self, events: Iterator[Any], path: tuple[Step, ...]) -> list[Any]:
        values: list[Any] = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            values.append(self._value(event, events, (*path, len(values))))
        return values

    def _mapping(self, events: Iterator[Any], path: tuple[Step, ...]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            key = self._key(event, events, path)
            below = (*path, key)
            line = event.start_mark.line + 1
            if key in values:
                first = self.lines.get(key_text(below), 0)
                self._fault(
                    "duplicate_key", f"the key `{key[:80]}` stands twice", f"the first is on line {first}", event, below
                )
            else:
                self.lines[key_text(below)] = line
            value = self._value(next(events), events, below)
            values.setdefault(key, value)
        return values

    def _key(self, event: Any, events: Iterator[Any], path: tuple[Step, ...]) -> str:
        self._nodes += 1
        if isinstance(event, yaml.ScalarEvent):
            if event.anchor is not None or event.tag is not None:
                self._fault("yaml_anchor", "a key takes no anchor and no tag", "leave it out", event, path)
            if event.value == "<<" and event.implicit[0]:
                self._fault("yaml_anchor", "merge keys are not taken", "write the values out", event, path)
            return str(event.value)
        self._value(event, events, (*path, "?"))
        self._fault("bad_key", "a key is not plain text", "write the key as text", event, path)
        return "?"

    def _scalar(self, event: Any, path: tuple[Step, ...]) -> Any:
        text = event.value
        if not event.implicit[0]:
            return str(text)
        if len(text) > MAX_INT_DIGITS and _INT.fullmatch(text):
            self._fault("bad_amount", f"a number of {len(text)} digits", "write the number that you mean", event, path)
            return 0
        return _plain(text)


def _plain(text: str) -> Any:
    """The value of a scalar without quotes, by the 1.2 core schema; `_` between digits is taken too."""
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text) or _FALSE.fullmatch(text):
        return text[0] in "tT"
    if _INT.fullmatch(text):
        return int(text.replace("_", ""))
    if _OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if _HEX.fullmatch(text):
        return int(text[2:], 16)
    if _FLOAT.fullmatch(text) and text != ".":
        return float(text.replace("_", ""))
    if _INFINITE.fullmatch(text):
        return float(text.replace(".", "").lower())
    if _NAN.fullmatch(text):
        return float("nan")
    return text
