"""One live connection to an MCP server, over the official client. Started when first needed, again when it broke.

A server that is silent, noisy, late or dead harms the calls to itself and nothing else.
"""

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp.types as types
import structlog
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from pydantic import TypeAdapter, ValidationError

from harness.contract.host_tools import McpSource, Protocol
from harness.core.call import Json
from harness.core.errors import Place
from harness.outbound.egress import Egress
from harness.toolsets.definition import Definition
from harness.toolsets.errors import SourceBroke, SourceChanged, SourceReported, SourceUnavailable
from harness.toolsets.mcp_box import PROXY_ENVIRONMENT, Private, boxed
from harness.toolsets.mcp_definitions import definitions_of
from harness.toolsets.mcp_pipes import Pipes, Tail
from harness.toolsets.mcp_user import user_of
from harness.toolsets.secrets import Secrets

__all__ = ["Connection"]

MAX_PAGES = 100
"""Of a server's list of tools: a list without an end is broken."""
MAX_TOOLS = 5_000
READ_SECONDS = 600.0
"""Silence on an HTTP answer that the connection bears; the deadline of the call is the executor's."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""What a process finds programs in, where the host file says nothing."""

_ERRORS = (
    *(MCPError, SourceUnavailable, BaseExceptionGroup, httpx2.HTTPError, httpx2.InvalidURL),
    *(OSError, RuntimeError, ValueError, TypeError, LookupError, anyio.ClosedResourceError, anyio.BrokenResourceError),
)
"""What opening a session can raise: the client's own errors, those of its transports, and of malformed answers."""
_RAW: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
_log = structlog.get_logger("harness.toolsets")


