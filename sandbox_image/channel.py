"""The box's end of the socket: sends calls from any thread, and what was printed before them.

How answers come back is the reader's.
"""

import os
import socket
import threading
from collections.abc import Callable, Sequence

from sandbox_image.frames import HEADER_BYTES, encode
from sandbox_image.reading import DONT_WAIT, Home, Reader, Slot
from sandbox_image.values import IN_FLIGHT

__all__ = ["Channel"]

PIECE_BYTES = 1 << 20
"""What is gathered at most of many calls before it is sent."""


class Channel(Reader):
    """One socket to the host, for the life of the box."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock)
        self._send_some = sock.send
        self._sending = threading.Lock()
        """Guards the order of what is sent; taken before the reader's mutex, never after it."""
        self._last_id = 0
        self._closed = ""
        """Why nothing can be sent any more."""
        self.prelude: Callable[[], bytes] = bytes
        """Frames that go before the next call: what was printed."""
        os.register_at_fork(after_in_child=self._forked)

    def send(self, frame: bytes) -> None:
        """Send one frame that is no call; after the end nothing is sent."""
        with self._sending:
            if not self._closed:
                self._send(encode(frame))

    def push(self) -> None:
        """Send what was printed so far."""
        with self._sending:
            if not self._closed:
                self._send(self.prelude())

    def call(self, head: bytes, arguments: bytes, home: Home | None = None) -> Slot:
        """Send one call: `head` is the frame from the task on up to its arguments, as JSON text."""
        with self._sending:
            if self._closed or len(self._waiting) >= IN_FLIGHT:
                return self._calls(head, (arguments,), home)[0]
            self._last_id = number = self._last_id + 1
            slot = self._waiting[number] = Slot(number, home)
            self._said_idle = False
            frame = b'{"t":"call","id":%d,%b%b}' % (number, head, arguments)
            self._send(self.prelude() + len(frame).to_bytes(HEADER_BYTES, "big") + frame)
        return slot

    def calls(self, head: bytes, rows: Sequence[bytes], home: Home | None = None) -> list[Slot]:
        """Send one call for each row of arguments, in one go. Raises RuntimeError after the end of the snippet."""
        with self._sending:
            return self._calls(head, rows, home)

    def _calls(self, head: bytes, rows: Sequence[bytes], home: Home | None) -> list[Slot]:
        slots: list[Slot] = []
        data = bytearray(self.prelude())
        for arguments in rows:
            if self._closed:
                raise RuntimeError(self._closed)
            while len(self._waiting) >= IN_FLIGHT:
                self._send(data)
                data = bytearray()
                self._pump()
            self._last_id = number = self._last_id + 1
            slot = self._waiting[number] = Slot(number, home)
            slots.append(slot)
            data += encode(b'{"t":"call","id":%d,%b%b}' % (number, head, arguments))
            if len(data) > PIECE_BYTES:
                self._send(data)
                data = bytearray()
        self._said_idle = False
        self._send(data)
        return slots

    def close(self, frame: bytes) -> None:
        """Send what was printed and the last frame; nothing more can be sent."""
        with self._sending:
            if not self._closed:
                self._closed = "the snippet has ended: its tools can no longer be called"
                self._send(self.prelude() + encode(frame))

    def _forked(self) -> None:
        """A fork of the snippet has no part in the conversation: it computes, and cannot call, print or end it."""
        self._closed = "a forked process has no tools: call them in the process that the snippet started in"
        self._sending = threading.Lock()
        self._sock.close()

    def _send(self, data: "bytes | bytearray") -> None:
        """Send all of it; while the host does not take it, take what the host sends."""
        try:
            sent = self._send_some(data, DONT_WAIT)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._lost()
        if sent < len(data):
            self._send_rest(memoryview(data)[sent:])

    def _send_rest(self, rest: memoryview) -> None:
        while rest:
            self._pump(sending=True)
            try:
                rest = rest[self._send_some(rest, DONT_WAIT) :]
            except BlockingIOError:
                continue
            except OSError:
                self._lost()

    def _say_idle(self) -> None:
        """Tell the host, once, that only an answer can move this box on."""
        waiting = self._idle_with()
        if waiting and self._sending.acquire(False):
            try:
                self._said_idle = True
                self._send(self.prelude() + encode(b'{"t":"idle","waiting":[%b]}' % waiting))
            finally:
                self._sending.release()
