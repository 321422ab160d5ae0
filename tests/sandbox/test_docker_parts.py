"""The pure parts of the docker backend: walls as data, limits read back, owners, sockets' folders."""

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.cgroup import Located
from harness.sandbox.docker_args import MASKED, WALLS, create_body
from harness.sandbox.image_inputs import Image, Origin, box_tag, inputs_digest, preferred
from harness.sandbox.owner import Owner, proven_dead, this_owner
from harness.sandbox.readback import limit_faults
from harness.sandbox.rendezvous import MAX_PATH, Rendezvous, peer_of, run_folder, sweep_run_folder
from harness.sandbox.spec import SandboxSpec
from harness.sandbox.sweep import is_abandoned

IMAGE = Image("sha256:1", Origin.FOUND, "base", ("GPG_KEY", "LANG", "PATH"))
SPEC = SandboxSpec(memory_mb=128, disk_mb=32, pids=40, cpus=0.5)


def body(spec: SandboxSpec = SPEC, folder: str = "/run/x/1") -> dict[str, Any]:
    return create_body(spec, IMAGE, {"a": "b"}, folder)


def test_every_wall_stands_in_the_request_with_its_reason() -> None:
    """B07: what is listed is what is asked for."""
    asked = body()
    found = {
        wall.key: asked[wall.key[1:]] if wall.key.startswith("/") else asked["HostConfig"][wall.key] for wall in WALLS
    }
    assert found == {wall.key: wall.value for wall in WALLS}
    assert [wall.key for wall in WALLS if not wall.reason] == []


def test_limits_become_the_engines_own() -> None:
    """B06, B10, B14: memory without swap, processes, processor, a work folder with a size that executes nothing."""
    host = body()["HostConfig"]
    mib = 1 << 20
    assert {name: host[name] for name in ("Memory", "MemorySwap", "PidsLimit", "CpuPeriod", "CpuQuota", "Tmpfs")} == {
        "Memory": 128 * mib,
        "MemorySwap": 128 * mib,
        "PidsLimit": 40,
        "CpuPeriod": 100_000,
        "CpuQuota": 50_000,
        "Tmpfs": {"/tmp": "rw,noexec,nosuid,nodev,size=32m,nr_inodes=4096,mode=0700,uid=64646,gid=64646"},
    }


def test_nothing_is_mounted_but_the_sockets_folder() -> None:
    """A32: one bind, read-only; none at all over the attached stream."""
    assert body()["HostConfig"]["Mounts"] == [
        {
            "Type": "bind",
            "Source": "/run/x/1",
            "Target": "/run/gateway",
            "ReadOnly": True,
            "BindOptions": {"Propagation": "rprivate"},
        }
    ]
    streamed = body(folder="")
    assert "Mounts" not in streamed["HostConfig"]
    assert {name: streamed[name] for name in ("OpenStdin", "StdinOnce", "AttachStdout")} == dict.fromkeys(
        ("OpenStdin", "StdinOnce", "AttachStdout"), True
    )


def test_the_environment_is_taken_away_by_name() -> None:
    """A30: the image's own variables too; a name without a value unsets it."""
    assert body()["Env"] == ["GPG_KEY", "HOSTNAME", "LANG", "PATH"]


def test_settings_are_values_of_a_vector() -> None:
    """A21, E17: a name with shell characters stays one value; nothing is a command line."""
    spec = replace(SPEC, runtime="runsc; touch x")
    asked = create_body(spec, IMAGE, {"a": "$(id)"}, "/run/a;b")
    assert asked["HostConfig"]["Runtime"] == "runsc; touch x"
    assert asked["HostConfig"]["Mounts"][0]["Source"] == "/run/a;b"
    assert asked["Cmd"][:3] == ["/usr/local/bin/python3", "-I", "-B"]


def test_a_runtime_with_its_own_kernel_gets_tasks_for_it_and_no_limits_that_it_refuses() -> None:
    """gVisor's own threads do not eat the box's, which it counts; limits that it does not know are left out."""
    host = body(replace(SPEC, runtime="runsc"))["HostConfig"]
    limits = {limit["Name"]: limit["Hard"] for limit in host["Ulimits"]}
    assert (host["PidsLimit"], limits["nproc"], limits.keys() & {"msgqueue", "sigpending"}) == (184, 40, set())


