"""Reading answers without a thread of its own: whoever must wait reads for all.

The first that must wait (the leader) reads, and hands over when its own answer is there. An answer that belongs to an
event loop is kept until that loop is idle, and taken one at a time in the order of arrival: so what the tasks of a loop
do depends on the order of answers alone, never on when they came.
"""

import os
import select
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from sandbox_image.frames import HEADER_BYTES, Decoder, FrameError
from sandbox_image.values import decode

__all__ = ["DONT_WAIT", "Home", "Reader", "Slot"]

READ_BYTES = 64 << 10
IDLE_MS = 20
"""How long a wait lasts before the box says that it is idle: far longer than an ordinary answer takes."""
DONT_WAIT = int(socket.MSG_DONTWAIT)
HOST_GONE = 3
"""Exit status of a box whose host closed the channel; there is nobody left to tell."""

_length = struct.Struct(">I").unpack_from


class Home(Protocol):
    """An event loop, as the channel knows it."""

    arrived: "deque[Slot]"
    """Answers for this loop that have come, in that order."""
    untaken: "set[Slot]"
    """Calls of this loop whose answer nobody has taken, whether it has come or not."""

    def wake(self) -> None:
        """End the loop's wait; from any thread."""


class Slot:
    """One call that was sent, and the place of its answer. Its defaults stand in the class: most are never changed."""

    answer: dict[str, Any] | None = None
    """The frame, once it has come."""
    taken = False
    """True where the one that waits may see the answer."""
    heirs: list[Callable[[], None]] | None = None
    """What the loop calls when it takes the answer."""
    gate: "threading.Lock | None" = None
    """Closed while the thread that waits is not the leader."""
    promoted = False
    """True where that thread became the leader."""

    def __init__(self, number: int, home: Home | None) -> None:
        self.id = number
        self.home = home
        if home is not None:
            home.untaken.add(self)


class Reader:
    """The receiving half of the channel."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._receive = sock.recv_into
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self._buffer = bytearray(READ_BYTES)
        self._view = memoryview(self._buffer)
        self._decoder = Decoder()
        self._mutex = threading.Lock()
        """Guards who leads, who follows, and whether an answer is there."""
        self._leading = False
        self._followers: dict[int, Slot] = {}
        self._resting: list[Home] = []
        """Loops that wait for their own descriptors while another thread reads."""
        self._waiting: dict[int, Slot] = {}
        """Calls without an answer."""
        self._said_idle = False
        self.answered: Callable[[int], None] = lambda at_us: None
        """Hears the host's time of every answer as it is taken, in microseconds since the epoch."""
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(IDLE_MS))

    # --- waiting -----------------------------------------------------------------------------------------------

    def wait(self, slot: Slot) -> dict[str, Any]:
        """Block this thread until `slot` has its answer, and take it."""
        if slot.answer is None:
            self._await(slot)
        answer = slot.answer
        assert answer is not None
        if not slot.taken:
            self.take(slot)
        return answer

    def _await(self, slot: Slot) -> None:
        mutex = self._mutex
        mutex.acquire()
        if slot.answer is not None:
            mutex.release()
        elif self._leading:
            self._follow(slot)
        else:
            self._leading = True
            mutex.release()
            self._lead(slot)

    def take(self, slot: Slot) -> None:
        """Let the one that waits see the answer, which has come; the clock moves on to when it was given."""
        if not slot.taken and slot.answer is not None:
            slot.taken = True
            if slot.home is not None:
                slot.home.untaken.discard(slot)
            self.answered(slot.answer["at"])

    def _lead(self, slot: Slot) -> None:
        """Read for everybody until `slot` has its answer."""
        try:
            while slot.answer is None:
                self._read(0)
        finally:
            self._hand_over()

    def _follow(self, slot: Slot) -> None:
        """Wait, behind the one that reads, for the answer or for its place. Lets go of `_mutex`, which is held."""
        slot.gate = gate = threading.Lock()
        gate.acquire()
        self._followers[slot.id] = slot
        self._mutex.release()
        try:
            gate.acquire()
            if slot.promoted:
                while slot.answer is None:
                    self._read(0)
        finally:
            with self._mutex:
                self._followers.pop(slot.id, None)
                slot.gate, promoted, slot.promoted = None, slot.promoted, False
            if promoted:
                self._hand_over()

    def next_answer(self, home: Home) -> None:
        """Wait for an answer for `home`, the loop of a process without other threads."""
        with self._mutex:
            if home.arrived or self._leading:
                return
            self._leading = True
        try:
            while not home.arrived:
                self._read(0)
        finally:
            self._hand_over()

    def rest(self, home: Home, wait: Callable[[], None], descriptor: int) -> None:
        """Wait, as an idle loop, until an answer for it has arrived or its own `descriptor` is readable.

        `wait` blocks on the descriptor.
        """
        with self._mutex:
            if home.arrived:
                return
            follower = self._leading
            if follower:
                self._resting.append(home)
            else:
                self._leading = True
        try:
            if follower:
                wait()
            else:
                self._lead_loop(descriptor)
        finally:
            if follower:
                with self._mutex:
                    if home in self._resting:
                        self._resting.remove(home)

    def _lead_loop(self, descriptor: int) -> None:
        try:
            poll = select.poll()
            poll.register(self._sock, select.POLLIN)
            poll.register(descriptor, select.POLLIN)
            events = poll.poll(IDLE_MS)
            if not events:
                self._say_idle()
                events = poll.poll()
            if any(ready == self._sock.fileno() for ready, _ in events):
                self._read(DONT_WAIT)
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
            size = self._receive(self._buffer, 0, flags)
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
            # One whole frame, which is what mostly comes, needs no decoder.
            if size > HEADER_BYTES and not self._decoder.pending and _length(self._buffer)[0] == size - HEADER_BYTES:
                self._deliver(decode(self._view[HEADER_BYTES:size]))
                return
            for frame in self._decoder.feed(self._view[:size]):
                self._deliver(decode(frame))
        except (FrameError, ValueError, KeyError, TypeError):
            self._lost()

    def quiet(self, milliseconds: int) -> bool:
        """True where nothing comes from the host for so long."""
        return not self._poll.poll(milliseconds)

    def receive(self) -> dict[str, Any]:
        """One frame from the host, before there are any calls."""
        while True:
            size = 0
            try:
                size = self._receive(self._buffer)
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
            slot.answer = message
            self._said_idle = False
            if slot.gate is not None and not slot.promoted:
                slot.gate.release()
            if slot.home is not None:
                slot.home.arrived.append(slot)
                if slot.home in self._resting:
                    slot.home.wake()

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
                    self._read(DONT_WAIT)
        finally:
            if leading:
                self._hand_over()

    def _idle_with(self) -> bytes:
        """Ids of the calls that are waited for, where nothing in the box can go on and that was not said yet."""
        with self._mutex:
            blocked = 1 + len(self._followers) + len(self._resting)
            if self._said_idle or blocked < threading.active_count():
                return b""
            return ",".join(map(str, list(self._waiting))).encode("ascii")

    def _say_idle(self) -> None:
        """Tell the host; the sending half knows how."""

    def _lost(self) -> NoReturn:
        os._exit(HOST_GONE)


def _timeval(milliseconds: int) -> bytes:
    """`struct timeval` of a socket option, as this machine lays it out."""
    return struct.pack("ll", 0, milliseconds * 1000)
