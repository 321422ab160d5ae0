"""The same box over the engine's attached stream, and under gVisor over either: one battery for each way."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import EnvironmentUnavailable
from harness.core.ports import BoxExit, ExitKind
from harness.sandbox.attest import asked_limits, faults_inside, read_stats
from harness.sandbox.docker import Carrier, DockerBackend
from harness.sandbox.docker_args import CHANNEL
from harness.sandbox.endpoint import Endpoint
from harness.sandbox.engine import Engine
from harness.sandbox.rendezvous import Rendezvous
from harness.sandbox.spec import SandboxSpec
from tests.sandbox.boxes import ask, run

pytestmark = pytest.mark.docker
WAYS = [
    pytest.param(("", Carrier.STREAM), id="runc-stream"),
    pytest.param(("runsc", Carrier.SOCKET), id="gvisor-socket"),
    pytest.param(("runsc", Carrier.STREAM), id="gvisor-stream"),
]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, endpoint: Endpoint, probe_image: str) -> tuple[SandboxSpec, Carrier]:
    """A spec and a carrier; skipped where the engine lacks the runtime."""
    runtime, carrier = request.param
    if runtime and runtime not in (run(lambda: Engine(endpoint).get("/info"))["Runtimes"]):
        pytest.skip(f"the engine has no runtime `{runtime}`")
    return SandboxSpec(memory_mb=160, disk_mb=16, pids=24, open_files=64, image=probe_image, runtime=runtime), carrier


@asynccontextmanager
async def box_over(endpoint: Endpoint, way: tuple[SandboxSpec, Carrier]) -> AsyncIterator[Any]:
    """A verified box that has said hello."""
    backend = DockerBackend(endpoint, carrier=way[1])
    box = await backend.start(way[0])
    try:
        await box.verify()
        assert await asyncio.get_running_loop().sock_recv(box.channel, 1) == b"h"
        yield box
    finally:
        await box.close()
        await backend.close()


def test_both_ends_name_the_same_descriptor() -> None:
    """The host tells the box where its channel is; the bridge puts it there."""
    text = (Path(__file__).parents[2] / "sandbox_image" / "bridge.py").read_text()
    assert f"\nCHANNEL = {CHANNEL}\n" in text


def test_frames_of_any_size_pass_whole(endpoint: Endpoint, way: tuple[SandboxSpec, Carrier]) -> None:
    """Small ones, and megabytes both ways at once, arrive as they were sent."""

    async def body() -> list[Any]:
        async with box_over(endpoint, way) as box:
            small = [await ask(box, f"found['n'] = {n}") for n in range(20)]
            large = await ask(box, f"found['size'] = len({'x' * 3_000_000!r}); found['text'] = 'y' * 3_000_000")
            assert large is not None
            return [*(item["n"] for item in small if item), large["size"], large["text"] == "y" * 3_000_000]

    assert run(body) == [*range(20), 3_000_000, True]


def test_it_is_closed_like_any_box(endpoint: Endpoint, way: tuple[SandboxSpec, Carrier]) -> None:
    """A30, A31, A32: no environment, no other descriptors, no new sockets, no way to trace or mount."""
    text = """
import ctypes, os, socket
def open_ones():
    for number in range(1024):
        try:
            os.fstat(number)
        except OSError:
            continue
        yield number
libc = ctypes.CDLL(None, use_errno=True)
for name, number in dict(ptrace=101, mount=165, unshare=272, execve=59, prctl=157, seccomp=317, bpf=321).items():
    if (libc.syscall(number, 1, 1, 0, 0, 0), ctypes.get_errno()) != (-1, 1):
        found[name] = ctypes.get_errno()
for family in range(46):
    try:
        socket.socket(family, 1)
        found[f'family {family}'] = 'made'
    except OSError:
        pass
for path in ('/x', '/opt/box/x', '/usr/x', '/etc/x'):
    try:
        open(path, 'w').close()
        found[path] = 'written'
    except OSError:
        pass
