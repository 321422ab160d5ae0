"""Frames: four bytes of length, big-endian, then so many bytes of UTF-8 JSON; and the limits of a frame from a box.

Looks at bytes only: lengths, nesting, counts. Decodes nothing, so that nothing large or deep is ever built.
"""

import re
from dataclasses import dataclass
from itertools import accumulate

from harness.core.errors import HostileInput

__all__ = ["HEADER_BYTES", "Decoder", "WireLimits", "check_size", "encode"]

HEADER_BYTES = 4


@dataclass(frozen=True, slots=True)
class WireLimits:
    """What the host takes from a box; beyond any of these the conversation ends."""

    frame_bytes: int = 8 << 20
    """Bytes of one frame: a result of some megabytes passes, and a box cannot make the host hold more than this."""
    depth: int = 100
    """Levels of nesting, the message itself counted: half of what the canonical form takes."""
    members: int = 200_000
    """Members of all arrays and objects together: 200,000 empty objects are 13 MB of Python, decoded in 20 ms."""
    string_chars: int = 4 << 20
    """Bytes of one text as it travels: half a frame."""
    number_chars: int = 1_000
    """Characters of one number: well below the 4,300 digits at which Python refuses, as conversion is quadratic."""
    in_flight: int = 10_000
    """Calls without an answer: ten times what a large `gather` makes; a call costs the host about 2 kB."""
    unread_bytes: int = 64 << 20
    """Bytes of answers that the box has not read: eight of the largest frames."""
    pause_bytes: int = 1 << 20
    """Unread bytes from which on the host takes no more calls until the box reads: far above a socket's own buffer."""
    name_chars: int = 256
    """Characters of a tool's name or a task's path."""


class Decoder:
    """Cuts a stream into frames. Holds at most one frame, whatever comes."""

    def __init__(self, limits: WireLimits) -> None:
        self._limit = limits.frame_bytes
        self._rest = bytearray()
        self._fault: HostileInput | None = None

    def feed(self, data: bytes | memoryview) -> list[bytes]:
        """The frames that `data` completes, in order.

        Raises HostileInput with code `too_long` or `empty_frame`; where whole frames stand before the bad one, they
        are returned first, and the next call (with no data, if need be) raises.
        """
        if self._fault is not None:
            raise self._fault
        size = len(data)
        if not self._rest and size > HEADER_BYTES:
            length = int.from_bytes(data[:HEADER_BYTES], "big")
            if length == size - HEADER_BYTES and length <= self._limit:
                return [bytes(data[HEADER_BYTES:])]
        self._rest += data
        return self._cut()

    @property
    def fault(self) -> HostileInput | None:
        """What the next `feed` will raise."""
        return self._fault

    @property
    def pending(self) -> int:
        """Bytes of an unfinished frame, header included; 0 where the stream may end here."""
        return len(self._rest)

    def _cut(self) -> list[bytes]:
        frames: list[bytes] = []
        rest, start = self._rest, 0
        while len(rest) - start >= HEADER_BYTES:
            length = int.from_bytes(rest[start : start + HEADER_BYTES], "big")
            if not 0 < length <= self._limit:
                self._fault = self._refuse(length, bytes(rest[start : start + 200]))
                break
            end = start + HEADER_BYTES + length
            if len(rest) < end:
                break
            frames.append(bytes(rest[start + HEADER_BYTES : end]))
            start = end
        if self._fault is not None:
            rest.clear()
            if not frames:
                raise self._fault
        elif start:
            del rest[:start]
        return frames

    def _refuse(self, length: int, head: bytes) -> HostileInput:
        if not length:
            return HostileInput("empty_frame", "a frame of no bytes came", head=head)
        return HostileInput("too_long", f"a frame of {length} bytes was announced, {self._limit} are taken", head=head)


def encode(frame: bytes) -> bytes:
    """A frame with its length before it. Raises ValueError where it is empty or longer than four bytes can say."""
    if not frame:
        raise ValueError("a frame has at least one byte")
    try:
        return len(frame).to_bytes(HEADER_BYTES, "big") + frame
    except OverflowError:
        raise ValueError("a frame is shorter than 4 GiB") from None


# --- sizes inside a frame, judged before anything is decoded ---------------------------------------------------------

_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A JSON text, or one that never ends: so that each byte is looked at once."""
_DIGIT = re.compile(rb"[0-9]")
_NUMBER = re.compile(rb"[0-9.eE+-]++")
_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def check_size(frame: bytes, limits: WireLimits) -> None:
    """Refuse a frame whose value would be deep or large. Linear in its length, and quick for ordinary frames.

    Raises HostileInput with code `too_deep`, `too_many_members`, `number_too_long`, `string_too_long`.
    """
    opened = frame.count(b"[") + frame.count(b"{")
    size = len(frame)
    if opened <= limits.depth and (size <= limits.number_chars or _small(frame, opened, limits)):
        return
    # Every member has at most two texts, each with two quotes that no backslash stands before.
    quotes = frame.count(b'"') - frame.count(b'\\"')
    bare = _TEXT.sub(b'"', frame) if quotes <= 4 * limits.members else b""
    members = bare.count(b",") + bare.count(b"[") + bare.count(b"{")
    if members > limits.members or not bare:
        raise HostileInput("too_many_members", f"the frame has more than {limits.members} members", head=frame)
    if size > limits.string_chars and max(map(len, _TEXT.findall(frame)), default=0) > limits.string_chars + 2:
        raise HostileInput("string_too_long", f"a text is longer than {limits.string_chars} bytes", head=frame)
    brackets = bare.translate(None, _BRACKETS)
    if max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > limits.depth:
        raise HostileInput("too_deep", f"the frame is nested deeper than {limits.depth} levels", head=frame)
    if max(map(len, _NUMBER.findall(bare)), default=0) > limits.number_chars:
        message = f"a number is longer than {limits.number_chars} characters"
        raise HostileInput("number_too_long", message, head=frame)


def _small(frame: bytes, opened: int, limits: WireLimits) -> bool:
    """True where not even a count that takes text for structure reaches a limit."""
    if len(frame) > limits.string_chars or frame.count(b",") + opened > limits.members:
        return False
    # A number that is too long covers one of these places.
    return _DIGIT.search(frame[limits.number_chars :: limits.number_chars]) is None
