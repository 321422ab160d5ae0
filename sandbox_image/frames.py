"""Frames, as the box sees them: four bytes of length, big-endian, then so many bytes of UTF-8 JSON.

Standard library only. The host has its own copy; both read the same vectors.
"""

__all__ = ["FRAME_BYTES", "HEADER_BYTES", "Decoder", "FrameError", "encode"]

HEADER_BYTES = 4
FRAME_BYTES = 64 << 20
"""Bytes of a frame from the host: its results are smaller by far, so a longer one is a stream that lost its place."""


class FrameError(Exception):
    """The stream is no stream of frames; the box must end."""


class Decoder:
    """Cuts a stream into frames."""

    def __init__(self, limit: int = FRAME_BYTES) -> None:
        self._limit = limit
        self._rest = bytearray()

    def feed(self, data: "bytes | memoryview") -> "list[bytes]":
        """The frames that `data` completes, in order. Raises FrameError for a length that cannot be."""
        size = len(data)
        if not self._rest and size > HEADER_BYTES:
            length = int.from_bytes(data[:HEADER_BYTES], "big")
            if length == size - HEADER_BYTES and length <= self._limit:
                return [bytes(data[HEADER_BYTES:])]
        rest = self._rest
        rest += data
        frames: list[bytes] = []
        start = 0
        while len(rest) - start >= HEADER_BYTES:
            length = int.from_bytes(rest[start : start + HEADER_BYTES], "big")
            if not 0 < length <= self._limit:
                raise FrameError(f"a frame of {length} bytes was announced")
            end = start + HEADER_BYTES + length
            if len(rest) < end:
                break
            frames.append(bytes(rest[start + HEADER_BYTES : end]))
            start = end
        del rest[:start]
        return frames

    @property
    def pending(self) -> int:
        """Bytes of an unfinished frame, header included."""
        return len(self._rest)


def encode(frame: bytes) -> bytes:
    """A frame with its length before it. Raises ValueError where it is empty or longer than four bytes can say."""
    if not frame:
        raise ValueError("a frame has at least one byte")
    try:
        return len(frame).to_bytes(HEADER_BYTES, "big") + frame
    except OverflowError:
        raise ValueError("a frame is shorter than 4 GiB") from None
