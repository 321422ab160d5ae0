"""A way out for a box without network: an HTTP proxy at a Unix socket that leads to declared hosts and nowhere else.

†It connects to the very address that it looked at. What goes through a tunnel it does not read.
"""

import asyncio
import contextlib
import os
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from harness.outbound.addresses import NotSent, reachable

__all__ = ["SOCKET_NAME", "Egress"]

SOCKET_NAME = "proxy"
SOCKET_FOLDER = "/tmp"
"""Where the socket's folder lies: what every source's box finds empty, so that none reaches the way of another."""
MAX_HEAD_BYTES = 1 << 15
"""Of a request's head: above what common servers take."""
MAX_CONNECTIONS = 64
"""At a time: as many as a browser's pool and more than a tool server's."""
HEAD_SECONDS = 30.0
CONNECT_SECONDS = 15.0
CHUNK = 1 << 16

_CONNECT = re.compile(rb"CONNECT (?P<authority>[^\s/]{1,300}) HTTP/1\.[01]")
_PLAIN = re.compile(rb"(?P<method>[A-Z]{1,20}) http://(?P<authority>[^\s/?#@]{1,300})(?P<path>[/?]\S*)? HTTP/1\.[01]")
_OURS = (b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"host")
"""Headers between client and proxy, and the one that says whom it means: that is the address that was allowed."""


class Egress:
    """The proxy of one source. `allowed` and `private`: `host:port` in lower case; `refused` hears of each refusal."""

    def __init__(self, allowed: Collection[str], private: Collection[str], refused: Callable[[str], None]) -> None:
        self._allowed = frozenset(allowed)
        self._private = frozenset(private)
        self._tell = refused
        self._open: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def serving(self, user: int | None = None) -> AsyncIterator[Path]:
        """The folder in which its socket lies, while it serves; closed to all but `user`, an id (None: this one)."""
        with tempfile.TemporaryDirectory(prefix="harness-egress-", dir=SOCKET_FOLDER) as folder:
            path = Path(folder, SOCKET_NAME)
            server = await asyncio.start_unix_server(self._met, str(path), limit=MAX_HEAD_BYTES)
            if user is not None:
                os.chown(path, user, -1)
                os.chown(folder, user, -1)
            try:
                yield Path(folder)
            finally:
                server.close()
                for task in self._open:
                    task.cancel()
                await asyncio.gather(*self._open, return_exceptions=True)

    async def _met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            if len(self._open) > MAX_CONNECTIONS:
                await _say(writer, 503, f"more than {MAX_CONNECTIONS} connections at a time")
                return
            await self._lead(reader, writer)
        except (OSError, EOFError, ValueError, TimeoutError):
            pass  # one side went away, or was too slow, or said too much: the connection ends
        except asyncio.CancelledError:
            pass  # the source ends, and its ways out with it; nobody waits for this task's word
        finally:
            self._open.discard(task)
            writer.close()

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), HEAD_SECONDS)
        except asyncio.LimitOverrunError:
            await _say(writer, 431, "the head of the request is too long")
            return
        line, _, rest = head.partition(b"\r\n")
        found = _CONNECT.fullmatch(line) or _PLAIN.fullmatch(line)
        if found is None:
            await _say(writer, 400, "this is a proxy: it takes CONNECT, and requests with a whole http address")
            return
        tunnel = line.startswith(b"CONNECT ")
        authority = found["authority"].decode("latin-1").lower()
        if ":" not in authority.rpartition("]")[2] and not tunnel:
            authority += ":80"
        if authority not in self._allowed:
            self._tell(authority)
            await _say(writer, 403, "the source does not declare this egress")
            return
        try:
            up_reader, up_writer = await asyncio.wait_for(self._connect(authority), CONNECT_SECONDS)
        except NotSent as error:
            self._tell(f"{authority}: {error.message}")
            await _say(writer, 502, "the declared egress is not reached")
            return
        try:
            if tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                up_writer.write(_plain(found, rest))
            await asyncio.gather(_pipe(reader, up_writer), _pipe(up_reader, writer))
        finally:
            up_writer.close()

    async def _connect(self, authority: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, _, text = authority.rpartition(":")
        host, port = host.strip("[]"), int(text)
        private = [host] if authority in self._private else []
        addresses = await asyncio.get_running_loop().run_in_executor(None, reachable, host, port, private)
        for address in addresses[:4]:
            with contextlib.suppress(OSError):
                return await asyncio.open_connection(address, port)
        raise NotSent(f"`{host}` does not listen at port {port}")


def _plain(found: re.Match[bytes], rest: bytes) -> bytes:
    """The request as the server takes it: one on a connection, to the host that was allowed."""
    path = found["path"] or b"/"
    kept = [line for line in rest.split(b"\r\n") if line and line.partition(b":")[0].strip().lower() not in _OURS]
    first = found["method"] + b" " + (path if path.startswith(b"/") else b"/" + path) + b" HTTP/1.1"
    return b"\r\n".join([first, b"Host: " + found["authority"], b"Connection: close", *kept, b"", b""])


async def _say(writer: asyncio.StreamWriter, status: int, words: str) -> None:
    body = f"{words}\n".encode()
    head = f"HTTP/1.1 {status} {words}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
    await writer.drain()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while chunk := await reader.read(CHUNK):
            writer.write(chunk)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.close()
