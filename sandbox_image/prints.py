"""What the snippet prints: text streams that gather, and go to the host before the next call or in pieces.

Descriptors 1 and 2 lead nowhere; these objects are the only way that printed text has out of the box.
"""

import io
import json
import threading
import time
from typing import Any

from sandbox_image.channel import Channel
from sandbox_image.frames import encode

__all__ = ["PIECE_CHARS", "PrintStream", "Printer"]

PIECE_CHARS = 16_000
"""Characters of one frame: a flood becomes some hundred frames a megabyte, and is counted by the host as it comes."""
HOLD_CHARS = 8_000
HOLD_SECONDS = 0.05
"""What is kept back at most, and for how long once more is printed: a lost box takes so much with it."""

_now = time.monotonic


class Printer:
    """Gathers the text of both streams in the order in which it was printed."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self._parts: list[tuple[str, str]] = []
        self._held = 0
        self._sent_at = _now()

    def write(self, stream: str, text: str) -> None:
        """Take a text; send what is held where it is much or old."""
        with self._lock:
            self._parts.append((stream, text))
            self._held += len(text)
            due = self._held >= HOLD_CHARS or _now() - self._sent_at > HOLD_SECONDS
        if due:
            self.flush()

    def flush(self) -> None:
        """Send what is held."""
        if self._parts:
            self._channel.push()

    def take(self) -> bytes:
        """Frames of what is held, ready to be sent."""
        if not self._parts:
            return b""
        with self._lock:
            parts, self._parts, self._held = self._parts, [], 0
            self._sent_at = _now()
        return b"".join(_frames(parts))


def _frames(parts: list[tuple[str, str]]) -> "list[bytes]":
    """Neighbours of one stream go together; a long text goes in pieces."""
    frames: list[bytes] = []
    stream, gathered = parts[0][0], [parts[0][1]]
    for name, text in parts[1:]:
        if name != stream:
            frames += _pieces(stream, "".join(gathered))
            stream, gathered = name, []
        gathered.append(text)
    return frames + _pieces(stream, "".join(gathered))


def _pieces(stream: str, text: str) -> "list[bytes]":
    return [_frame(stream, text[start : start + PIECE_CHARS]) for start in range(0, len(text), PIECE_CHARS)]


def _frame(stream: str, text: str) -> bytes:
    if not text.isascii():
        # A lone surrogate is no character: it is shown as Python would write it.
        text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    body = json.dumps(text, ensure_ascii=False).encode("utf-8")
    return encode(b'{"t":"print","stream":"%b","text":%b}' % (stream.encode("ascii"), body))


class PrintStream(io.TextIOBase):
    """Stands for `sys.stdout` or `sys.stderr`."""

    def __init__(self, printer: Printer, stream: str) -> None:
        super().__init__()
        self._printer = printer
        self._stream = stream
        self.buffer = _Bytes(self)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        """Print `text`."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if text:
            self._printer.write(self._stream, str(text))
        return len(text)

    def flush(self) -> None:
        """Send what is held."""
        self._printer.flush()


class _Bytes(io.RawIOBase):
    """`sys.stdout.buffer`: bytes are printed as the UTF-8 text that they should be."""

    def __init__(self, text: PrintStream) -> None:
        super().__init__()
        self._text = text

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Print `data`."""
        self._text.write(bytes(data).decode("utf-8", "replace"))
        return len(data)
