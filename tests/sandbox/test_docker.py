"""A live container: what it can reach, what holds its limits, how its end is told, what is left of it."""

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from harness.core.errors import EnvironmentUnavailable
from harness.core.ports import BoxExit, ExitKind
from harness.sandbox.docker import Carrier, DockerBackend
from harness.sandbox.docker_args import LABEL, OWNER_LABEL
from harness.sandbox.endpoint import Endpoint
from harness.sandbox.engine import Engine
from harness.sandbox.owner import this_owner
from harness.sandbox.rendezvous import run_folder
from harness.sandbox.spec import SandboxSpec
from harness.sandbox.sweep import sweep_containers
from tests.sandbox.boxes import ask, run
from tests.sandbox.engines import container_of, probe_in

pytestmark = pytest.mark.docker
DEAF = """
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    pass
"""


@pytest.fixture(scope="module")
def spec(probe_image: str) -> SandboxSpec:
    """A small box of the probes' image."""
    return SandboxSpec(memory_mb=96, disk_mb=16, pids=24, open_files=64, image=probe_image)


@pytest.fixture(autouse=True)
def _nothing_is_left(endpoint: Endpoint) -> Any:
    """E18: whatever a test does, no container and no socket of this process is there afterwards."""
    yield
    owner = f"{OWNER_LABEL}={this_owner()}"
    left = run(lambda: Engine(endpoint).get("/containers/json", {"all": "1", "filters": f'{{"label":["{owner}"]}}'}))
    folders = [path.name for path in run_folder().iterdir() if f"-{os.getpid()}-" in path.name]
    assert (left, folders) == ([], [])


def ends_as(endpoint: Endpoint, spec: SandboxSpec, text: str) -> BoxExit:
    """How a box ends that executes `text` and is not killed before it is gone."""

    async def body() -> BoxExit:
        async with container_of(endpoint, spec) as box:
            assert await ask(box, text) is None
            await box.seen.handle.ended(5)
            ended: BoxExit = await box.close()
            return ended

    return run(body)


def test_the_box_sees_nothing_of_the_host(endpoint: Endpoint, spec: SandboxSpec, monkeypatch: Any) -> None:
    """A30, A31, A32: no environment, no descriptors but its own, no readable /proc or /sys, another user and name."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://secret")
    text = """
import os, socket
def open_ones():
    for number in range(1024):
        try:
            os.fstat(number)
        except OSError:
            continue
        yield number
def reads(path):
    try:
        return len(open(path, 'rb').read(1000))
    except OSError:
        return 0
found.update(
    environ=dict(os.environ), descriptors=sorted(set(open_ones()) - {channel.fileno()}), name=os.uname().nodename,
    cwd=os.getcwd(), user=[os.getuid(), os.getgid(), os.getgroups()],
    open=[path for path in (
        '/proc/1/environ', '/proc/1/cmdline', '/proc/self/mountinfo', '/proc/config.gz', '/proc/sys/kernel/hostname',
        '/proc/pressure/cpu', '/sys/kernel/notes', '/etc/resolv.conf', '/etc/hosts', '/etc/hostname', '/dev/zero',
        '/proc/version') if reads(path)],
    null=os.path.samestat(os.fstat(1), os.stat('/dev/null')),
)
"""
    assert probe_in(endpoint, spec, text) == {
        "environ": {},
        "descriptors": [0, 1, 2],
        "name": "box",
        "cwd": "/tmp",
        "user": [64646, 64646, [64646]],
        "open": [],
        "null": True,
    }


def test_nothing_can_be_written_but_the_work_folder(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """B14: the root is read-only, the work folder is not and executes nothing."""
    text = """
import os
for name in ('/x', '/opt/box/x', '/usr/x', '/dev/x', '/dev/shm/x', '/run/gateway/x', '/etc/x', '/tmp/x'):
    try:
        open(name, 'w').close()
        found[name] = 'written'
    except OSError as error:
        found[name] = 'refused'
found['noexec'] = bool(os.statvfs('/tmp').f_flag & os.ST_NOEXEC)
"""
    names = ("/x", "/opt/box/x", "/usr/x", "/dev/x", "/dev/shm/x", "/run/gateway/x", "/etc/x")
    assert probe_in(endpoint, spec, text) == {**dict.fromkeys(names, "refused"), "/tmp/x": "written", "noexec": True}


def test_no_socket_can_be_made_and_the_gateway_is_gone(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """A32: once the channel is open there is no path to it, no second connection, no socket of any family."""
    text = """
