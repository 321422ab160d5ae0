"""Finding an engine and speaking to it: each way in which it can fail has its own sentence and way out (E10)."""

import asyncio
import errno
import hashlib
import json
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.endpoint import Endpoint, find_endpoint
from harness.sandbox.engine import Engine, EngineRefused, unreachable
from harness.sandbox.engine_info import read_info, shortfalls

START = "start one (`systemctl start docker`), point DOCKER_HOST at one, or use bubblewrap"
INFO = {
    "OSType": "linux",
    "ServerVersion": "27.1.1",
    "Architecture": "x86_64",
    "OperatingSystem": "Ubuntu 24.04 LTS",
    "CgroupVersion": "2",
    "SecurityOptions": ["name=apparmor", "name=seccomp,profile=builtin", "name=cgroupns"],
    "Runtimes": {"runc": {}, "io.containerd.runc.v2": {}},
    "MemoryLimit": True,
    "SwapLimit": True,
    "PidsLimit": True,
    "CpuCfsQuota": True,
}


def context(home: Path, name: str, host: str, *, tls: bool = False) -> None:
    """A docker context as the command writes it."""
    key = hashlib.sha256(name.encode()).hexdigest()
    folder = home / ".docker" / "contexts" / "meta" / key
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps({"Name": name, "Endpoints": {"docker": {"Host": host}}}))
    if tls:
        (home / ".docker" / "contexts" / "tls" / key / "docker").mkdir(parents=True)


def test_docker_host_beats_the_context(tmp_path: Path) -> None:
    """E10: the variable is what the user typed last."""
    context(tmp_path, "far", "tcp://far:2376")
    env = {"DOCKER_HOST": "unix:///run/mine.sock", "DOCKER_CONTEXT": "far", "HOME": str(tmp_path)}
    assert find_endpoint(env) == Endpoint("unix:///run/mine.sock", "DOCKER_HOST")


def test_the_chosen_context_is_followed(tmp_path: Path) -> None:
    """E10: as the docker command does, by variable or by its configuration, certificates with it."""
    context(tmp_path, "far", "tcp://far:2376", tls=True)
    (tmp_path / ".docker" / "config.json").write_text('{"currentContext": "far"}')
    found = find_endpoint({"HOME": str(tmp_path)})
    assert (found.url, found.source, found.address) == ("tcp://far:2376", "the docker context `far`", ("far", 2376))
    assert found.certificates.endswith("/docker")


def test_a_context_that_does_not_exist_is_named(tmp_path: Path) -> None:
    """E10: a wrong context is not a missing engine."""
    with pytest.raises(EnvironmentUnavailable) as refused:
        find_endpoint({"HOME": str(tmp_path), "DOCKER_CONTEXT": "fra"})
    assert str(refused.value) == (
        "the docker context `fra` does not exist "
        "(see `docker context ls`; choose one with DOCKER_CONTEXT or `docker context use default`)"
    )


def test_a_broken_context_is_named(tmp_path: Path) -> None:
    """E10: what cannot be read is said, and nothing else is taken in its place."""
    context(tmp_path, "odd", "tcp://x:1")
    file = next((tmp_path / ".docker" / "contexts" / "meta").glob("*/meta.json"))
    file.write_text("{")
    with pytest.raises(EnvironmentUnavailable) as refused:
        find_endpoint({"HOME": str(tmp_path), "DOCKER_CONTEXT": "odd"})
    assert refused.value.message == "the docker context `odd` cannot be read: JSONDecodeError"


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("ssh://far", "DOCKER_HOST names the engine `ssh://far`, and the harness does not speak to engines over ssh"),
        ("npipe:////./pipe/x", "DOCKER_HOST names the engine `npipe:////./pipe/x`, which is no address of an engine"),
        (
            "/var/run/docker.sock",
            "DOCKER_HOST names the engine `/var/run/docker.sock`, which is no address of an engine",
        ),
    ],
)
def test_an_address_that_is_not_spoken_is_refused(host: str, message: str) -> None:
    """E10: with what to write instead."""
    with pytest.raises(EnvironmentUnavailable) as refused:
        find_endpoint({"DOCKER_HOST": host})
    assert refused.value.message == message
    assert refused.value.hint != ""


def test_a_rootless_engine_is_found_where_no_system_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E04: the user's own engine needs no setting."""
    monkeypatch.setattr("harness.sandbox.endpoint.SYSTEM_SOCKET", str(tmp_path / "none"))
    (tmp_path / "docker.sock").touch()
    assert find_endpoint({"XDG_RUNTIME_DIR": str(tmp_path)}).socket == str(tmp_path / "docker.sock")


def ask(url: str) -> EnvironmentUnavailable:
    """What a question to this address fails with."""

    async def body() -> None:
        await Engine(Endpoint(url, "DOCKER_HOST")).get("/version")

    with pytest.raises(EnvironmentUnavailable) as refused:
        asyncio.run(body())
    return refused.value


