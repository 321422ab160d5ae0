"""Control groups of both versions: found in recorded trees, written and read as files, made for real where allowed."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox import cgroup
from harness.sandbox.cgroup import Located, find, locate
from harness.sandbox.cgroup_files import Group2, Reading
from harness.sandbox.kernel_files import write_text
from harness.sandbox.leftover import leave
from harness.sandbox.owner import this_owner
from harness.sandbox.spec import SandboxSpec
from tests.sandbox.boxes import GROUPS, groups_of

MIB = 1 << 20
Unified = Callable[[str, tuple[str, ...]], Path]
SPEC = SandboxSpec(memory_mb=128, disk_mb=16, pids=20, cpus=0.5)
HYBRID = """\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:5 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""
HYBRID_SELF = "9:name=systemd:/x\n8:pids:/jobs/a b\n4:memory:/jobs\n2:cpu,cpuacct:/\n0::/init\n"


def test_a_hybrid_machine_is_read_by_controller() -> None:
    """Version 1 as Debian mounts it: joined controllers share a folder, names may hold blanks."""
    assert locate(HYBRID, HYBRID_SELF) == Located(
        {
            "cpu": Path("/sys/fs/cgroup/cpu,cpuacct"),
            "cpuacct": Path("/sys/fs/cgroup/cpu,cpuacct"),
            "memory": Path("/sys/fs/cgroup/memory/jobs"),
            "pids": Path("/sys/fs/cgroup/pids/jobs/a b"),
        },
        Path("/sys/fs/cgroup/unified/init"),
        Path("/sys/fs/cgroup/unified"),
    )


@pytest.mark.parametrize(
    ("root", "membership", "expected"),
    [
        ("/", "/user.slice/user-1000.slice", "/sys/fs/cgroup/user.slice/user-1000.slice"),
        ("/docker/abc", "/docker/abc/app", "/sys/fs/cgroup/app"),
        ("/docker/abc", "/", "/sys/fs/cgroup"),
    ],
    ids=["whole", "part", "namespace"],
)
def test_a_unified_machine_is_read_through_its_mount(root: str, membership: str, expected: str) -> None:
    """Version 2, also where a container sees only its part of the hierarchy."""
    mounts = f"30 23 0:26 {root} /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
    found = locate(mounts, f"0::{membership}\n")
    assert (found.version1, found.version2) == ({}, Path(expected))


