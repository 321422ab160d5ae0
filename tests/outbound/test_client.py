"""The host's HTTP client: what it refuses to reach, before and after redirects, and what it makes of bad answers."""

import contextlib
import http.server
import threading
import time
from collections.abc import Iterator

import pytest

from harness.outbound import client as module
from harness.outbound.client import HttpClient, NotReached, NotSent, Request


class Site(http.server.BaseHTTPRequestHandler):
    """Answers by path."""

    protocol_version = "HTTP/1.1"
    seen: list[tuple[str, dict[str, str]]]

    def do_GET(self) -> None:
        self.server.seen.append((self.path, dict(self.headers)))  # type: ignore[attr-defined]
        port = self.server.server_address[1]
        redirects = {
            "/to-inside": f"http://127.0.0.2:{port}/",
            "/loop": "/loop",
            "/moved": "/ok",
            "/elsewhere": f"http://localhost:{port}/ok",
            "/metadata": "http://169.254.169.254/latest",
            "/to-file": "file:///etc/passwd",
        }
        if self.path in redirects:
            self._give(302, b"", Location=redirects[self.path])
        elif self.path == "/huge":
            self._give(200, b"x" * 5_000)
        elif self.path == "/short":
            self._give(200, b"abc", length=10)
            self.close_connection = True
        elif self.path == "/slow":
            time.sleep(1)
            with contextlib.suppress(OSError):
                self._give(200, b"late")
        elif self.path == "/nonsense":
            self.wfile.write(b"this is no HTTP\r\n\r\n")
            self.close_connection = True
        else:
            self._give(200, b"ok")

    do_POST = do_GET

    def _give(self, status: int, body: bytes, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[http.server.ThreadingHTTPServer]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        server.seen = []  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server
        server.shutdown()


def get(site: http.server.ThreadingHTTPServer, path: str, **more: float) -> module.Answer:
    port = site.server_address[1]
    client = HttpClient([f"127.0.0.1:{port}"], max_answer_bytes=1_000)
    return client.send(Request("GET", f"http://127.0.0.1:{port}{path}", {"Authorization": "Bearer s"}, **more))


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "0.0.0.0", "10.0.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
        *(
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[fe80::1]",
            "[fd00::1]",
            "[64:ff9b::7f00:1]",
            "2130706433",
            "0x7f.1",
            "127.1",
        ),
    ],
)
def test_private_addresses_are_refused_however_they_are_written(host: str) -> None:
    """†After resolution; nothing is sent."""
    with pytest.raises(NotSent, match=r"not public|cannot be resolved"):
        HttpClient().send(Request("GET", f"http://{host}:9/", timeout_s=2))


def test_a_listed_host_is_reached(site: http.server.ThreadingHTTPServer) -> None:
    """By name, or by name and port; its neighbours are not."""
    assert get(site, "/ok").body == b"ok"
    port = site.server_address[1]
    with pytest.raises(NotSent):
        HttpClient(["127.0.0.1:1"]).send(Request("GET", f"http://127.0.0.1:{port}/"))


@pytest.mark.parametrize("path", ["/to-inside", "/metadata", "/to-file"])
def test_a_redirect_is_looked_at_like_any_address(site: http.server.ThreadingHTTPServer, path: str) -> None:
    """†The second address is not listed, or no address of a host at all."""
    with pytest.raises(NotSent):
        get(site, path)


def test_credentials_stay_with_their_origin(site: http.server.ThreadingHTTPServer) -> None:
    """A redirect within the origin keeps them, one to another host does not; a POST follows none."""
    assert get(site, "/moved").body == b"ok"
    assert site.seen[-1][1]["Authorization"] == "Bearer s"  # type: ignore[attr-defined]
    port = site.server_address[1]
    client = HttpClient(["127.0.0.1", "localhost"])
    client.send(Request("GET", f"http://127.0.0.1:{port}/elsewhere", {"Authorization": "Bearer s"}))
    assert "Authorization" not in site.seen[-1][1]  # type: ignore[attr-defined]
    assert client.send(Request("POST", f"http://127.0.0.1:{port}/moved", body=b"")).status == 302


@pytest.mark.parametrize("path", ["/loop", "/huge", "/short", "/nonsense"])
def test_a_bad_answer_is_not_an_answer(site: http.server.ThreadingHTTPServer, path: str) -> None:
    """Loops, floods, half answers, bytes that are no HTTP: the request left, and nothing is known."""
    with pytest.raises(NotReached):
        get(site, path)


def test_the_deadline_is_one_for_the_whole(site: http.server.ThreadingHTTPServer) -> None:
    """It does not begin again with each byte."""
    begun = time.monotonic()
    with pytest.raises(NotReached):
        get(site, "/slow", timeout_s=0.2)
    assert time.monotonic() - begun < 0.9


@pytest.mark.parametrize("url", ["ftp://a/", "http://", "http://u:p@example.org/", "http://a b/", "http://[/", "x"])
def test_what_is_no_address_is_refused(url: str) -> None:
    """Other schemes, credentials inside addresses, broken ones."""
    with pytest.raises(NotSent):
        HttpClient().send(Request("GET", url, timeout_s=1))