def test_what_measures_the_host_is_masked() -> None:
    """A32: the kernel's configuration, keys, pressure, settings and devices."""
    assert {"/proc/config.gz", "/proc/keys", "/proc/pressure", "/proc/sys", "/sys"} <= set(MASKED)


def test_a_digest_of_inputs_changes_with_the_base() -> None:
    """Another base is another image."""
    assert inputs_digest("sha256:1") != inputs_digest("sha256:2")
    assert inputs_digest("sha256:1") == inputs_digest("sha256:1")


def tree(folder: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    return folder


def version2(folder: Path, **changes: str) -> Located:
    files = {
        "memory.max": str(128 << 20),
        "memory.swap.max": "0",
        "pids.max": "40",
        "cpu.max": "50000 100000",
    } | {name.replace("_", "."): value for name, value in changes.items()}
    return Located({}, tree(folder, {name: value for name, value in files.items() if value}), folder)


def test_limits_of_version_2_are_read_back(tmp_path: Path) -> None:
    """B06, B07: a recorded group that holds what was asked for has no fault."""
    assert limit_faults(version2(tmp_path), SPEC) == []


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"memory_max": "max"}, "the limit of memory is none, not 134217728"),
        ({"memory_swap_max": "max"}, "the limit of memory and swap is none, not 134217728"),
        ({"pids_max": "max"}, "the limit of pids is none, not 40"),
        ({"cpu_max": "max 100000"}, "the limit of cpu is none, not 0.5"),
        ({"pids_max": ""}, "no limit of pids can be read"),
        ({"memory_max": ""}, "no limit of memory can be read"),
    ],
)
def test_a_limit_of_version_2_that_does_not_hold_is_told(tmp_path: Path, changes: dict[str, str], fault: str) -> None:
    """E04: missing controllers leave no file; that is a fault, not a pass."""
    assert fault in limit_faults(version2(tmp_path, **changes), SPEC)


def test_limits_of_version_1_are_read_back(tmp_path: Path) -> None:
    """B06, B07: a controller's folder each; without swap accounting memory is not held where there is swap."""
    folders = {name: tmp_path / name for name in ("memory", "pids", "cpu")}
    tree(
        tmp_path,
        {
            "memory/memory.limit_in_bytes": str(128 << 20),
            "pids/pids.max": "40",
            "cpu/cpu.cfs_quota_us": "50000",
            "cpu/cpu.cfs_period_us": "100000",
        },
    )
    located = Located(folders, None, None)
    assert limit_faults(located, SPEC, swap=False) == []
    assert limit_faults(located, SPEC, swap=True) == ["no limit of memory and swap can be read"]
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text("-1")
    assert limit_faults(located, SPEC, swap=False) == ["the limit of cpu is none, not 0.5"]
    assert limit_faults(Located({}, None, None), SPEC) == ["the box is in no control group that this host can see"]


def test_an_owner_is_written_and_read() -> None:
    """E06: what stands in a label is read back whole, and nothing else is."""
    mine = this_owner()
    assert Owner.parse(str(mine)) == mine
    assert [Owner.parse(text) for text in ("", "a:b:c:d:e", "1:2:3", "m:b:1:2:3:4", "m:b:-1:2:3", "m:b:²:2:3")] == [
        None
    ] * 6


def test_only_a_process_that_cannot_exist_is_dead() -> None:
    """E06: this one lives; another start time is another process; another machine, boot or namespace proves nothing."""
    mine = this_owner()
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    gone = replace(mine, pid=child.pid, started=1)
    child.wait()
    assert not proven_dead(mine)
    assert proven_dead(replace(mine, started=mine.started + 1))
    assert proven_dead(gone)
    for other in ("machine", "boot"):
        assert not proven_dead(replace(gone, **{other: "0" * 16}))
    assert not proven_dead(replace(gone, namespace=1))


