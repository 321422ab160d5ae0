"""The pipes to an MCP server that is a process: listed environment, bounded lines, noise skipped, stderr's tail kept.

The official client's own transport lets in variables of the host and holds lines of any length; this one does not.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import structlog
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter
from pydantic_core import from_json

from harness.toolsets.mcp_user import User

__all__ = ["MAX_LINE_BYTES", "Pipes", "Tail"]

MAX_LINE_BYTES = 8 << 20
"""Of one message: as much as a frame to the box may hold. A longer one ends the connection."""
TAIL_BYTES = 4_000
"""Of standard error: about forty lines, enough for a traceback."""
EXIT_SECONDS = 1.0
"""Between closing its input, SIGTERM, and SIGKILL."""

_log = structlog.get_logger("harness.toolsets")


class Tail:
    """The last bytes that a process wrote on its standard error, and lines on its output that were no messages."""

    def __init__(self) -> None:
        self._held = bytearray()

    def add(self, data: bytes) -> None:
        """Keep the end of what came."""
        self._held += data
        del self._held[: max(len(self._held) - TAIL_BYTES, 0)]

    @property
    def text(self) -> str:
        """As text, control characters shown as they are escaped."""
        text = bytes(self._held).decode("utf-8", "replace").strip()
        return "".join(each if each.isprintable() or each == "\n" else f"\\x{ord(each):02x}" for each in text)


class Pipes:
    """A process and the streams that the official session speaks over."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        cwd: str,
        tail: Tail,
        user: User | None = None,
    ) -> None:
        """`user`: whom the process becomes first."""
        self._command = list(command)
        self._environment = dict(environment)
        self._cwd = cwd
        self._tail = tail
        self._user = user
        self.why_ended = ""
        """Why the process or its output is at an end; empty while it is not."""

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[tuple[Any, Any]]:
        """Start the process; read and write streams of messages. Raises OSError where it cannot be started."""
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment,
            cwd=self._cwd,
            start_new_session=True,
            user=self._user.uid if self._user else None,
            group=self._user.gid if self._user else None,
            extra_groups=[] if self._user else None,
        )
        to_session, from_server = anyio.create_memory_object_stream[Any](0)
        to_server, from_session = anyio.create_memory_object_stream[Any](0)
        tasks = [
            asyncio.create_task(self._read(process, to_session)),
            asyncio.create_task(self._write(process, from_session)),
            asyncio.create_task(self._listen(process)),
        ]
        try:
            yield from_server, to_server
        finally:
            ending = asyncio.ensure_future(self._end(process, tasks))
            try:
                await asyncio.shield(ending)
            except asyncio.CancelledError:
                await ending  # bounded: a process must not outlive its host
                raise
            finally:
                for stream in (to_session, from_server, to_server, from_session):
                    stream.close()

    async def _read(self, process: asyncio.subprocess.Process, to_session: Any) -> None:
        assert process.stdout is not None
        held = bytearray()
        async with to_session:
            while chunk := await process.stdout.read(1 << 16):
                held += chunk
                if b"\n" not in chunk and len(held) > MAX_LINE_BYTES:
                    self.why_ended = f"it wrote a line of more than {MAX_LINE_BYTES} bytes"
                    return
                *lines, rest = bytes(held).split(b"\n")
                held = bytearray(rest)
                for line in lines:
                    for message in self._messages(line):
                        try:
                            await to_session.send(SessionMessage(message))
                        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                            return
            status = await process.wait()
            self.why_ended = f"it ended with status {status}" if status >= 0 else f"signal {-status} ended it"

    def _messages(self, line: bytes) -> list[Any]:
        """The messages of a line: one, several of an old server's batch, or none where it is noise."""
        text = line.strip()
        if not text or len(text) > MAX_LINE_BYTES:
            return []
        try:
            if text.startswith(b"["):
                return [jsonrpc_message_adapter.validate_python(each) for each in _array(text)]
            return [jsonrpc_message_adapter.validate_json(text, by_name=False)]
        except (ValueError, RecursionError):
            self._tail.add(b"(on its output) " + text[:200] + b"\n")
            _log.debug("source_noise", length=len(text))
            return []

    async def _write(self, process: asyncio.subprocess.Process, from_session: Any) -> None:
        assert process.stdin is not None
        async with from_session:
            async for message in from_session:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    process.stdin.write(text.encode() + b"\n")
                    await process.stdin.drain()
                except (OSError, RuntimeError):
                    return  # the reader sees the end too, and says why

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while chunk := await process.stderr.read(1 << 14):
            self._tail.add(chunk)

    async def _end(self, process: asyncio.subprocess.Process, tasks: "list[asyncio.Task[None]]") -> None:
        """Close its input, wait, SIGTERM, wait, SIGKILL: the whole group, and nothing is left."""
        if process.stdin is not None:
            process.stdin.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(process.wait()), EXIT_SECONDS)
                break
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # children that it left behind
        await process.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        pipes = getattr(process, "_transport", None)  # nothing public closes it where a child still holds an end
        if pipes is not None:
            pipes.close()


def _array(text: bytes) -> list[Any]:
    values = from_json(text)
    return values if isinstance(values, list) else []
