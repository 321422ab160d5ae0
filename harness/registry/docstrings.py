"""Docstrings taken apart: the text, arguments, result; in the styles of Google, NumPy and Sphinx."""

import inspect
import re
from dataclasses import dataclass, field

__all__ = ["Told", "parse"]

_GOOGLE = re.compile(r"(Args|Arguments|Parameters|Params|Returns?|Yields|Raises|Examples?|Notes?):\s*")
_NUMPY = re.compile(r"(Parameters|Returns|Yields|Raises|Examples?|Notes?)\s*")
_SPHINX = re.compile(r":(?:param|parameter|arg)\s+(?:[^:]*\s)?\*{0,2}(\w+):\s*(.*)")
_SPHINX_RETURN = re.compile(r":returns?:\s*(.*)")
_SPHINX_OTHER = re.compile(r":(?:type|rtype|raises?)\b.*")
_ARGUMENT = re.compile(r"\*{0,2}([\w-]+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_KINDS = {"Arguments": "Args", "Parameters": "Args", "Params": "Args", "Return": "Returns", "Yields": "Returns"}


@dataclass(slots=True)
class Told:
    """What a docstring says."""

    text: str = ""
    """Without the sections on arguments, result and errors."""
    arguments: dict[str, str] = field(default_factory=dict)
    result: str = ""


def parse(docstring: str | None) -> Told:
    """Take a docstring apart; what it does not understand stays in the text."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    kept: list[str] = []
    sections: dict[str, list[str]] = {}
    current: list[str] | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        title = _title(lines, at)
        if title:
            underlined = not line.rstrip().endswith(":")
            kind = _KINDS.get(title, title)
            current = None if kind not in ("Args", "Returns", "Raises") else sections.setdefault(kind, [])
            if current is None:
                kept.append(line)
            at += 2 if underlined else 1
            continue
        if current is not None and line and not line[0].isspace() and not _in_numpy(sections, current, lines, at):
            current = None
        (kept if current is None else current).append(line)
        at += 1
    told = Told(arguments=_arguments(sections.get("Args", [])), result=_joined(sections.get("Returns", [])))
    _sphinx(kept, told)
    return told


def _title(lines: list[str], at: int) -> str:
    """The name of the section that begins at a line."""
    line = lines[at]
    if line[:1].isspace():
        return ""
    found = _GOOGLE.fullmatch(line)
    if found:
        return found[1]
    found = _NUMPY.fullmatch(line)
    underline = lines[at + 1].strip() if at + 1 < len(lines) else ""
    return found[1] if found and len(underline) >= 3 and set(underline) == {"-"} else ""


def _in_numpy(sections: dict[str, list[str]], current: list[str], lines: list[str], at: int) -> bool:
    """NumPy's sections are not indented: they last until the next title."""
    return any(set(each.strip()) == {"-"} and len(each.strip()) >= 3 for each in lines[:at]) and any(
        current is section for section in sections.values()
    )


def _arguments(lines: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    name = ""
    depth = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    for line in lines:
        indent = len(line) - len(line.lstrip())
        match = _ARGUMENT.fullmatch(line.strip()) if indent == depth else None
        if match:
            name = match[1]
            found[name] = [match[2]] if depth or not _is_type(match[2]) else []
        elif name and line.strip():
            found[name].append(line.strip())
    return {name: " ".join(parts).strip() for name, parts in found.items() if any(parts)}


def _is_type(text: str) -> bool:
    """Whether what follows `name :` in NumPy's style is a type and not a description."""
    return len(text.split()) <= 3 and not text.endswith(".")


def _joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())


def _sphinx(lines: list[str], told: Told) -> None:
    kept: list[str] = []
    for line in lines:
        if found := _SPHINX.fullmatch(line.strip()):
            told.arguments.setdefault(found[1], found[2])
        elif found := _SPHINX_RETURN.fullmatch(line.strip()):
            told.result = told.result or found[1]
        elif not _SPHINX_OTHER.fullmatch(line.strip()):
            kept.append(line)
    told.text = "\n".join(kept).strip()