import os, socket
found['sockets'] = 0
for family in range(46):
    for kind in (1, 2, 3, 5):
        try:
            socket.socket(family, kind)
            found['sockets'] += 1
        except OSError:
            pass
try:
    found['path'] = os.path.exists('/run/gateway/s')
except OSError:
    found['path'] = False
"""
    assert probe_in(endpoint, spec, text) == {"sockets": 0, "path": False}


def test_a_second_connection_is_refused(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """The host's own user finds no way in beside the box: the socket left with the first connection."""

    async def body() -> tuple[list[str], str]:
        async with container_of(endpoint, spec) as box:
            folder: Path = box.meeting.folder
            with socket.socket(socket.AF_UNIX) as second:
                try:
                    second.connect(str(folder / "s"))
                    said = "connected"
                except OSError as error:
                    said = type(error).__name__
            return [path.name for path in folder.iterdir()], said

    assert run(body) == ([], "FileNotFoundError")


def test_a_stranger_at_the_socket_is_not_taken_for_the_box(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """The kernel's word for the peer decides: a process outside the container's group ends the start."""

    class Hurried(DockerBackend):
        async def _run(self, container: str) -> None:
            folder = self._live[container].meeting.folder
            with socket.socket(socket.AF_UNIX) as stranger:
                stranger.connect(str(folder / "s"))
                await super()._run(container)

    async def body() -> None:
        backend = Hurried(endpoint, carrier=Carrier.SOCKET)
        try:
            await backend.start(spec)
        finally:
            await backend.close()

    with pytest.raises(EnvironmentUnavailable) as refused:
        run(body)
    assert refused.value.message == "another process than the box connected to its socket"


def test_limits_are_read_back(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """B07: a limit that the kernel does not hold as asked is a refusal, with both numbers."""

    async def body() -> None:
        async with container_of(endpoint, spec) as box:
            box._spec, box._verified = replace(spec, pids=8), False
            await box.verify()

    with pytest.raises(EnvironmentUnavailable) as refused:
        run(body)
    assert refused.value.message == "a limit of the box does not hold: the limit of pids is 24, not 8"


def test_too_much_memory_ends_the_box_and_says_so(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """B06, B08: touched page by page, without swap: the kernel kills, and the exit names the reason."""
    text = "block = bytearray(400 << 20)\nfor at in range(0, len(block), 4096): block[at] = 1"
    assert ends_as(endpoint, spec, text).kind is ExitKind.OUT_OF_MEMORY


def test_a_child_that_dies_for_memory_counts(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """B08: the first process ends well, and the exit still says what happened."""
    text = """
import os
child = os.fork()
if child == 0:
    block = bytearray(400 << 20)
    for at in range(0, len(block), 4096): block[at] = 1
    os._exit(0)
os.waitpid(child, 0)
os._exit(0)
"""
    assert ends_as(endpoint, spec, text).kind is ExitKind.OUT_OF_MEMORY


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import os; os._exit(0)", BoxExit(ExitKind.EXITED, "exit status 0")),
        ("import os; os._exit(7)", BoxExit(ExitKind.EXITED, "exit status 7")),
        ("import ctypes; ctypes.string_at(0)", BoxExit(ExitKind.CRASHED, "crashed with SIGSEGV")),
    ],
    ids=["exit", "exit-7", "crash"],
)
def test_the_end_is_told_as_it_was(endpoint: Endpoint, spec: SandboxSpec, text: str, expected: BoxExit) -> None:
    """B08: leaving and crashing are two things."""
    assert ends_as(endpoint, spec, text) == expected


def test_killed_by_somebody_else_is_told_apart(
    endpoint: Endpoint, spec: SandboxSpec, client: docker.DockerClient
) -> None:
    """B08: a person's `docker kill` is neither ours nor the memory's."""

    async def body() -> BoxExit:
        async with container_of(endpoint, spec) as box:
            await asyncio.to_thread(client.containers.get(box.id).kill)
            await box.seen.handle.ended(5)
            ended: BoxExit = await box.close()
            return ended

    assert run(body) == BoxExit(ExitKind.KILLED_BY_OTHERS, "killed from outside with SIGKILL")


def test_a_removed_container_is_no_surprise(endpoint: Endpoint, spec: SandboxSpec, client: docker.DockerClient) -> None:
    """E08: `docker rm -f` under a running box ends it with a reason."""

    async def body() -> BoxExit:
        async with container_of(endpoint, spec) as box:
            await asyncio.to_thread(client.containers.get(box.id).remove, force=True)
            await box.seen.handle.ended(5)
            ended: BoxExit = await box.close()
            return ended

    assert run(body) == BoxExit(ExitKind.KILLED_BY_OTHERS, "the container was removed from outside")


@pytest.mark.parametrize(
    "text",
    [
        "while True: pass",
        "import time; time.sleep(3600)",
        "import re; re.match(r'(a+)+$', 'a' * 40 + 'b')",
        DEAF,
    ],
    ids=["B02", "B01", "B04", "B25"],
)
def test_a_kill_ends_whatever_runs(endpoint: Endpoint, spec: SandboxSpec, text: str) -> None:
    """Endless loops, sleeps, C code and ignored signals are over within half a second, and the exit is ours."""

    async def body() -> tuple[bool, BoxExit, float]:
        async with container_of(endpoint, spec) as box:
            waiting = asyncio.create_task(ask(box, text))
            await asyncio.sleep(0.1)
            started = time.monotonic()
            await box.kill()
            took = time.monotonic() - started
            assert await waiting is None
            return await box.seen.handle.ended(0), await box.close(), took

    gone, ended, took = run(body)
    assert (gone, ended) == (True, BoxExit(ExitKind.KILLED_BY_US, "killed by the harness"))
    assert took < 0.5


def test_no_descendant_outlives_the_box(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """B03, B11: double forks in sessions of their own are gone with the first process; each was confined."""
    text = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            channel.close()
            time.sleep(600)
        os._exit(0)
time.sleep(0.1)
"""

    async def body() -> tuple[int, list[int]]:
        async with container_of(endpoint, spec) as box:
            assert await ask(box, text) == {}
            await box.verify()
            pids = [pid for pid in box.seen.watch.processes() if Path(f"/proc/{pid}/exe").exists()]
            await box.close()
            return len(pids), [pid for pid in pids if Path(f"/proc/{pid}/exe").exists()]

    assert run(body) == (4, [])


def test_a_fork_bomb_ends_with_its_box(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """B10: forking without end stays under the limit, and one kill ends it."""
    text = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""

    async def body() -> tuple[bool, list[int]]:
        async with container_of(endpoint, spec) as box:
            waiting = asyncio.create_task(ask(box, text))
            await asyncio.sleep(0.3)
            pids = box.seen.watch.processes()
            await box.kill()
            assert await waiting is None
            await box.close()
            return 10 < len(pids) <= spec.pids, [pid for pid in pids if Path(f"/proc/{pid}/exe").exists()]

    assert run(body) == (True, [])


def test_a_frozen_box_uses_no_processor_and_goes_on_afterwards(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """Holding a box for a person costs nothing while it lasts."""

    async def body() -> tuple[float, dict[str, object] | None]:
        async with container_of(endpoint, spec) as box:
            waiting = asyncio.create_task(
                ask(box, "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass")
            )
            await asyncio.sleep(0.1)
            await box.freeze()
            await asyncio.sleep(0.05)
            before = box.usage().cpu_seconds
            await asyncio.sleep(0.2)
            after = box.usage().cpu_seconds
            await box.thaw()
            assert before is not None
            assert after is not None
            return after - before, await waiting

    assert run(body) == (0.0, {})


def test_a_frozen_box_can_be_killed(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """A stopped tree ends like any other."""

    async def body() -> BoxExit:
        async with container_of(endpoint, spec) as box:
            await box.freeze()
            await box.kill()
            ended: BoxExit = await box.close()
            return ended

    assert run(body).kind is ExitKind.KILLED_BY_US


def test_use_is_measured(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """Processor seconds, peak memory and tasks come from the kernel and stay readable after the end."""
    text = """
block = bytearray(30 << 20)
import time
end = time.process_time() + 0.2
while time.process_time() < end: pass
"""

    async def body() -> tuple[bool, bool, bool]:
        async with container_of(endpoint, spec) as box:
            assert await ask(box, text) == {}
            await box.close()
            used = box.usage()
            assert used.cpu_seconds is not None
            assert used.memory_mb is not None
            assert used.pids is not None
            return 0.19 <= used.cpu_seconds < 3, 30 < used.memory_mb < 90, used.pids >= 1

    assert run(body) == (True, True, True)


def test_printing_costs_the_engine_nothing(endpoint: Endpoint, spec: SandboxSpec, client: docker.DockerClient) -> None:
    """B12: the first descriptors lead to /dev/null and the engine keeps no log."""

    async def body() -> tuple[dict[str, object] | None, str]:
        async with container_of(endpoint, spec) as box:
            said = await ask(box, "import os\nfor fd in (1, 2):\n  os.write(fd, b'x\\n' * 100000)")
            config = (await asyncio.to_thread(client.containers.get, box.id)).attrs["HostConfig"]["LogConfig"]
            return said, config["Type"]

    assert run(body) == ({}, "none")


def test_what_a_killed_host_left_is_swept_and_what_lives_is_not(
    endpoint: Endpoint, spec: SandboxSpec, client: docker.DockerClient
) -> None:
    """E06: only containers whose owner is proven dead go; a living owner's, and an unclear one's, stay."""
    mine = this_owner()
    owners = {
        "dead": str(replace(mine, started=mine.started - 1)),
        "alive": str(mine),
        "elsewhere": str(replace(mine, machine="0" * 16, started=1)),
        "namespace": str(replace(mine, namespace=mine.namespace + 1, started=1)),
        "garbled": "garbled",
    }

    @asynccontextmanager
    async def containers() -> AsyncIterator[dict[str, str]]:
        made = {
            name: client.containers.create(spec.image, labels={LABEL: mine.machine, OWNER_LABEL: owner}).id
            for name, owner in owners.items()
        }
        try:
            yield made
        finally:
            for container in client.api.containers(all=True):
                if container["Id"] in made.values():
                    client.api.remove_container(container["Id"], force=True)

    async def body() -> set[str]:
        async with containers() as made:
            await sweep_containers(Engine(endpoint))
            left = {container["Id"] for container in client.api.containers(all=True)}
            return {name for name, id_ in made.items() if id_ in left}

    assert run(body) == {"alive", "elsewhere", "namespace", "garbled"}


def test_a_cancelled_start_leaves_nothing(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """E18: whoever gives up in the middle of a start finds no container later (see the fixture)."""

    async def body() -> None:
        backend = DockerBackend(endpoint)
        for moment in (0.0, 0.02, 0.05, 0.08):
            starting = asyncio.create_task(backend.start(spec))
            await asyncio.sleep(moment)
            starting.cancel()
            await asyncio.wait([starting])
        await backend.close()

    run(body)


def test_a_box_that_never_speaks_is_given_up(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """E11: running is not ready; without a word in time there is no box."""

    class Deaf(DockerBackend):
        async def _run(self, container: str) -> None:
            await asyncio.sleep(30)

    async def never() -> None:
        await Deaf(endpoint).start(replace(spec, start_seconds=0.3))

    with pytest.raises(EnvironmentUnavailable) as refused:
        run(never)
    assert refused.value.message == "the box did not start within 0.3 s"


def test_an_image_that_went_away_is_found_or_built_again(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """E10: between two starts of one host the image was replaced: the next start looks again, and works."""

    async def body() -> tuple[bool, bytes]:
        backend = DockerBackend(endpoint)
        found = await backend.image(spec)
        backend._images[spec.image] = replace(found, id="sha256:" + "0" * 64)
        box = await backend.start(spec)
        try:
            return await backend.image(spec) == found, box.channel.recv(1)
        finally:
            await backend.close()

    assert run(body) == (True, b"h")


def test_an_unknown_runtime_is_named_with_the_mend(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """E10: a runtime that the engine does not have is no surprise in the middle of a run."""

    async def body() -> None:
        await DockerBackend(endpoint).start(replace(spec, runtime="kata"))

    with pytest.raises(EnvironmentUnavailable) as refused:
        run(body)
    assert refused.value.message.startswith("the engine has no runtime `kata`; it has `io.containerd.runc.v2`")
    assert "daemon.json" in refused.value.hint
