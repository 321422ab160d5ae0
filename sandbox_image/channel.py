"""The box's end of the socket: sends calls from any thread, reads answers without a thread of its own.

Whoever must wait and finds nobody reading reads for all (the leader), and hands over when its own answer is there. An
answer that belongs to an event loop is kept until that loop is idle, and taken one at a time in the order of arrival:
so what the tasks of a loop do depends on the order of answers alone, never on when they came.
"""

import os
import select
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from sandbox_image.frames import Decoder, FrameError, encode
from sandbox_image.values import FRAME_BYTES, IN_FLIGHT, decode

__all__ = ["Channel", "Home", "Slot"]

READ_BYTES = 64 << 10
IDLE_MS = 20
"""How long a wait lasts before the box says that it is idle: far longer than an ordinary answer takes."""
HOST_GONE = 3
"""Exit status of a box whose host closed the channel; there is nobody left to tell."""


class Home(Protocol):
    """An event loop, as the channel knows it."""

    arrived: "deque[Slot]"
    """Answers for this loop that it has not taken yet."""

    def wake(self) -> None:
        """End the loop's wait; from any thread."""


class Slot:
    """One call that was sent, and the place of its answer."""

    __slots__ = ("answer", "at", "gate", "heirs", "home", "id", "promoted", "taken")

    def __init__(self, number: int, home: Home | None) -> None:
        self.id = number
        self.home = home
        self.answer: dict[str, Any] | None = None
        """The frame, once it has come."""
        self.taken = False
        """True where the one that waits may see the answer."""
        self.at = 0
        """When the host answered, in microseconds since the epoch."""
        self.heirs: list[Callable[[], None]] | None = None
        """What the loop calls when it takes the answer."""
        self.gate: threading.Lock | None = None
        """Closed while the thread that waits is not the leader."""
        self.promoted = False


