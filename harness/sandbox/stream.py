"""The channel over the engine's attached stream, where no socket of the host can be carried into a box.

The host's end is an ordinary socket, as over a Unix socket; a task moves bytes between it and the engine's frames.
"""

import asyncio
import socket
from contextlib import suppress

from harness.sandbox.engine import Engine

__all__ = ["Stream"]

HEADER_BYTES = 8
"""Of the engine's frames: which descriptor, three zeros, the length in big-endian."""
STDOUT, STDERR = 1, 2
CHUNK = 65536
WORDS_BYTES = 4096
"""Of what a box says before it confines itself: a sentence and a traceback."""


class Stream:
    """One container's standard streams as a channel."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.channel, self._inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.channel.setblocking(False)
        self._inner.setblocking(False)
        self._reader = reader
        self._writer = writer
        self._words = bytearray()
        self._tasks = (asyncio.create_task(self._outward()), asyncio.create_task(self._inward()))

    @classmethod
    async def attach(cls, engine: Engine, container: str) -> "Stream":
        """Attach to a container that is made and not yet started. Raises EngineRefused, EnvironmentUnavailable."""
        query = {"stream": "1", "stdin": "1", "stdout": "1", "stderr": "1"}
        return cls(*await engine.hijack(f"/containers/{container}/attach", query=query))

    @property
    def usable(self) -> bool:
        """Whether its bytes still move: in the loop in which it was made."""
        return self._tasks[0].get_loop() is asyncio.get_running_loop() and not self._tasks[1].done()

    def words(self) -> str:
        """What the box has said on its standard error: only before it confined itself."""
        return self._words.decode("utf-8", "replace")

    async def close(self) -> None:
        """Let go of both ends; `channel` stays the caller's to close. Idempotent."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            if not task.done():
                with suppress(asyncio.CancelledError):
                    await task
        self._inner.close()
        with suppress(RuntimeError):  # of a loop that is closed
            self._writer.close()

    async def _outward(self) -> None:
        """From the box to the host."""
        loop = asyncio.get_running_loop()
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                header = await self._reader.readexactly(HEADER_BYTES)
                left = int.from_bytes(header[4:], "big")
                while left:
                    part = await self._reader.read(min(left, CHUNK))
                    if not part:
                        raise asyncio.IncompleteReadError(part, left)
                    left -= len(part)
                    if header[0] == STDOUT:
                        await loop.sock_sendall(self._inner, part)
                    elif header[0] == STDERR:
                        self._words += part[: WORDS_BYTES - len(self._words)]
        with suppress(OSError):
            self._inner.shutdown(socket.SHUT_WR)

    async def _inward(self) -> None:
        """From the host to the box."""
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            while part := await loop.sock_recv(self._inner, CHUNK):
                self._writer.write(part)
                await self._writer.drain()
            if self._writer.can_write_eof():
                self._writer.write_eof()
