"""The text of a snippet, made ready: byte order mark, line ends, fences, size. Lines keep their numbers."""

import re

from harness.core.errors import Fault, Place

__all__ = ["EMPTY", "MAX_SOURCE_BYTES", "normalise"]

MAX_SOURCE_BYTES = 128 << 10
"""Thirty times a long snippet (105 lines, 4 KB), checked in a tenth of a second, and in two where every line is a tiny
statement; more than that is data, not code."""

EMPTY = Fault("empty", "the snippet is empty", "write Python that ends with `return value`", Place(line=1))
"""No statement in it."""

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*[A-Za-z0-9_+.-]*[ \t]*")


def normalise(source: str) -> tuple[str, list[Fault]]:
    """The text as it is compiled, and what is wrong with it.

    A byte order mark goes, CRLF and CR become LF. One pair of Markdown fences around the whole snippet becomes two
    empty lines; fences anywhere else stay, and are named where they do not compile.
    """
    if len(source) > MAX_SOURCE_BYTES or len(source.encode("utf-8", "surrogatepass")) > MAX_SOURCE_BYTES:
        size = len(source.encode("utf-8", "surrogatepass"))
        message = f"the snippet has {size} bytes; at most {MAX_SOURCE_BYTES} are taken"
        return "", [Fault("too_large", message, "pass data through `inputs`, or read it with a tool", Place(line=1))]
    text = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    fault = _unreadable(text)
    if fault:
        return text, [fault]
    text = _unfenced(text)
    if not text.strip():
        return text, [EMPTY]
    return text, []


def _unreadable(text: str) -> Fault | None:
    for line, content in enumerate(text.split("\n"), 1):
        for column, character in enumerate(content, 1) if not content.isascii() or "\0" in content else ():
            if character == "\0" or "\ud800" <= character <= "\udfff":
                what = "a null byte" if character == "\0" else "a lone surrogate, which is no character"
                return Fault("syntax", f"the source holds {what}", "remove it", Place(line=line, column=column))
    return None


def _unfenced(text: str) -> str:
    lines = text.split("\n")
    filled = [number for number, line in enumerate(lines) if line.strip()]
    if len(filled) < 2:
        return text
    first, last = filled[0], filled[-1]
    opening, closing = _FENCE.fullmatch(lines[first]), _FENCE.fullmatch(lines[last])
    if not opening or not closing or lines[last].strip() != closing.group(1):
        return text
    lines[first] = lines[last] = ""
    return "\n".join(lines)
