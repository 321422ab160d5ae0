"""A boxed source reaches the hosts that it declares, and nothing else: real servers, real boxes."""

import asyncio
import contextlib
import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.contract.host import load_host
from harness.contract.host_tools import SourceBox
from harness.core.errors import HarnessError
from harness.outbound.egress import SOCKET_NAME, Egress
from harness.toolsets.mcp_box import PROXY_ENVIRONMENT, Private, boxed
from harness.walls import bubblewrap
from tests.toolsets.making import python_server
from tests.toolsets.test_real_servers import scanned


@contextlib.contextmanager
def site(body: bytes) -> Iterator[int]:
    """A server on this machine's loopback; gives its port."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def asked(allowed: list[str], private: list[str], request: bytes) -> tuple[bytes, list[str]]:
    """What the proxy answers to some bytes, and whom it says that it refused."""
    refused: list[str] = []

    async def whole() -> bytes:
        async with Egress(allowed, private, refused.append).serving() as folder:
            reader, writer = await asyncio.open_unix_connection(str(folder / SOCKET_NAME))
            writer.write(request)
            answer = await reader.read()
            writer.close()
        return answer

    return asyncio.run(whole()), refused


def test_the_proxy_leads_to_what_is_declared_and_nowhere_else() -> None:
    """By name and port, plain and through a tunnel; a private address only where it is listed as one."""
    with site(b"declared") as port:
        here = f"127.0.0.1:{port}"
        plain = f"GET http://{here}/x HTTP/1.1\r\nHost: elsewhere\r\nConnection: keep-alive\r\n\r\n".encode()
        answer, refused = asked([here], [here], plain)
        assert (answer.endswith(b"\r\n\r\ndeclared"), refused) == (True, [])
        tunnel = f"CONNECT {here} HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n".encode()
        answer, refused = asked([here], [here], tunnel)
        assert (answer.startswith(b"HTTP/1.1 200"), answer.endswith(b"declared"), refused) == (True, True, [])
        answer, refused = asked([here], [], tunnel)
        assert answer.startswith(b"HTTP/1.1 502")
        assert refused == [f"{here}: `127.0.0.1` lies at an address that is not public"]
        for other in (f"localhost:{port}", f"127.0.0.1:{port + 1}", f"127.1:{port}", f"[::ffff:127.0.0.1]:{port}"):
            answer, refused = asked([here], [here], f"CONNECT {other} HTTP/1.1\r\n\r\n".encode())
            assert (answer.split(b"\r\n")[0], refused) == (
                b"HTTP/1.1 403 the source does not declare this egress",
                [other],
            )


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"CONNECT a:1/x HTTP/1.1\r\n\r\n", b"400"),
        (b"GET http://user@a.example:80/ HTTP/1.1\r\n\r\n", b"400"),
        (b"GET http://a.example:80@b.example/ HTTP/1.1\r\n\r\n", b"400"),
        (b"CONNECT a.example HTTP/1.1\r\n\r\n", b"403"),
        (b"CONNECT a.example:80:80 HTTP/1.1\r\n\r\n", b"403"),
        (b"x" * 40_000 + b"\r\n\r\n", b"431"),
    ],
)
def test_what_is_no_request_to_a_declared_host_is_refused(request_: bytes, status: bytes) -> None:
    """Whoever is in the box writes these bytes."""
    answer, _ = asked(["a.example:80"], [], request_)
    assert answer.split(b" ")[1] == status


PROBE = """
import json, socket, sys, urllib.request
found = {}
for url in sys.argv[1:]:
    try:
        found[url] = urllib.request.urlopen(url, timeout=20).read().decode()
    except OSError as error:
        found[url] = getattr(error, "code", type(error).__name__)
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1].rpartition(":")[2])), 5)
    found["direct"] = "reached"
except OSError as error:
    found["direct"] = type(error).__name__
print(json.dumps(found))
"""


@pytest.mark.bubblewrap
@pytest.mark.parametrize("wheel", [False, True], ids=["system", "wheel"])
def test_a_box_reaches_what_it_declares(tmp_path: Path, wheel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A common client finds its way by the environment; without the proxy there is no network at all."""
    if wheel:
        monkeypatch.setattr(bubblewrap, "SYSTEM_FOLDERS", ())
    with site(b"declared") as one, site(b"other") as two:
        here, other = f"http://127.0.0.1:{one}", f"http://127.0.0.1:{two}"
        box = SourceBox(egress=(here[7:],), private=(here[7:],))

        async def whole() -> subprocess.CompletedProcess[bytes]:
            async with Egress(box.egress, box.private, lambda _: None).serving() as folder:
                words = [sys.executable, "-I", "-S", "-c", PROBE, here, other]
                command = boxed(words, box, tmp_path, tmp_path, Private(tmp_path / "store", ()), folder)
                return await asyncio.to_thread(
                    subprocess.run, command, env=PROXY_ENVIRONMENT, capture_output=True, check=False, timeout=120
                )

        done = asyncio.run(whole())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {here: "declared", other: 403, "direct": "ConnectionRefusedError"}


@pytest.mark.bubblewrap
def test_a_real_server_in_a_box_fetches_from_what_it_declares(tmp_path: Path) -> None:
    """A published server, in a box of its own, over the whole way of a call; the other host is not reached."""
    with site(b"the page says hello") as one, site(b"secret of the neighbour") as two:
        command = [python_server("mcp-server-fetch"), "--ignore-robots-txt", "--allow-private-ips"]
        here = f"127.0.0.1:{one}"
        host = scanned(tmp_path, "fetch", command, box={"egress": [here], "private": [here]})
        calls = [("fetch", {"url": f"http://127.0.0.1:{port}/"}) for port in (one, two)]
        reached, refused = host.call(*calls)
    assert "the page says hello" in str(reached.value)
    assert refused.error_type is not None
    assert "secret" not in str(refused)


@pytest.mark.parametrize(
    ("box", "words"),
    [
        ({"egress": ["https://api.example.com"]}, "is no `host:port`"),
        ({"egress": ["*.example.com"]}, "is no `host:port`"),
        ({"egress": ["a.example:0"]}, "is no `host:port`"),
        ({"network": True, "egress": ["a.example"]}, "opens all that `egress` would bound"),
        ({"egress": ["a.example"], "private": ["b.example"]}, "`b.example:443` is private and no egress"),
    ],
)
def test_an_egress_is_a_host_and_a_port(tmp_path: Path, box: dict[str, Any], words: str) -> None:
    """No pattern, no scheme, nothing that says less than it seems to."""
    said = {"tools": [{"mcp": {"name": "x", "command": ["x"], "box": box}}]}
    (tmp_path / "harness.yaml").write_text(json.dumps(said))
    with pytest.raises(HarnessError) as refused:
        load_host(tmp_path / "harness.yaml")
    assert words in str(refused.value)


def test_an_egress_without_a_port_is_https() -> None:
    """In lower case, so that one host has one spelling."""
    assert SourceBox(egress=("API.example.com", "b.example:8443")).egress == ("api.example.com:443", "b.example:8443")