def test_no_socket_nobody_listening_and_no_right_are_three_things(short_tmp: str) -> None:
    """E10: each has its own mend."""
    absent = ask(f"unix://{short_tmp}/none")
    assert (absent.message, absent.hint) == (
        f"no Docker engine: there is no socket at `unix://{short_tmp}/none` (DOCKER_HOST)",
        START,
    )
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(f"{short_tmp}/down")
    down = ask(f"unix://{short_tmp}/down")
    assert down.message == f"the Docker engine is down: nobody listens at `unix://{short_tmp}/down` (DOCKER_HOST)"
    closed = unreachable(Endpoint("unix:///run/d", "the default"), PermissionError(errno.EACCES, "Permission denied"))
    assert str(closed) == (
        "this user may not speak to the engine at `unix:///run/d` (the default) "
        "(add the user to the group `docker` and log in again, or use a rootless engine)"
    )


def served(short_tmp: str, answer: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> Any:
    """What an engine that behaves as `answer` makes of one question; its error, or its value."""

    async def body() -> Any:
        async with await asyncio.start_unix_server(answer, f"{short_tmp}/s"):
            return await Engine(Endpoint(f"unix://{short_tmp}/s", "DOCKER_HOST")).request("GET", "/x", seconds=0.3)

    return asyncio.run(body())


def test_what_is_no_engine_is_said_so(short_tmp: str) -> None:
    """E10: something else listens there."""

    async def other(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
        writer.close()

    with pytest.raises(EnvironmentUnavailable) as refused:
        served(short_tmp, other)
    assert refused.value.message == f"what answers at `unix://{short_tmp}/s` (DOCKER_HOST) is not a Docker engine"


def test_an_engine_that_hangs_is_given_up(short_tmp: str) -> None:
    """E10: no question waits for ever."""

    async def deaf(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    with pytest.raises(EnvironmentUnavailable) as refused:
        served(short_tmp, deaf)
    assert refused.value.message == f"the engine at `unix://{short_tmp}/s` (DOCKER_HOST) did not answer within 0.3 s"


@pytest.mark.parametrize(
    "answer",
    [
        b'HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{"a":1}',
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n4;x=y\r\n":1}\r\n0\r\n\r\n',
        b'HTTP/1.0 200 OK\r\n\r\n{"a":1}',
    ],
    ids=["length", "chunked", "until-the-end"],
)
def test_every_form_of_answer_is_read(short_tmp: str, answer: bytes) -> None:
    """HTTP knows three ways to say where an answer ends."""

    async def engine(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    assert served(short_tmp, engine) == {"a": 1}


def test_the_engines_own_refusal_keeps_its_words_and_status(short_tmp: str) -> None:
    """What the engine says is passed on, on one line."""

    async def engine(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b'{"message":"No such\\n  image: x"}'
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        writer.close()

    with pytest.raises(EngineRefused) as refused:
        served(short_tmp, engine)
    assert (refused.value.status, refused.value.message) == (404, "No such image: x")


def test_a_complete_engine_lacks_nothing() -> None:
    """The answer of an engine on a current distribution."""
    facts = read_info(INFO)
    assert shortfalls(INFO, runtime="", swap=True) == []
    assert (facts.version, facts.cgroup, facts.rootless, facts.selinux, facts.desktop) == (
        "27.1.1",
        "2",
        False,
        False,
        False,
    )


def test_a_rootless_engine_without_delegation_is_refused_by_controller() -> None:
    """E04, B07: the limit would silently not hold; the missing controller is named."""
    options = [*INFO["SecurityOptions"], "name=rootless"]
    lacking = shortfalls({**INFO, "SecurityOptions": options, "PidsLimit": False}, runtime="", swap=True)
    assert [(item.message, "`pids`" in item.hint and "Delegate" in item.hint) for item in lacking] == [
        ("the engine cannot limit the number of processes", True)
    ]


def test_swap_that_cannot_be_limited_matters_only_where_there_is_swap() -> None:
    """B06: memory is held without swap, or there is none."""
    info = {**INFO, "SwapLimit": False}
    assert shortfalls(info, runtime="", swap=False) == []
    assert [item.message for item in shortfalls(info, runtime="", swap=True)] == ["the engine cannot limit swap"]


def test_an_engine_without_seccomp_or_linux_is_refused() -> None:
    """A37: nothing runs without its walls."""
    messages = [
        item.message
        for item in shortfalls({**INFO, "SecurityOptions": [], "OSType": "windows"}, runtime="", swap=False)
    ]
    assert messages == [
        "the engine runs `windows` containers",
        "the engine was built, or its kernel, without seccomp",
    ]


def test_desktop_and_selinux_are_recognised() -> None:
    """E03, E15: both keep a socket of the host out of a box."""
    facts = read_info(
        {**INFO, "OperatingSystem": "Docker Desktop", "SecurityOptions": ["name=seccomp", "name=selinux"]}
    )
    assert (facts.desktop, facts.selinux) == (True, True)


def test_the_environment_of_this_test_names_the_engine_that_it_uses() -> None:
    """The suite never touches an engine that the user did not name."""
    if os.environ.get("DOCKER_HOST"):
        assert find_endpoint().source == "DOCKER_HOST"