found.update(environ=dict(os.environ), descriptors=sorted(set(open_ones()) - {channel.fileno()}), user=os.getuid())
"""

    async def body() -> dict[str, Any] | None:
        async with box_over(endpoint, way) as box:
            return await ask(box, text)

    assert run(body) == {"environ": {}, "descriptors": [0, 1, 2], "user": 64646}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("import os; os._exit(7)", ExitKind.EXITED),
        ("import ctypes; ctypes.string_at(0)", ExitKind.CRASHED),
        ("b = bytearray(400 << 20)\nfor at in range(0, len(b), 4096): b[at] = 1", ExitKind.OUT_OF_MEMORY),
    ],
    ids=["exit", "crash", "B08"],
)
def test_the_end_is_told_as_it_was(
    endpoint: Endpoint, way: tuple[SandboxSpec, Carrier], text: str, kind: ExitKind
) -> None:
    """B08: leaving, crashing and running out of memory are three things, whoever is between."""

    async def body() -> BoxExit:
        async with box_over(endpoint, way) as box:
            assert await ask(box, text) is None
            await box.seen.handle.ended(5)
            ended: BoxExit = await box.close()
            return ended

    assert run(body).kind is kind


def test_a_kill_ends_an_endless_loop(endpoint: Endpoint, way: tuple[SandboxSpec, Carrier]) -> None:
    """B02: over within a second, nothing left, and the exit is ours."""

    async def body() -> tuple[BoxExit, list[int], float]:
        async with box_over(endpoint, way) as box:
            waiting = asyncio.create_task(ask(box, "while True: pass"))
            await asyncio.sleep(0.1)
            pids = box.seen.watch.processes()
            began = time.monotonic()
            await box.kill()
            assert await waiting is None
            took = time.monotonic() - began
            ended = await box.close()
            return ended, [pid for pid in pids if Path(f"/proc/{pid}/exe").exists()], took

    ended, left, took = run(body)
    assert (ended.kind, left) == (ExitKind.KILLED_BY_US, [])
    assert took < 1


def test_the_stream_is_taken_where_the_socket_does_not_carry(endpoint: Endpoint, probe_image: str) -> None:
    """E03, E15: a real start decides: a box that cannot connect is started again over the attached stream, and the
    reason is kept.
    """

    class Closed(Rendezvous):
        def __init__(self, folder: Path) -> None:
            super().__init__(folder)
            (self.folder / "s").chmod(0o000)

    async def body(monkeypatch: pytest.MonkeyPatch) -> tuple[bool, str]:
        monkeypatch.setattr("harness.sandbox.docker.Rendezvous", Closed)
        backend = DockerBackend(endpoint)
        try:
            box = await backend.start(SandboxSpec(image=probe_image))
            return box.stream is not None, backend.note
        finally:
            await backend.close()

    with pytest.MonkeyPatch.context() as patch:
        assert run(lambda: body(patch)) == (
            True,
            "frames go over the engine's attached stream, for with a socket the box ended before it said a word, "
            "with status 1",
        )


def test_a_folder_that_the_engine_does_not_have_is_no_end(
    endpoint: Endpoint, probe_image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E15: the harness in a container of its own names paths of another machine: the stream needs none."""
    monkeypatch.setenv("HARNESS_RUN_DIR_ON_ENGINE", "/nowhere/on/the/engine")

    async def body() -> tuple[bool, bool]:
        backend = DockerBackend(endpoint)
        try:
            box = await backend.start(SandboxSpec(image=probe_image))
            return box.stream is not None, "the engine does not see this host's files" in backend.note
        finally:
            await backend.close()

    assert run(body) == (True, True)