def test_a_process_that_nobody_waited_for_counts_as_gone() -> None:
    """E06: a zombie runs nothing."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    started = int(Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[19])
    try:
        assert proven_dead(replace(this_owner(), pid=child, started=started))
    finally:
        os.waitpid(child, 0)


def test_a_container_from_before_the_last_boot_goes_once_it_has_stopped() -> None:
    """E06: nothing of a former boot runs; one that does run belongs to another machine with a copied identity."""
    label = {"execution-harness.owner": str(replace(this_owner(), boot="0" * 16))}
    assert is_abandoned({"Labels": label, "State": "exited"})
    assert not is_abandoned({"Labels": label, "State": "running"})
    assert not is_abandoned({"Labels": {}, "State": "exited"})
    assert not is_abandoned({"Labels": None, "State": "exited"})


def test_a_long_temporary_folder_does_not_make_a_long_socket_path(tmp_path: Path) -> None:
    """E01: with TMPDIR of 150 characters the sockets lie elsewhere, in under 100 bytes."""
    long = tmp_path / ("x" * 150)
    long.mkdir()
    folder = run_folder({"TMPDIR": str(long)})
    assert not str(folder).startswith(str(long))
    meeting = Rendezvous(folder)
    try:
        assert len(os.fsencode(meeting.folder / "s")) < MAX_PATH
    finally:
        meeting.close()


def test_a_setting_that_is_too_long_is_refused_with_the_number(tmp_path: Path) -> None:
    """E01: the user named the folder, so nothing else is taken behind their back."""
    with pytest.raises(EnvironmentUnavailable) as refused:
        run_folder({"HARNESS_RUN_DIR": "/" + "x" * 120})
    assert refused.value.message == "HARNESS_RUN_DIR makes socket paths of 160 bytes, and 100 is the most"
    assert refused.value.hint == "set it to a path of at most 60 bytes"


def test_the_folder_of_sockets_is_closed_to_others(short_tmp: str) -> None:
    """Only this user enters; one that others can enter, or a link, is not used."""
    folder = Path(short_tmp, "run")
    assert run_folder({"HARNESS_RUN_DIR": str(folder)}) == folder
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    with pytest.raises(EnvironmentUnavailable) as refused:
        run_folder({"HARNESS_RUN_DIR": str(folder)})
    assert f"`{folder}` is not a folder that only this user can enter" in refused.value.message


def test_a_socket_takes_one_connection_and_the_kernel_names_the_peer(short_tmp: str) -> None:
    """The second finds no path; the first is who it is."""
    folder = Path(short_tmp)
    folder.chmod(0o700)
    meeting = Rendezvous(folder)
    try:
        with socket.socket(socket.AF_UNIX) as box, socket.socket(socket.AF_UNIX) as late:
            box.connect(str(meeting.folder / "s"))
            channel, _ = meeting.listener.accept()
            meeting.shut()
            with channel:
                peer = peer_of(channel)
            with pytest.raises(FileNotFoundError):
                late.connect(str(meeting.folder / "s"))
        assert (peer.pid, peer.uid) == (os.getpid(), os.geteuid())
    finally:
        meeting.close()
    assert list(folder.iterdir()) == []


def test_sockets_of_a_killed_host_are_swept_and_others_stay(short_tmp: str) -> None:
    """E06: by the process in the folder's name; what has no such name is not ours to remove."""
    folder = Path(short_tmp)
    mine = this_owner()
    names = {
        "dead": f"{mine.namespace:x}-{mine.pid}-{mine.started - 1}-1",
        "alive": f"{mine.namespace:x}-{mine.pid}-{mine.started}-1",
        "elsewhere": f"{mine.namespace + 1:x}-{mine.pid}-1-1",
        "other": "somebody-elses-folder-here",
    }
    for name in names.values():
        (folder / name).mkdir()
    assert sweep_run_folder(folder) == 1
    assert {path.name for path in folder.iterdir()} == {names[name] for name in ("alive", "elsewhere", "other")}


def test_of_several_images_of_the_same_inputs_always_the_same_is_taken() -> None:
    """E10: two hosts that built at once leave two; the one that bears the name, else the older one."""
    digest = "ab" * 32
    older = {"Id": "sha256:2", "Created": 1, "RepoTags": None}
    newer = {"Id": "sha256:1", "Created": 2, "RepoTags": []}
    named = {"Id": "sha256:3", "Created": 3, "RepoTags": [box_tag(digest)]}
    assert [preferred(each, digest) for each in ([newer, older], [older, newer], [older, newer, named])] == [
        "sha256:2",
        "sha256:2",
        "sha256:3",
    ]