class Channel:
    """One socket to the host, for the life of the box."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self._buffer = bytearray(READ_BYTES)
        self._view = memoryview(self._buffer)
        self._decoder = Decoder()
        self._mutex = threading.Lock()
        """Guards who leads, who follows, and whether an answer is there."""
        self._sending = threading.Lock()
        """Guards the order of what is sent; taken before `_mutex`, never after it."""
        self._leading = False
        self._followers: dict[int, Slot] = {}
        self._resting: list[Home] = []
        """Loops that wait for their own descriptors while another thread reads."""
        self._waiting: dict[int, Slot] = {}
        """Calls without an answer."""
        self._blocked = 0
        self._last_id = 0
        self._said_idle = False
        self._closed = False
        self.prelude: Callable[[], bytes] = bytes
        """Frames that go before the next call: what was printed."""
        self.answered: Callable[[int], None] = lambda at_us: None
        """Hears the host's time of every answer as it is taken, in microseconds since the epoch."""
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(IDLE_MS))

    @property
    def unanswered(self) -> int:
        """Calls that wait for an answer."""
        return len(self._waiting)

    # --- sending -----------------------------------------------------------------------------------------------

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

    def call(self, head: str, arguments: bytes, home: Home | None = None) -> Slot:
        """Send one call: `head` is the frame from the task on up to its arguments, as JSON text."""
        return self.calls(head, (arguments,), home)[0]

    def calls(self, head: str, rows: "tuple[bytes, ...] | list[bytes]", home: Home | None = None) -> list[Slot]:
        """Send one call for each row of arguments, in one go. Raises RuntimeError after the end of the snippet."""
        slots: list[Slot] = []
        with self._sending:
            data = bytearray(self.prelude())
            for arguments in rows:
                if self._closed:
                    raise RuntimeError("the snippet has ended: its tools can no longer be called")
                while len(self._waiting) >= IN_FLIGHT:
                    self._send(data)
                    data.clear()
                    self._pump()
                self._last_id = number = self._last_id + 1
                slot = Slot(number, home)
                self._waiting[number] = slot
                slots.append(slot)
                data += encode(b'{"t":"call","id":%d,%b%b}' % (number, head.encode("ascii"), arguments))
                if len(data) > FRAME_BYTES:
                    self._send(data)
                    data.clear()
            self._said_idle = False
            self._send(data)
        return slots

    def close(self, frame: bytes) -> None:
        """Send what was printed and the last frame; nothing more can be sent."""
        with self._sending:
            if not self._closed:
                self._closed = True
                self._send(self.prelude() + encode(frame))

    def _send(self, data: "bytes | bytearray") -> None:
        """Send all of it; while the host does not take it, take what the host sends."""
        view = memoryview(data)
        try:
            while view:
                try:
                    view = view[self._sock.send(view, socket.MSG_DONTWAIT) :]
                except BlockingIOError:
                    self._pump(sending=True)
        except OSError:
            self._lost()

    def _pump(self, *, sending: bool = False) -> None:
        """Wait until the host takes or sends something, and read what it sent where nobody else does."""
        with self._mutex:
            leading = not self._leading
            self._leading = True
        try:
            poll = select.poll()
            poll.register(self._sock, (select.POLLIN if leading else 0) | (select.POLLOUT if sending else 0))
            for _, event in poll.poll(None if leading or sending else IDLE_MS):
                if leading and event & ~select.POLLOUT:
                    self._read(socket.MSG_DONTWAIT)
        finally:
            if leading:
                self._hand_over()

    # --- waiting -----------------------------------------------------------------------------------------------

    def wait(self, slot: Slot) -> dict[str, Any]:
        """Block this thread until `slot` has its answer, and take it."""
        if not slot.taken:
            self._await(slot)
            self.take(slot)
        assert slot.answer is not None
        return slot.answer

    def take(self, slot: Slot) -> None:
        """Let the one that waits see the answer; the clock moves on to when it was given."""
        if not slot.taken:
            slot.taken = True
            self.answered(slot.at)

    def _await(self, slot: Slot) -> None:
        with self._mutex:
            if slot.answer is not None:
                return
            self._blocked += 1
            if self._leading:
                slot.gate = threading.Lock()
                slot.gate.acquire()
                self._followers[slot.id] = slot
            else:
                self._leading = slot.promoted = True
        try:
            if slot.gate is not None:
                slot.gate.acquire()
            while slot.answer is None:
                self._read(0)
        finally:
            with self._mutex:
                self._blocked -= 1
                self._followers.pop(slot.id, None)
            if slot.promoted:
                self._hand_over()

    def rest(self, home: Home, wait: Callable[[], None], descriptor: int, *, alone: bool) -> None:
        """Wait, as an idle loop, until an answer for it has arrived or its own `descriptor` is readable.

        `wait` blocks on the descriptor; `alone` is true where nothing but an answer can end the wait.
        """
        with self._mutex:
            if home.arrived:
                return
            self._blocked += 1
            follower = self._leading
            if follower:
                self._resting.append(home)
            else:
                self._leading = True
        try:
            if follower:
                wait()
            else:
                self._lead(home, descriptor, alone=alone)
        finally:
            with self._mutex:
                self._blocked -= 1
                if follower and home in self._resting:
                    self._resting.remove(home)

    def _lead(self, home: Home, descriptor: int, *, alone: bool) -> None:
        try:
            if alone:
                while not home.arrived:
                    self._read(0)
                return
            poll = select.poll()
            poll.register(self._sock, select.POLLIN)
            poll.register(descriptor, select.POLLIN)
            events = poll.poll(IDLE_MS)
            if not events:
                self._say_idle()
                events = poll.poll()
            if any(ready == self._sock.fileno() for ready, _ in events):
                self._read(socket.MSG_DONTWAIT)
        finally:
            self._hand_over()

    def _hand_over(self) -> None:
        """Stop reading; the next that waits reads for the others."""
        with self._mutex:
            for follower in self._followers.values():
                if follower.answer is None and follower.gate is not None:
                    del self._followers[follower.id]
                    follower.promoted = True
                    follower.gate.release()
                    return
            self._leading = False
            if self._resting:
                self._resting.pop().wake()

    # --- reading -----------------------------------------------------------------------------------------------

    def _read(self, flags: int) -> None:
        """Read once, as the leader, and put every answer into its slot."""
        try:
            size = self._sock.recv_into(self._buffer, 0, flags)
        except BlockingIOError:
            if not flags:
                self._say_idle()
                self._poll.poll()
            return
        except OSError:
            size = 0
        if not size:
            self._lost()
        try:
            for frame in self._decoder.feed(self._view[:size]):
                self._deliver(decode(frame))
        except (FrameError, ValueError, KeyError, TypeError):
            self._lost()

    def receive(self) -> dict[str, Any]:
        """One frame from the host, before there are any calls."""
        while True:
            size = 0
            try:
                size = self._sock.recv_into(self._buffer)
            except BlockingIOError:
                self._poll.poll()
                continue
            except OSError:
                pass
            if not size:
                self._lost()
            for frame in self._decoder.feed(self._view[:size]):
                message: dict[str, Any] = decode(frame)
                return message

    def _deliver(self, message: dict[str, Any]) -> None:
        if message["t"] == "stop":
            self._lost()
        with self._mutex:
            slot = self._waiting.pop(message["id"])
            slot.at = message["at"]
            slot.answer = message
            self._said_idle = False
            if slot.gate is not None and not slot.promoted:
                slot.gate.release()
            if slot.home is not None:
                slot.home.arrived.append(slot)
                if slot.home in self._resting:
                    slot.home.wake()

    def _say_idle(self) -> None:
        """Tell the host, once, that only an answer can move this box on."""
        with self._mutex:
            idle = not self._said_idle and self._waiting and self._blocked >= threading.active_count()
            waiting = ",".join(map(str, list(self._waiting)))
        if idle and self._sending.acquire(False):
            try:
                self._said_idle = True
                self._send(self.prelude() + encode(b'{"t":"idle","waiting":[%b]}' % waiting.encode("ascii")))
            finally:
                self._sending.release()

    def _lost(self) -> None:
        os._exit(HOST_GONE)


def _timeval(milliseconds: int) -> bytes:
    """`struct timeval` of a socket option, as this machine lays it out."""
    return struct.pack("ll", 0, milliseconds * 1000)
