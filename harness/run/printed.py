"""What a snippet prints: counted as it comes, kept at its head and tail, never in full."""

from collections import deque

__all__ = ["HEAD_CHARS", "TAIL_CHARS", "Printed"]

HEAD_CHARS = 8_000
TAIL_CHARS = 8_000
"""Characters kept of each end: together about 4,000 tokens, what an observation can spare for printed text."""


class Printed:
    """Bounded memory of a stream of text."""

    def __init__(self) -> None:
        self._head: list[str] = []
        self._head_room = HEAD_CHARS
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._cut = 0
        self.bytes = 0

    def add(self, text: str) -> int:
        """Keep what fits; the number of UTF-8 bytes that came."""
        size = len(text.encode("utf-8", "replace"))
        self.bytes += size
        head, rest = text[: self._head_room], text[self._head_room :]
        if head:
            self._head.append(head)
            self._head_room -= len(head)
        if rest:
            self._add_tail(rest)
        return size

    def _add_tail(self, text: str) -> None:
        self._tail.append(text[-TAIL_CHARS:])
        self._cut += max(len(text) - TAIL_CHARS, 0)
        self._tail_size += min(len(text), TAIL_CHARS)
        while self._tail_size - len(self._tail[0]) >= TAIL_CHARS:
            gone = len(self._tail.popleft())
            self._tail_size -= gone
            self._cut += gone

    @property
    def text(self) -> str:
        """Head, a line that says how much was cut, tail."""
        tail = "".join(self._tail)
        cut = self._cut + max(len(tail) - TAIL_CHARS, 0)
        middle = f"\n[… {cut} characters cut …]\n" if cut else ""
        return "".join(self._head) + middle + tail[-TAIL_CHARS:]
