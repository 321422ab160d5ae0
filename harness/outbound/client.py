"""The one HTTP client of the host. †It looks at the address that it connects to, after resolution and on redirects.

Blocking, on the standard library: tools and destinations call it from threads of their own.
"""

import http.client
import socket
import ssl
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from harness.core.errors import HarnessError
from harness.outbound.addresses import NotSent, reachable

__all__ = ["Answer", "HttpClient", "NotReached", "NotSent", "Request"]

MAX_ANSWER_BYTES = 8 << 20
"""Of one answer: as much as a frame to the box may hold."""
MAX_REDIRECTS = 5
"""More is a loop, or a maze."""
REDIRECTS = (301, 302, 303, 307, 308)
CHUNK = 1 << 16


class NotReached(HarnessError):
    """The request left, and no whole answer came: whether it took effect is not known."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout_s: float = 30.0
    """Seconds for the whole of it, redirects included."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case; of several with one name the last."""
    body: bytes
    url: str
    """Where it came from in the end."""


@dataclass(frozen=True, slots=True)
class _Target:
    secure: bool
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == (443 if self.secure else 80) else f"{name}:{self.port}"


class HttpClient:
    """Sends requests. `private` lists hosts (`crm.internal`, `127.0.0.1:8080`) that may lie at addresses that are not
    global; everything else that resolves to one is refused, whichever way it is written."""

    def __init__(self, private: Collection[str] = (), *, max_answer_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._private = frozenset(each.lower() for each in private)
        self._max = max_answer_bytes

    def send(self, request: Request) -> Answer:
        """The answer, whatever its status. Raises NotSent, NotReached.

        Only a GET or HEAD follows redirects, each looked at anew; headers of credentials stay with their origin.
        """
        until = time.monotonic() + request.timeout_s
        url, headers = request.url, dict(request.headers)
        for _ in range(MAX_REDIRECTS + 1):
            target = _target(url)
            answer = self._once(target, request, headers, url, until)
            place = answer.headers.get("location", "")
            if answer.status not in REDIRECTS or not place or request.method not in ("GET", "HEAD"):
                return answer
            url = urljoin(url, place)
            after = _target(url)
            if target.secure and not after.secure:
                raise NotReached(f"a redirect leads from https to `{after.host}` without it")
            if (after.host, after.port) != (target.host, target.port):
                headers = {name: value for name, value in headers.items() if name.lower() in ("accept", "user-agent")}
        raise NotReached(f"more than {MAX_REDIRECTS} redirects")

    def _once(self, target: _Target, request: Request, headers: Mapping[str, str], url: str, until: float) -> Answer:
        sock = self._connect(target, until)
        connection = http.client.HTTPConnection(target.host, target.port)
        connection.sock = sock
        try:
            sent = {"Host": target.authority, "User-Agent": "execution-harness", **headers, "Connection": "close"}
            connection.putrequest(request.method, target.path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                connection.putheader(name, value)
            if request.body is not None:
                connection.putheader("Content-Length", str(len(request.body)))
            connection.endheaders(request.body)
            sock.settimeout(_left(until))
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, self._body(response, sock, until), url)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NotReached(f"`{target.host}` gave no whole answer ({type(error).__name__})") from error
        finally:
            connection.close()
            sock.close()

    def _connect(self, target: _Target, until: float) -> socket.socket:
        """A socket to the very address that was looked at: a second look-up could give another one."""
        addresses = reachable(target.host, target.port, self._private)
        problem: OSError | None = None
        for address in addresses[:4]:
            try:
                sock = socket.create_connection((address, target.port), _left(until))
            except OSError as error:
                problem = error
                continue
            if not target.secure:
                return sock
            try:
                return ssl.create_default_context().wrap_socket(sock, server_hostname=target.host)
            except (OSError, ValueError) as error:
                sock.close()
                raise NotSent(f"no secure connection to `{target.host}` ({type(error).__name__})") from error
        raise NotSent(f"`{target.host}` does not listen at port {target.port}") from problem

    def _body(self, response: http.client.HTTPResponse, sock: socket.socket, until: float) -> bytes:
        held = bytearray()
        while True:
            sock.settimeout(_left(until))
            chunk = response.read1(CHUNK)
            if not chunk:
                break
            held += chunk
            if len(held) > self._max:
                raise ValueError(f"more than {self._max} bytes")
        if response.length:
            raise http.client.IncompleteRead(bytes(held))
        return bytes(held)


def _target(url: str) -> _Target:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise NotSent("the address cannot be read") from error
    if parts.scheme not in ("http", "https") or not host or parts.username is not None:
        raise NotSent("the address is no http or https address of a host")
    path = parts.path or "/"
    if parts.query:
        path += f"?{parts.query}"
    if not path.isascii() or any(each <= " " or each == "\x7f" for each in path):
        raise NotSent("the address holds characters that no address may hold")
    secure = parts.scheme == "https"
    return _Target(secure, host, port or (443 if secure else 80), path)


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("the time is over")
    return left