def test_a_box_of_another_machine_is_verified_through_the_engine(
    endpoint: Endpoint, probe_image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where this host sees no process of the box, a second process in it reads /proc; the engine measures and kills."""
    monkeypatch.setattr("harness.sandbox.docker_box.see", lambda *_, **__: None)

    async def body() -> tuple[bool, ExitKind]:
        async with box_over(endpoint, (SandboxSpec(image=probe_image), Carrier.STREAM)) as box:
            await ask(box, "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass")
            async with asyncio.timeout(5):
                while box.usage().cpu_seconds is None:
                    await asyncio.sleep(0.05)
            measured = box.usage()
            assert measured.memory_mb is not None
            assert measured.pids is not None
            ended: BoxExit = await box.close()
            return measured.cpu_seconds > 0.2, ended.kind

    assert run(body) == (True, ExitKind.KILLED_BY_US)


def test_what_failed_inside_is_in_the_sentence(endpoint: Endpoint, probe_image: str) -> None:
    """E11: a box that ends before its first word leaves its last line, where the stream carries it."""

    async def body() -> None:
        backend = DockerBackend(endpoint, carrier=Carrier.STREAM)
        backend.engine.post = broken(backend.engine.post)  # type: ignore[method-assign]
        await backend.start(SandboxSpec(image=probe_image))

    def broken(post: Any) -> Any:
        async def changed(path: str, body: Any = None, query: Any = None) -> Any:
            if path == "/containers/create":
                body["Cmd"][-1] = "{}"
            return await post(path, body, query)

        return changed

    with pytest.raises(EnvironmentUnavailable) as refused:
        run(body)
    assert refused.value.message.startswith("the box ended before it said a word, with status 1: `KeyError")


def test_the_engines_word_on_limits_is_compared() -> None:
    """B07: a limit that the engine dropped is a fault."""
    spec = SandboxSpec(memory_mb=64, disk_mb=16, pids=10, cpus=0.5)
    held = {"Memory": 64 << 20, "MemorySwap": 64 << 20, "PidsLimit": 10, "CpuQuota": 50_000}
    assert asked_limits({"HostConfig": held}, spec) == []
    assert asked_limits({"HostConfig": {**held, "PidsLimit": None}}, spec) == [
        "the engine holds PidsLimit at None, not 10"
    ]


def test_stats_of_either_version_are_read() -> None:
    """The engine's counters as recorded: version 1 has a peak, version 2 a level; what is missing is None."""
    old = {
        "cpu_stats": {"cpu_usage": {"total_usage": 1_500_000_000}},
        "memory_stats": {"max_usage": 3 << 20, "usage": 1},
    }
    new = {"memory_stats": {"usage": 2 << 20}, "pids_stats": {"current": 4}}
    readings = [read_stats(old), read_stats(new), read_stats({})]
    assert [(use.cpu_seconds, use.memory_mb, use.pids) for use in readings] == [
        (1.5, 3.0, None),
        (None, 2.0, 4),
        (None, None, None),
    ]


def test_a_task_without_a_filter_is_a_fault_under_every_kernel() -> None:
    """B07: gVisor's /proc lacks two lines; the filter is not one of them."""
    caps = "".join(f"{name}:\t0000000000000000\n" for name in ("CapInh", "CapPrm", "CapEff"))
    status = f"Uid:\t5\t5\t5\t5\nGid:\t5\t5\t5\t5\n{caps}"
    assert faults_inside(status + "Seccomp:\t2\n", own_kernel=True) == []
    assert faults_inside(status + "Seccomp:\t0\n", own_kernel=True) == ["Seccomp is 0, not 2"]
    assert faults_inside(status + "Seccomp:\t2\n", own_kernel=False) == [
        "NoNewPrivs is None, not 1",
        "CapAmb is None, not 0",
    ]


def test_frozen_and_thawed_over_the_stream(endpoint: Endpoint, probe_image: str) -> None:
    """Holding a box works whatever carries its frames."""
    spec = replace(SandboxSpec(), image=probe_image)

    async def body() -> tuple[bool, dict[str, Any] | None]:
        async with box_over(endpoint, (spec, Carrier.STREAM)) as box:
            await box.freeze()
            waiting = asyncio.create_task(ask(box, "found['on'] = True"))
            await asyncio.sleep(0.2)
            silent = not waiting.done()
            await box.thaw()
            return silent, await waiting

    assert run(body) == (True, {"on": True})
