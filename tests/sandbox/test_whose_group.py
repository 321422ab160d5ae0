"""A control group is ended only where it is a box's: not the harness's own, not strangers', not by id 0."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.cgroup import locate
from harness.sandbox.cgroup_files import Group, Group1, Group2
from harness.sandbox.docker import DockerBackend
from harness.sandbox.docker_seen import _own_groups
from harness.sandbox.endpoint import Endpoint
from harness.sandbox.spec import SandboxSpec
from tests.sandbox.boxes import descriptors

VERSIONS = pytest.mark.parametrize("version", [1, 2])


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Signals that would have been sent; nothing is."""
    signals: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: signals.append((pid, number)))
    return signals


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process of no importance."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def recorded(folder: Path, version: int, *processes: int, parent: bool = True) -> Group:
    """A group that holds these processes. `parent`: it lies in another group, so that it is not a hierarchy's root."""
    box = folder / "box"
    box.mkdir()
    (box / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in processes))
    if parent:
        (folder / "cgroup.procs").write_text("")
    return Group2(box) if version == 2 else Group1(dict.fromkeys(("memory", "pids"), box))


@VERSIONS
def test_a_process_of_another_namespace_is_not_signalled(
    version: int, tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    """The kernel shows it as 0, and a signal to 0 is one to every process of the harness's own group."""
    group = recorded(tmp_path, version, 0, sleeper.pid)
    if version == 2:
        (tmp_path / "box" / "cgroup.kill").mkdir()  # a kernel without that file
    group.kill()
    assert sleeper.wait(30) == -signal.SIGKILL


@VERSIONS
@pytest.mark.parametrize("parent", [True, False], ids=["own", "root"])
def test_a_group_that_is_not_a_boxs_is_not_ended(
    version: int, parent: bool, tmp_path: Path, sent: list[tuple[int, int]]
) -> None:
    """One that holds the harness, or the whole machine, is refused before the first signal."""
    group = recorded(tmp_path, version, 1, *([os.getpid()] if parent else []), parent=parent)
    with pytest.raises(EnvironmentUnavailable) as refused:
        group.kill()
    message = f"the control group `{tmp_path / 'box'}` holds more than a box: nothing in it was ended"
    assert (refused.value.message, sent, (tmp_path / "box" / "cgroup.kill").exists()) == (message, [], False)


def test_only_the_hierarchies_that_hold_the_container_count() -> None:
    """gVisor walks into one hierarchy after the other, and not into all: at a root stand the host's own processes."""
    mounts = "".join(
        f"3{n} 31 0:{n} / /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}\n"
        for n, name in enumerate(("cpu", "memory", "pids"))
    )
    mounts += "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    membership = "8:pids:/docker/abc\n4:memory:/docker/abc\n1:cpu:/\n0::/\n"
    located = locate(mounts, _own_groups(membership, "abc"))
    assert (located.version1, located.version2) == (
        {"memory": Path("/sys/fs/cgroup/memory/docker/abc"), "pids": Path("/sys/fs/cgroup/pids/docker/abc")},
        None,
    )


@pytest.mark.docker
def test_a_closed_container_leaves_no_descriptor(endpoint: Endpoint, probe_image: str) -> None:
    """B11, E18: the counters of its group are closed, although the folder is still the engine's."""

    async def body() -> tuple[int, list[str]]:
        backend = DockerBackend(endpoint)
        box = await backend.start(SandboxSpec(image=probe_image))
        name = box.container
        counters = len(open_below(name))
        await box.close()
        left = open_below(name)
        await backend.close()
        return counters, left

    counters, left = asyncio.run(body())
    assert (counters > 0, left) == (True, [])


def open_below(name: str) -> list[str]:
    """Files that this process has open, in a folder of that name."""
    return [target for target in descriptors() if name in target]
