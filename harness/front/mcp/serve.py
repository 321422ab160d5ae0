"""Serving: on standard input and output, or over HTTP with verified principals."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import uvicorn
from mcp.server.auth.settings import AuthSettings
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl

from harness.api import Harness
from harness.contract.principal import Principal
from harness.front.mcp.access import load_access
from harness.front.mcp.server import Face, Make, build_server
from harness.front.signals import EXIT_CANCELLED, orderly

__all__ = ["HttpPlace", "Offering", "serve_http", "serve_stdio"]

MAX_BODY_BYTES = 8 << 20
"""Of one request: as much as a frame to the box may hold."""

BACKLOG = 128
"""Connections that wait to be taken."""

ANSWER_SECONDS = 0.1
"""For answers to leave, once their runs have ended."""

LAST_SECONDS = 3
"""Of a client that keeps its connection open after a signal."""


@dataclass(frozen=True, slots=True)
class Offering:
    """What is served."""

    contracts: Iterable[Path]
    host_file: Path
    policy: Path | None
    backend: str
    prefix: str

    def make(self) -> Make:
        """Harnesses of this host, one for each principal."""

        def made(principal: Principal | None) -> Harness:
            harness = Harness.from_file(self.host_file, policy=self.policy, backend=self.backend)
            if principal is not None:
                harness.principal = principal
            return harness

        return made


@dataclass(frozen=True, slots=True)
class HttpPlace:
    """Where, and for whom."""

    host: str
    port: int
    """0 takes a free one."""
    access: Path | None
    """The access file; None serves everybody who reaches it as the user of this process."""
    url: str = ""
    """The address that clients use, where a proxy stands before it."""


async def serve_stdio(offering: Offering) -> int:
    """Serve one client until it closes its end, or a signal comes; the exit status."""
    face = Face(offering.make(), offering.contracts, offering.prefix, verified=False)
    face.served()  # what is wrong with the host is said before a client waits
    server = build_server(face, version("execution-harness"))

    async def serve() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    return await _until_signal(face, serve(), _leave)


def _leave(_serving: "asyncio.Task[None]") -> None:
    """All is closed, and a thread sits in a read of standard input, which nothing but the client can end."""
    sys.stdout.flush()
    os._exit(EXIT_CANCELLED)


async def serve_http(offering: Offering, place: HttpPlace) -> int:
    """Serve until a signal comes; the exit status. Says the address on standard error."""
    verifier = load_access(place.access) if place.access is not None else None
    face = Face(offering.make(), offering.contracts, offering.prefix, verified=verifier is not None)
    if verifier is None:
        face.served()
    else:
        await offering.make()(None).close()  # what is wrong with the host is said before a client comes
    server = build_server(face, version("execution-harness"))
    config = uvicorn.Config(
        "",
        host=place.host,
        port=place.port,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=LAST_SECONDS,
    )
    listening = config.bind_socket()
    listening.listen(BACKLOG)  # before the address is said: whoever reads it may connect at once
    port = listening.getsockname()[1]
    address = place.url or f"http://{place.host}:{port}/mcp"
    issuers = [each.issuer for each in verifier.access.issuers] if verifier is not None else []
    auth = AuthSettings(
        issuer_url=AnyHttpUrl(issuers[0] if issuers else address),
        resource_server_url=AnyHttpUrl(address),
        validate_token_resource=False,  # the verifier itself asks for the audience
    )
    config.app = server.streamable_http_app(
        host=place.host,
        max_request_body_size=MAX_BODY_BYTES,
        auth=auth if verifier is not None else None,
        token_verifier=verifier,
        transport_security=_hosts(place, port),
    )
    print(f"serving MCP at {address}", file=sys.stderr, flush=True)
    http = _Http(config)

    def stop(_serving: "asyncio.Task[None]") -> None:
        http.should_exit = True

    with contextlib.closing(listening):
        return await _until_signal(face, http.serve(sockets=[listening]), stop)


class _Http(uvicorn.Server):
    """Leaves signals to who serves: its own way would wait for every request first, and die of the signal then."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take none."""
        yield


async def _until_signal(
    face: Face, serve: Coroutine[None, None, None], stop: Callable[["asyncio.Task[None]"], object]
) -> int:
    """Serve until it ends by itself (0) or a signal comes (8).

    A signal cancels every run in order, lets the answers that say so go out, and then stops the server.
    """
    serving = asyncio.ensure_future(serve)
    signalled = asyncio.Event()
    with orderly(lambda _name: signalled.set(), face.kill_now):
        waiting = asyncio.ensure_future(signalled.wait())
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        await face.close()
        if not signalled.is_set():
            await serving
            return 0
        await asyncio.sleep(ANSWER_SECONDS)
        stop(serving)
        with contextlib.suppress(asyncio.CancelledError):
            await serving
    return EXIT_CANCELLED


def _hosts(place: HttpPlace, port: int) -> TransportSecuritySettings:
    """Names that may stand in `Host` and `Origin`: a page in a browser must not reach a server on this machine."""
    names = {
        place.host,
        *(("localhost", "127.0.0.1", "[::1]") if place.host in ("127.0.0.1", "::1", "localhost") else ()),
    }
    hosts = [f"{name}:{port}" for name in sorted(names)]
    origins = [f"{scheme}://{each}" for scheme in ("http", "https") for each in hosts]
    if place.url:
        scheme, _, rest = place.url.partition("://")
        hosts.append(rest.partition("/")[0])
        origins.append(f"{scheme}://{hosts[-1]}")
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