@pytest.fixture
def unified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Unified:
    """A recorded tree whose service folder hands `given` controllers on; new ones have `files`."""
    service = tmp_path / "app.slice" / "me.scope"
    service.mkdir(parents=True)
    original = Path.mkdir

    def build(given: str, files: tuple[str, ...]) -> Path:
        for folder, controllers in ((service, ""), (service.parent, given), (tmp_path, given)):
            (folder / "cgroup.subtree_control").write_text(controllers)
            (folder / "cgroup.procs").write_text("")

        def mkdir(self: Path, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            for name in (*files, "cgroup.procs"):
                (self / name).write_text("")

        monkeypatch.setattr(Path, "mkdir", mkdir)
        return service

    return build


def test_version_2_sets_every_limit(tmp_path: Path, unified: Unified) -> None:
    """B06, B07: memory without swap, killed as a whole, tasks, processor; in the nearest folder that hands them on."""
    files = ("memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.max")
    service = unified("cpu memory pids", files)
    parent = find(Located({}, service, tmp_path))
    assert parent is not None
    parent.create(SPEC)
    (made,) = [path for path in service.parent.iterdir() if path.is_dir() and path != service]
    assert {name: (made / name).read_text() for name in files} == {
        "memory.max": str(128 * MIB),
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "pids.max": "20",
        "cpu.max": "50000 100000",
    }


def test_without_delegated_controllers_there_is_no_place(tmp_path: Path, unified: Unified) -> None:
    """E04: a rootless user without delegation gets no groups, instead of groups that hold nothing."""
    service = unified("cpu", ())
    assert find(Located({}, service, tmp_path)) is None


def test_a_limit_that_cannot_be_set_is_refused(
    tmp_path: Path, unified: Unified, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B07: no box without its limit; the sentence names it."""
    service = unified("memory pids", ())
    parent = find(Located({}, service, tmp_path))
    assert parent is not None

    def closed(path: str, text: str) -> None:
        if path.endswith("/memory.max"):
            raise PermissionError(13, "Permission denied")
        write_text(path, text)

    monkeypatch.setattr("harness.sandbox.cgroup.write_text", closed)
    with pytest.raises(EnvironmentUnavailable) as refused:
        parent.create(SPEC)
    assert refused.value.message == ("the limit `memory.max` of the box cannot be set to 134217728: Permission denied")


def test_joined_controllers_share_a_folder(tmp_path: Path) -> None:
    """Version 1 as Debian mounts it: one folder is made for both, with the limits of each."""
    (tmp_path / "cpu,cpuacct").mkdir()
    (tmp_path / "memory").mkdir()
    (tmp_path / "pids").mkdir()
    both = tmp_path / "cpu,cpuacct"
    places = {"memory": tmp_path / "memory", "pids": tmp_path / "pids", "cpu": both, "cpuacct": both}
    parent = find(Located(places, None, None))
    assert parent is not None
    parent.create(SPEC)
    (made,) = both.iterdir()
    assert (made / "cpu.cfs_quota_us").read_text() == "50000"
    assert (tmp_path / "pids" / made.name / "pids.max").read_text() == "20"


def test_a_group_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    """What was made before the one that failed is gone again."""
    places = {"memory": tmp_path / "memory", "pids": tmp_path / "pids"}
    for folder in places.values():
        folder.mkdir()
    parent = find(Located(places, None, None))
    assert parent is not None
    places["pids"].rmdir()
    with pytest.raises(EnvironmentUnavailable, match="no control group for the box"):
        parent.create(SPEC)
    assert list(places["memory"].iterdir()) == []


def test_what_could_not_be_removed_is_tried_again(tmp_path: Path, unified: Unified) -> None:
    """E06, E18: a long-lived host does not collect groups that a dying tree held on to for too long."""
    service = unified("memory pids", ())
    parent = find(Located({}, service, tmp_path))
    assert parent is not None
    slow = tmp_path / "slow"
    slow.mkdir()
    busy = slow / "still-there"
    busy.mkdir()
    leave(Group2(slow))
    parent.create(SPEC)
    assert slow.exists()
    for file in (*busy.iterdir(), *(each for each in slow.iterdir() if each.is_file())):
        file.unlink()
    busy.rmdir()
    parent.create(SPEC)
    assert not slow.exists()


def test_version_2_counters_are_read(tmp_path: Path) -> None:
    """Processor, peak memory, tasks and kills for want of memory, as the kernel writes them."""
    (tmp_path / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1000000\n")
    (tmp_path / "memory.peak").write_text(f"{3 * MIB}\n")
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 9\noom 2\noom_kill 1\noom_group_kill 1\n")
    (tmp_path / "pids.current").write_text("4\n")
    (tmp_path / "pids.peak").write_text("7\n")
    assert Group2(tmp_path).read() == Reading(1.5, 3.0, 7, 1)


def test_missing_counters_are_not_zero(tmp_path: Path) -> None:
    """A number that cannot be measured is None."""
    assert Group2(tmp_path).read() == Reading(None, None, None, 0)


@pytest.mark.parametrize("_", [pytest.param(None, marks=GROUPS)])
def test_the_sweep_takes_what_the_dead_left_and_nothing_else(_: None) -> None:
    """E06: a killed host's group, with what still runs in it, goes at the next start; a live host's stays."""
    parent = find()
    assert parent is not None
    script = (
        "import os, sys\nfrom harness.sandbox.cgroup import find\nfrom harness.sandbox.spec import SandboxSpec\n"
        "group = find().create(SandboxSpec())\n"
        "if os.fork() == 0:\n"
        "    for entrance in group.entrances(): os.write(entrance, b'0')\n"
        "    print(os.getpid(), flush=True)\n"
        "    os.close(1)\n"
        "    import time; time.sleep(600)\n"
        "os.read(0, 1)\nos.kill(os.getpid(), 9)\n"
    )
    mine = parent.create(SPEC)
    host = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert host.stdout is not None
    orphan = int(host.stdout.readline())
    before = parent.sweep()
    host.communicate(b"x")
    swept = parent.sweep()
    left = groups_of(host.pid)
    state = Path(f"/proc/{orphan}/stat")
    alive = state.exists() and state.read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    assert (before, swept, left, alive, mine.remove()) == (0, 1, set(), False, True)


def test_a_groups_name_says_whose_it_is() -> None:
    """The owner in the name is this process, and can be read back."""
    name = cgroup._name()
    assert name.startswith("execution-harness-")
    assert str(this_owner()).replace(":", ".") in name
    assert f".{os.getpid()}." in name