class _Live:
    """A session that said hello, and the task that holds it."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[Client] = self.loop.create_future()
        self.stop = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self.definitions: dict[str, Definition] = {}
        self.stale = False

    @property
    def usable(self) -> bool:
        return self.task is not None and not self.task.done() and not self.stop.is_set()


class Connection:
    """The connection to one source. Every method may be called at any time, from one event loop at a time."""

    def __init__(self, source: McpSource, folder: Path, secrets: Secrets, private: Private) -> None:
        """`private`: what a box of the source never shows."""
        self._source = source
        self._folder = folder
        self._private = private
        self._secrets = secrets
        self._tail = Tail()
        self._pipes: Pipes | None = None
        self._live: _Live | None = None
        self._starting: asyncio.Lock | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def definitions(self) -> dict[str, Definition]:
        """What the server lists now. Raises SourceUnavailable."""
        live = await self._started()
        return dict(live.definitions)

    async def call(self, name: str, arguments: Mapping[str, Json], pin: str) -> dict[str, Any]:
        """The raw result of a call. †Only a tool whose definition is the pinned one is called.

        Raises SourceUnavailable, SourceChanged (nothing was sent), SourceBroke, SourceReported (it was).
        """
        live = await self._started()
        now = live.definitions.get(name)
        if now is None or now.digest != pin:
            what = "is gone from its source" if now is None else "changed since it was admitted"
            raise SourceChanged(f"the tool `{name}` of `{self._source.name}` {what}")
        request = types.CallToolRequest(params=types.CallToolRequestParams(name=name, arguments=dict(arguments)))
        client = live.ready.result()
        try:
            return await _ask(client, request)
        except MCPError as error:
            raise self._of_error(live, name, error) from error
        except ValidationError as error:
            raise SourceBroke(f"`{self._source.name}` answered `{name}` with no result of the protocol") from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise self._gone(live, name) from error

    async def close(self) -> None:
        """End the session, and the process with everything that it started."""
        live, self._live = self._live, None
        if live is None or live.task is None or live.loop is not asyncio.get_running_loop():
            return
        live.stop.set()
        if not live.ready.done():
            live.task.cancel()
        await asyncio.gather(live.task, return_exceptions=True)

    @property
    def tail(self) -> str:
        """What the process wrote last beside the protocol."""
        return self._tail.text

    def _of_error(self, live: _Live, name: str, error: MCPError) -> Exception:
        if error.code == types.CONNECTION_CLOSED or "session terminated" in error.message.lower():
            return self._gone(live, name)
        return SourceReported(f"{error.message[:2_000]}")

    def _gone(self, live: _Live, name: str) -> SourceBroke:
        live.stop.set()
        why = self._pipes.why_ended if self._pipes is not None else ""
        _log.warning("source_lost", source=self._source.name, why=why, stderr=self._tail.text)
        said = f": {why}" if why else ""
        return SourceBroke(f"`{self._source.name}` went away during `{name}`{said}", tail=self._tail.text)

    # --- starting ------------------------------------------------------------------------------------------

    async def _started(self) -> _Live:
        loop = asyncio.get_running_loop()
        if self._starting is None or self._loop is not loop:
            self._loop, self._live, self._starting = loop, None, asyncio.Lock()
        async with self._starting:
            if self._live is None or not self._live.usable:
                self._live = await self._start()
            if self._live.stale:
                await self._list(self._live, self._live.ready.result())
            return self._live

    async def _start(self) -> _Live:
        live = _Live()
        live.task = asyncio.create_task(self._hold(live), name=f"source {self._source.name}")
        try:
            await asyncio.wait_for(asyncio.shield(live.ready), float(self._source.start_seconds))
        except TimeoutError:
            live.task.cancel()
            await asyncio.gather(live.task, return_exceptions=True)
            _swallow(live.ready)
            why = f"it said nothing that counts within {self._source.start_seconds:g} seconds"
            raise self._unavailable(why) from None
        except asyncio.CancelledError:
            live.task.cancel()
            _swallow(live.ready)
            raise
        return live

    async def _hold(self, live: _Live) -> None:
        """The task that opens the session, keeps it, and closes it: all three belong to one task."""
        try:
            async with self._client(live) as client:
                await self._list(live, client)
                live.ready.set_result(client)
                await live.stop.wait()
        except asyncio.CancelledError:
            if not live.ready.done():
                live.ready.cancel()
            raise
        except _ERRORS as error:
            if live.ready.done():
                _log.warning("source_ended_badly", source=self._source.name, error=type(error).__name__)
            else:
                live.ready.set_exception(self._translated(error))
        finally:
            live.stop.set()
            if not live.ready.done():
                live.ready.set_exception(self._unavailable("it ended before it was ready"))

    @asynccontextmanager
    async def _client(self, live: _Live) -> AsyncIterator[Client]:
        async def heard(message: Any) -> None:
            if isinstance(message, types.ToolListChangedNotification):
                live.stale = True

        mode = "legacy" if self._source.protocol is Protocol.LEGACY else "auto"
        async with contextlib.AsyncExitStack() as stack:
            transport = await self._transport(stack)
            yield await stack.enter_async_context(
                Client(transport, mode=mode, cache=None, message_handler=heard, client_info=_US)
            )

    async def _transport(self, stack: contextlib.AsyncExitStack) -> Any:
        source = self._source
        if source.url:
            headers = {name: self._secrets.fill(value) for name, value in source.headers.items()}
            timeout = httpx2.Timeout(float(source.start_seconds), read=READ_SECONDS)
            http = await stack.enter_async_context(
                httpx2.AsyncClient(headers=headers, timeout=timeout, trust_env=False)
            )
            return streamable_http_client(source.url, http_client=http)
        environment = {"PATH": os.environ.get("PATH", PATH) if "PATH" in source.inherit else PATH}
        environment |= {name: os.environ[name] for name in source.inherit if name in os.environ}
        environment |= {name: self._secrets.fill(value) for name, value in source.env.items()}
        folder = (self._folder / source.cwd).resolve()
        program = self._program(source.command[0], folder)
        user = user_of(source.user)
        egress: Path | None = None
        if source.box is not None and source.box.egress:
            way = Egress(source.box.egress, source.box.private, self._no_egress)
            egress = await stack.enter_async_context(way.serving(user.uid if user else None))
            environment |= PROXY_ENVIRONMENT
        command = boxed([program, *source.command[1:]], source.box, self._folder, folder, self._private, egress)
        self._pipes = Pipes(command, environment, str(folder), self._tail, user)
        return self._pipes.streams()

    def _no_egress(self, wanted: str) -> None:
        shown = "".join(each if each.isprintable() else "?" for each in wanted)
        self._tail.add(f"(egress refused) {shown}\n".encode())
        _log.warning("egress_refused", source=self._source.name, to=shown)

    def _program(self, name: str, folder: Path) -> str:
        if "/" in name:
            return str(folder / name)
        found = shutil.which(name)
        if found is None:
            raise FileNotFoundError(f"there is no program `{name}`")
        return found

    async def _list(self, live: _Live, client: Client) -> None:
        """Read the whole list. Raises SourceUnavailable for one without an end."""
        live.stale = False
        raw: list[Any] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            request = types.ListToolsRequest(params=types.PaginatedRequestParams(cursor=cursor))
            page = await _ask(client, request)
            raw += page.get("tools") or []
            cursor = page.get("nextCursor")
            if len(raw) > MAX_TOOLS:
                break
            if not cursor:
                live.definitions, faults = definitions_of(raw, Place(key=self._source.name))
                for fault in faults:
                    _log.warning("source_definition_refused", source=self._source.name, why=fault.message)
                return
        raise SourceUnavailable(f"the list of tools of `{self._source.name}` has no end", tail=self._tail.text)

    def _translated(self, error: BaseException) -> SourceUnavailable:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, SourceUnavailable):
            return error
        if self._pipes is not None and self._pipes.why_ended:
            return self._unavailable(self._pipes.why_ended)
        return self._unavailable(f"{type(error).__name__}: {str(error)[:300]}")

    def _unavailable(self, why: str) -> SourceUnavailable:
        _log.warning("source_unavailable", source=self._source.name, why=why, stderr=self._tail.text)
        hint = "look at what it wrote: `harness tools scan " + self._source.name + "`"
        if self._source.command and self._source.protocol is Protocol.AUTO:
            hint += "; an old server may want `protocol: legacy`, or `mcp<2` in its own environment"
        return SourceUnavailable(f"the source `{self._source.name}` cannot be used: {why}", hint=hint, tail=self.tail)


_US = types.Implementation(name="execution-harness", version="0.1.0")


def _swallow(ready: "asyncio.Future[Client]") -> None:
    """Nobody waits for it any more."""
    if ready.done() and not ready.cancelled():
        ready.exception()


async def _ask(client: Client, request: Any) -> dict[str, Any]:
    """The result as it came: the pins cover members that the client's own models do not know."""
    answer: dict[str, Any] = await client.session.send_request(request, _RAW)  # type: ignore[type-var]
    return answer
