"""Text from tool authors made safe to stand in Python source: one line or a docstring, never code."""

import textwrap
from typing import Any

__all__ = ["MAX_DESCRIPTION", "docstring_lines", "literal", "one_line", "paragraph"]

MAX_DESCRIPTION = 4_000
"""Characters of one description; longer ones are cut, and say so."""
WIDTH = 100


def one_line(text: str, limit: int = 400) -> str:
    """`text` on one line: white space folded, characters that do not print escaped (bidirectional ones too), cut."""
    folded = " ".join(text.split())
    cut = folded if len(folded) <= limit else folded[: limit - 1] + "…"
    return "".join(char if char.isprintable() else _escape(char) for char in cut)


def paragraph(text: str) -> list[str]:
    """The lines of a description, each safe as `one_line` makes them, blank ones at most one in a row."""
    cut = text if len(text) <= MAX_DESCRIPTION else text[: MAX_DESCRIPTION - 1] + "…"
    lines: list[str] = []
    for line in textwrap.dedent(cut.replace("\r\n", "\n").replace("\r", "\n")).strip("\n").split("\n"):
        indent = line[: len(line) - len(line.lstrip(" "))][:16]
        safe = "".join(char if char.isprintable() else _escape(char) for char in line.strip().replace("\t", " "))
        if safe or (lines and lines[-1]):
            lines += textwrap.wrap(safe, WIDTH, initial_indent=indent, subsequent_indent=indent) or [""]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def docstring_lines(lines: list[str], indent: str) -> list[str]:
    """A docstring of these lines, quotes and backslashes disarmed."""
    safe = [line.replace("\\", "\\\\").replace('"""', '\\"\\"\\"') for line in lines] or [""]
    if safe[-1].endswith('"'):
        safe[-1] = safe[-1][:-1] + '\\"'
    if len(safe) == 1:
        return [f'{indent}"""{safe[0]}"""']
    return [f'{indent}"""{safe[0]}', *(f"{indent}{line}".rstrip() for line in safe[1:]), f'{indent}"""']


def literal(value: Any) -> str:
    """A JSON value as Python writes it, all ASCII where it does not print."""
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{literal(name)}: {literal(item)}' for name, item in value.items())}}}"
    return repr(value)


def _escape(char: str) -> str:
    code = ord(char)
    return f"<U+{code:04X}>"
