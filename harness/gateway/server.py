"""The gateway's one file with I/O: moves bytes between a box's socket and its session, decides nothing."""

import asyncio
import socket
from typing import Protocol, cast

from harness.core.call import Answer
from harness.core.errors import HostileInput
from harness.gateway.frames import encode
from harness.gateway.messages import CallFrame, Failed, Hello, Idle, Message, Open, Print, Result, Start, encode_stop
from harness.gateway.session import Session

__all__ = ["READ_BYTES", "Connection", "Listener", "attach"]

READ_BYTES = 64 << 10
"""Size of the read buffer: some hundreds of ordinary calls; larger frames come in pieces."""


class Listener(Protocol):
    """Who hears what a box says. Every method returns at once; none is called after `on_lost` or `close()`."""

    def on_hello(self, hello: Hello) -> None:
        """The box is there; `send_start` may follow."""

    def on_open(self) -> None:
        """The token came back."""

    def on_call(self, frame: CallFrame) -> None:
        """A stub was used."""

    def on_print(self, frame: Print) -> None:
        """Something was printed."""

    def on_idle(self, frame: Idle) -> None:
        """The box says that it can only wait."""

    def on_result(self, frame: Result) -> None:
        """The snippet ended by itself. Nothing but `on_lost` can follow."""

    def on_failed(self, frame: Failed) -> None:
        """An exception left the snippet. Nothing but `on_lost` can follow."""

    def on_lost(self, error: HostileInput | None) -> None:
        """The conversation is over, and the host did not end it: None where the box closed its end.

        Code `truncated` is an end in the middle of a frame: also what a box looks like that was killed while it wrote.
        """


class Connection(asyncio.BufferedProtocol):
    """One box. Made by `attach`."""

    def __init__(self, session: Session, listener: Listener) -> None:
        self._session = session
        self._listener = listener
        self._buffer = bytearray(READ_BYTES)
        self._view = memoryview(self._buffer)
        self._transport: asyncio.Transport | None = None
        self._paused = False
        """True while the box leaves too much unread to be listened to."""
        self._backlog: list[bytes] = []
        """Frames that had come before; at most one buffer full."""
        self._over = False

    # --- from the host ---------------------------------------------------------------------------------------

    def send_start(self, start: Start) -> None:
        """Hand the snippet over; once, after hello. Does nothing where the box is gone."""
        if not self._over:
            self._write(self._session.start_frame(start))

    def send_answer(self, wire_id: int, answer: Answer, at_us: int) -> None:
        """Answer a call; `at_us` in microseconds since the epoch. Does nothing where the box is gone.

        Raises ValueError where no such call waits.
        """
        if self._over:
            return
        self._write(self._session.answer_frame(wire_id, answer, at_us))
        if self._transport is not None and self._transport.get_write_buffer_size():
            self._weigh()

    def send_stop(self) -> None:
        """Ask the box to end. What ends it is its kill."""
        if not self._over:
            self._write(encode_stop())

    def close(self) -> None:
        """End the conversation; the listener hears nothing more. Idempotent."""
        self._over = True
        self._session.close()
        if self._transport is not None:
            self._transport.abort()

    @property
    def unread_bytes(self) -> int:
        """Bytes that were sent and that the box's socket has not taken."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def _write(self, frame: bytes) -> None:
        if self._transport is not None:
            self._transport.write(encode(frame))

    def _weigh(self) -> None:
        """A box that does not read is not listened to; one that lets too much pile up is lost."""
        unread, limits = self.unread_bytes, self._session.limits
        if unread > limits.unread_bytes:
            self._lose(HostileInput("unread", f"the box left {unread} bytes of answers unread"))

    # --- from the loop ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=self._session.limits.pause_bytes)

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        try:
            self._serve(self._session.decoder.feed(self._view[:nbytes]))
        except HostileInput as error:
            self._lose(error)

    def _serve(self, frames: list[bytes]) -> None:
        """Tell what the frames say, while the box reads its answers; the rest waits. Raises HostileInput."""
        session = self._session
        for index, frame in enumerate(frames):
            if self._paused:
                self._backlog = frames[index:]
                return
            self._tell(session.accept(frame))
            if self._over:
                return
        if session.decoder.fault is not None:
            raise session.decoder.fault

    def eof_received(self) -> bool:
        pending = self._session.decoder.pending
        if pending:
            self._lose(HostileInput("truncated", f"the box closed its end {pending} bytes into a frame"))
        else:
            self._lose(None)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._lose(None)

    def pause_writing(self) -> None:
        if self._transport is not None and not self._over:
            self._paused = True
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        if not self._paused or self._transport is None or self._over:
            return
        self._paused = False
        backlog, self._backlog = self._backlog, []
        try:
            self._serve(backlog)
        except HostileInput as error:
            self._lose(error)
        if not self._paused and not self._over:
            self._transport.resume_reading()

    def _tell(self, message: Message) -> None:
        listener = self._listener
        if type(message) is CallFrame:
            listener.on_call(message)
            return
        match message:
            case Print():
                listener.on_print(message)
            case Idle():
                listener.on_idle(message)
            case Result():
                listener.on_result(message)
            case Failed():
                listener.on_failed(message)
            case Hello():
                listener.on_hello(message)
            case Open():
                listener.on_open()

    def _lose(self, error: HostileInput | None) -> None:
        if self._over:
            return
        self.close()
        self._listener.on_lost(error)


async def attach(
    loop: asyncio.AbstractEventLoop, sock: socket.socket, session: Session, listener: Listener
) -> Connection:
    """Serve the connected stream socket `sock`, which now belongs to the connection."""
    sock.setblocking(False)
    _, protocol = await loop.connect_accepted_socket(lambda: Connection(session, listener), sock)
    return protocol
