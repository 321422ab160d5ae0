"""The engine's HTTP interface, as thin as the path of a run needs: one connection a request, no threads, deadlines.

Every failure becomes EnvironmentUnavailable with its own sentence and way out; EngineRefused where the engine answered.
"""

import asyncio
import errno
import json
import ssl
from collections.abc import Mapping
from typing import Any, TypeAlias
from urllib.parse import urlencode

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.endpoint import Endpoint

__all__ = ["Engine", "EngineRefused", "unreachable"]

CONNECT_SECONDS = 5.0
"""A local engine answers in under a millisecond; one behind a network in some tens."""
ANSWER_SECONDS = 60.0
"""A create takes 0.05 s; on a loaded machine, or under a cold disk, seconds."""
MAX_ANSWER = 32 << 20
"""Bytes of one answer; the longest that is asked for, a list of images, is some hundred KiB."""

UPGRADE = {"Connection": "Upgrade", "Upgrade": "tcp"}
"""Asks for the bare connection in place of an answer."""

Reader: TypeAlias = asyncio.StreamReader
Writer: TypeAlias = asyncio.StreamWriter


class EngineRefused(EnvironmentUnavailable):
    """The engine answered with an error; `status` is its HTTP status."""

    def __init__(self, status: int, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status


class Engine:
    """Requests to one engine. Holds no connection between them, so that a restarted engine is simply found again."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.tls = _tls(endpoint)
        """What a connection over TCP is wrapped in; None without TLS."""

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        """The JSON answer of a GET. Raises EngineRefused, EnvironmentUnavailable."""
        return await self.request("GET", path, query=query)

    async def post(self, path: str, body: object = None, query: Mapping[str, str] | None = None) -> Any:
        """The JSON answer of a POST; None where there is none. Raises EngineRefused, EnvironmentUnavailable."""
        return await self.request("POST", path, query=query, body=body)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        seconds: float = ANSWER_SECONDS,
    ) -> Any:
        """One request and its decoded answer. Raises EngineRefused, EnvironmentUnavailable."""
        content = await self._exchange(_head(method, path, query, body, self.endpoint), seconds)
        return json.loads(content) if content.strip() else None

    async def pull(self, repository: str, tag: str, credentials: str, seconds: float) -> list[Any]:
        """Fetch an image; what the engine said of it, line by line. `credentials`: base64 JSON, or empty.

        The engine gives up with the connection. Raises EngineRefused, EnvironmentUnavailable.
        """
        query = {"fromImage": repository, "tag": tag}
        extra = {"X-Registry-Auth": credentials} if credentials else {}
        content = await self._exchange(_head("POST", "/images/create", query, None, self.endpoint, extra), seconds)
        return [json.loads(line) for line in content.splitlines() if line.strip()]

    async def _exchange(self, request: bytes, seconds: float) -> bytes:
        try:
            async with asyncio.timeout(seconds):
                reader, writer = await self._connect()
                try:
                    writer.write(request)
                    status, headers = await _status(reader)
                    content = await _content(reader, headers)
                finally:
                    writer.close()
        except TimeoutError:
            raise EnvironmentUnavailable(
                f"the engine at {self.endpoint} did not answer within {seconds:g} s",
                hint="see what it does: `docker info`; restart it where that hangs too",
            ) from None
        except (OSError, EOFError, ValueError) as error:
            raise unreachable(self.endpoint, error) from error
        if status >= 400:
            raise EngineRefused(status, _message(content))
        return content

    async def hijack(
        self, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[Reader, Writer]:
        """A connection that the engine turns into a container's streams: written bytes go in, frames of 8 bytes and a
        part come out. Raises EngineRefused, EnvironmentUnavailable.
        """
        opened: Writer | None = None
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                reader, opened = await self._connect()
                opened.write(_head("POST", path, query, body, self.endpoint, UPGRADE))
                status, headers = await _status(reader)
                if status not in (101, 200):
                    raise EngineRefused(status, _message(await _content(reader, headers)))
        except BaseException as error:
            if opened is not None:
                opened.close()
            if isinstance(error, OSError | EOFError | ValueError | TimeoutError):
                raise unreachable(self.endpoint, error) from error
            raise
        return reader, opened

    async def _connect(self) -> tuple[Reader, Writer]:
        async with asyncio.timeout(CONNECT_SECONDS):
            if self.endpoint.socket:
                return await asyncio.open_unix_connection(self.endpoint.socket)
            host, port = self.endpoint.address
            return await asyncio.open_connection(host, port, ssl=self.tls)


def unreachable(endpoint: Endpoint, error: Exception) -> EnvironmentUnavailable:
    """What keeps this user from the engine, told apart: no socket, nobody listening, no right, no route, not Docker."""
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.ENOENT:
        return EnvironmentUnavailable(
            f"no Docker engine: there is no socket at {endpoint}",
            hint="start one (`systemctl start docker`), point DOCKER_HOST at one, or use bubblewrap",
        )
    if number == errno.ECONNREFUSED:
        return EnvironmentUnavailable(
            f"the Docker engine is down: nobody listens at {endpoint}",
            hint="start it (`systemctl start docker`), or see its log (`journalctl -u docker`)",
        )
    if number in (errno.EACCES, errno.EPERM):
        return EnvironmentUnavailable(
            f"this user may not speak to the engine at {endpoint}",
            hint="add the user to the group `docker` and log in again, or use a rootless engine",
        )
    if isinstance(error, ssl.SSLError):
        return EnvironmentUnavailable(
            f"no trusted connection to the engine at {endpoint}: {error.reason or error}",
            hint="see the certificates in DOCKER_CERT_PATH",
        )
    if isinstance(error, ValueError | EOFError):
        return EnvironmentUnavailable(
            f"what answers at {endpoint} is not a Docker engine",
            hint="see DOCKER_HOST and `docker context ls`; an engine with TLS needs DOCKER_TLS_VERIFY",
        )
    why = (error.strerror if isinstance(error, OSError) else "") or str(error) or "no answer in time"
    return EnvironmentUnavailable(
        f"no way to the engine at {endpoint}: {why.lower()}", hint="see DOCKER_HOST and `docker context ls`"
    )


def _head(
    method: str,
    path: str,
    query: Mapping[str, str] | None,
    body: object,
    endpoint: Endpoint,
    extra: Mapping[str, str] | None = None,
) -> bytes:
    """The whole request. `extra`: headers in place of or beside the usual ones."""
    content = b"" if body is None else json.dumps(body).encode()
    headers = {
        "Host": endpoint.address[0] or "engine",
        "Connection": "close",
        "Content-Type": "application/json",
        "Content-Length": str(len(content)),
        **(extra or {}),
    }
    first = f"{method} {path}{'?' + urlencode(query) if query else ''} HTTP/1.1"
    return "\r\n".join([first, *(f"{name}: {value}" for name, value in headers.items()), "", ""]).encode() + content


async def _status(reader: Reader) -> tuple[int, dict[str, str]]:
    """Status and headers, names in lower case. Raises ValueError or EOFError on what is not HTTP."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    version, _, rest = head[0].partition(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError("not HTTP")
    pairs = (line.partition(":") for line in head[1:] if line)
    return int(rest[:3]), {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _content(reader: Reader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding") == "chunked":
        parts: list[bytes] = []
        total = 0
        while size := int((await reader.readline()).split(b";")[0], 16):
            total += size
            if total > MAX_ANSWER:
                raise ValueError("answer too long")
            parts.append(await reader.readexactly(size))
            await reader.readexactly(2)
        return b"".join(parts)
    if "content-length" in headers:
        length = int(headers["content-length"])
        if length > MAX_ANSWER:
            raise ValueError("answer too long")
        return await reader.readexactly(length)
    return await reader.read(MAX_ANSWER)


def _message(content: bytes) -> str:
    """The engine's own sentence, on one line."""
    try:
        text = str(json.loads(content)["message"])
    except (ValueError, KeyError, TypeError):
        text = content[:300].decode("utf-8", "replace")
    return " ".join(text.split())


def _tls(endpoint: Endpoint) -> ssl.SSLContext | None:
    if not endpoint.certificates:
        return None
    try:
        context = ssl.create_default_context(cafile=f"{endpoint.certificates}/ca.pem")
        context.load_cert_chain(f"{endpoint.certificates}/cert.pem", f"{endpoint.certificates}/key.pem")
    except OSError as error:
        raise EnvironmentUnavailable(
            f"the certificates for the engine at {endpoint} cannot be read in `{endpoint.certificates}`",
            hint="it needs ca.pem, cert.pem and key.pem; see DOCKER_CERT_PATH",
        ) from error
    if not endpoint.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
