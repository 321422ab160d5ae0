"""Seven real MCP servers, offline: scanned, admitted, called, over pipes and over HTTP."""

import contextlib
import http.server
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.core.state import Event
from harness.toolsets.scan import first_overlay
from tests.toolsets.making import NODE, Place, python_server

pytestmark = pytest.mark.xdist_group("servers")


def node(name: str) -> str:
    """The command of a server from npm; without it the test is skipped, and in CI it fails."""
    path = NODE / name
    if not path.exists() or shutil.which("node") is None:
        why = "the servers from npm are not installed: bash .ci/npm.sh"
        if os.environ.get("CI") == "true":
            pytest.fail(why, pytrace=False)
        pytest.skip(why)
    return str(path)


def scanned(folder: Path, name: str, command: list[str], **more: Any) -> Place:
    """A host with one server, its first overlay as scan writes it, its definitions pinned."""
    host = Place(folder, {"mcp": {"name": name, "command": command, "start_seconds": 60, **more}})
    return with_overlay(host)


def with_overlay(host: Place) -> Place:
    """Write the first overlay, and admit."""
    said = host.host.tools[0]

    async def ask(toolsets: Any) -> Any:
        return await toolsets.source(said).definitions()

    (host.folder / said.overlay_file).write_text(first_overlay(said, host.using(ask)))
    return host.admit()


def values(host: Place, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """The values of calls that all succeed."""
    outcomes = host.call(*calls, timeout_s=60)
    assert [(each.event, each.message) for each in outcomes] == [(Event.RETURN_VALID, "")] * len(calls)
    return [each.value for each in outcomes]


def test_server_time(tmp_path: Path) -> None:
    """Text that is JSON stays text, until a line of the overlay says otherwise."""
    host = scanned(tmp_path, "time", [python_server("mcp-server-time")])
    call = ("get_current_time", {"timezone": "Europe/Berlin"})
    [text] = values(host, call)
    assert isinstance(text, str | dict)
    host.overlay("time", get_current_time={"content": "json", "effect": "read"})
    [parsed] = values(host, call)
    assert parsed["timezone"] == "Europe/Berlin"
    [refused] = host.call(("get_current_time", {"timezone": "Nowhere/None"}))
    assert (refused.event, refused.error_type) == (Event.RAISE_NO_EFFECT, "SourceReported")
    assert "Nowhere/None" in refused.message


def test_server_git(tmp_path: Path) -> None:
    """A repository is read, and a commit is made."""
    repository = tmp_path / "repository"
    run = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", "init", "-q", "-b", "main", str(repository)], check=True)
    (repository / "a.txt").write_text("one\n")
    subprocess.run([*run, "add", "a.txt"], check=True)
    subprocess.run([*run, "commit", "-q", "-m", "first words"], check=True)
    command = [python_server("mcp-server-git"), "--repository", str(repository)]
    host = scanned(tmp_path, "git", command, env={"HOME": str(tmp_path)})
    status, log = values(
        host, ("git_status", {"repo_path": str(repository)}), ("git_log", {"repo_path": str(repository)})
    )
    assert "working tree clean" in str(status)
    assert "first words" in str(log)


def test_server_fetch(tmp_path: Path) -> None:
    """A page of a server on this machine."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"the page says hello"
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = [python_server("mcp-server-fetch"), "--ignore-robots-txt", "--allow-private-ips"]
        host = scanned(tmp_path, "fetch", command, env={"no_proxy": "127.0.0.1"})
        [page] = values(host, ("fetch", {"url": f"http://127.0.0.1:{server.server_port}/"}))
        server.shutdown()
    assert "the page says hello" in str(page)


def test_server_everything(tmp_path: Path) -> None:
    """C21: structure, images, links, resources, sums, and names with dashes."""
    host = scanned(tmp_path, "everything", [node("mcp-server-everything")])
    checked_everything(host)


def checked_everything(host: Place) -> None:
    """What that server gives over every transport."""
    echo, total, weather, image, links, resource = values(
        host,
        ("echo", {"message": "hi"}),
        ("get-sum", {"a": 2, "b": 3}),
        ("get-structured-content", {"location": "Chicago"}),
        ("get-tiny-image", {}),
        ("get-resource-links", {"count": 2}),
        ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}),
    )
    assert echo == "Echo: hi"
    assert "5" in total
    assert set(weather) == {"temperature", "conditions", "humidity"}
    assert [part["type"] for part in image] == ["text", "image", "text"]
    assert [part["type"] for part in links].count("link") == 2
    assert "file" in [part["type"] for part in resource]


def test_server_filesystem(tmp_path: Path) -> None:
    """A file is written and read; outside of its folder the server itself refuses."""
    inside = tmp_path / "inside"
    inside.mkdir()
    host = scanned(tmp_path, "files", [node("mcp-server-filesystem"), str(inside)])
    path = str(inside / "a.txt")
    _, read = values(host, ("write_file", {"path": path, "content": "hello"}), ("read_text_file", {"path": path}))
    assert (inside / "a.txt").read_text() == "hello"
    assert read == {"content": "hello"}
    [refused] = host.call(("read_text_file", {"path": "/etc/passwd"}))
    assert refused.error_type == "SourceReported"


def test_server_memory(tmp_path: Path) -> None:
    """Entities are made, and found again after the server was started anew."""
    env = {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}
    host = scanned(tmp_path, "memory", [node("mcp-server-memory")], env=env)
    entity = {"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}
    values(host, ("create_entities", {"entities": [entity]}))
    [graph] = values(host, ("read_graph", {}))
    assert [each["name"] for each in graph["entities"]] == ["Ada"]


def test_server_sequential_thinking(tmp_path: Path) -> None:
    """Structured results, numbers and booleans."""
    host = scanned(
        tmp_path, "thinking", [node("mcp-server-sequential-thinking")], env={"DISABLE_THOUGHT_LOGGING": "true"}
    )
    thought = {"thought": "start", "nextThoughtNeeded": True, "thoughtNumber": 1, "totalThoughts": 2}
    [result] = values(host, ("sequentialthinking", thought))
    assert result["thoughtNumber"] == 1


@contextlib.contextmanager
def listening(command: list[str]) -> Iterator[int]:
    """A server that listens on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {"PATH": os.environ["PATH"], "PORT": str(port)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                break
            time.sleep(0.1)
        yield port
    finally:
        process.kill()
        process.wait()


def test_streamable_http(tmp_path: Path) -> None:
    """The same server at an address; when it is gone its calls FAIL without effect, or end UNKNOWN."""
    with listening([node("mcp-server-everything"), "streamableHttp"]) as port:
        said = {"mcp": {"name": "everything", "url": f"http://127.0.0.1:{port}/mcp", "headers": {"X-Key": "k"}}}
        host = with_overlay(Place(tmp_path, said))
        checked_everything(host)
    [gone] = host.call(("echo", {"message": "hi"}), timeout_s=10)
    assert (gone.event, gone.error_type) == (Event.RAISE_NO_EFFECT, "SourceUnavailable")
