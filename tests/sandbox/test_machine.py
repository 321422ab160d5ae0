"""What other machines say, read from recorded trees: AppArmor, SELinux, control groups, clock, path lengths."""

from pathlib import Path

import pytest

from harness.sandbox.finding import Finding, Status
from harness.sandbox.machine import apparmor, clock, delegation, machine_findings, path_lengths, selinux

WORKS, MISSING, OPTIONAL = Status.WORKS, Status.MISSING, Status.OPTIONAL
CGROUP2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
SCOPE = "0::/user.slice/user-1000.slice/session-3.scope\n"
DELEGATED = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope\n"
VERSION1 = (
    "31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "32 24 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
    "33 24 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
)
MEMBER1 = "4:memory:/\n3:pids:/\n2:cpu,cpuacct:/\n"


def recorded(root: Path, files: dict[str, str]) -> Path:
    """A machine's files below `root`."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def ubuntu(restricted: str) -> dict[str, str]:
    """Ubuntu 24.04 as it is delivered, or with the switch open."""
    return {
        "sys/module/apparmor/parameters/enabled": "Y\n",
        "proc/self/attr/current": "unconfined\n\0",
        "proc/sys/kernel/apparmor_restrict_unprivileged_userns": restricted,
    }


@pytest.mark.parametrize(
    ("files", "status", "detail"),
    [
        ({}, WORKS, "not on: nothing of it stands around boxes or in their way"),
        (ubuntu("0\n"), WORKS, "on, with user namespaces open; this process is `unconfined`"),
        (
            ubuntu("1\n"),
            MISSING,
            "on, and closes user namespaces to programs without a profile; this process is `unconfined`",
        ),
    ],
    ids=["off", "open", "closed"],
)
def test_apparmor(tmp_path: Path, files: dict[str, str], status: Status, detail: str) -> None:
    """E13: where AppArmor closes user namespaces the sentence says so, and how to open them."""
    found = apparmor(recorded(tmp_path, files))
    assert (found.status, found.detail, bool(found.hint)) == (status, detail, status is MISSING)


@pytest.mark.parametrize(
    ("files", "status", "begins"),
    [
        ({}, WORKS, "not on"),
        ({"sys/fs/selinux/enforce": "0"}, WORKS, "permissive, this process is `unlabelled`"),
        (
            {"sys/fs/selinux/enforce": "1", "proc/self/attr/current": "system_u:system_r:unconfined_t:s0\0"},
            OPTIONAL,
            "enforcing, this process is `system_u:system_r:unconfined_t:s0`: containers may not connect",
        ),
    ],
    ids=["off", "permissive", "enforcing"],
)
def test_selinux(tmp_path: Path, files: dict[str, str], status: Status, begins: str) -> None:
    """E03: the sentence names SELinux and the option; nothing is relabelled."""
    found = selinux(recorded(tmp_path, files))
    assert found.status is status
    assert found.detail.startswith(begins)


@pytest.mark.parametrize(
    ("files", "status", "detail"),
    [
        ({}, OPTIONAL, "no control groups are mounted"),
        (
            {"proc/self/mountinfo": VERSION1, "proc/self/cgroup": MEMBER1},
            WORKS,
            "version 1, with cpu, cpuacct, memory, pids",
        ),
        (
            {"proc/self/mountinfo": VERSION1.splitlines()[1], "proc/self/cgroup": MEMBER1},
            OPTIONAL,
            "version 1; no controller `memory`",
        ),
        (
            {
                "proc/self/mountinfo": CGROUP2,
                "proc/self/cgroup": DELEGATED,
                "sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope/cgroup.controllers": (
                    "cpu memory pids\n"
                ),
                "sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope/"
                "cgroup.subtree_control": "cpu memory pids\n",
            },
            WORKS,
            "version 2, handed on: cpu, memory, pids",
        ),
        (
            {
                "proc/self/mountinfo": CGROUP2,
                "proc/self/cgroup": SCOPE,
                "sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope/cgroup.controllers": "memory pids\n",
                "sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope/cgroup.subtree_control": "\n",
            },
            OPTIONAL,
            "version 2; `memory` and `pids` here, and not handed on to groups below",
        ),
        (
            {"proc/self/mountinfo": CGROUP2, "proc/self/cgroup": SCOPE},
            OPTIONAL,
            "version 2; `memory` and `pids` not delegated to this process",
        ),
    ],
    ids=["none", "version-1", "version-1-without-memory", "delegated", "not-handed-on", "rootless-without-delegation"],
)
def test_control_groups(tmp_path: Path, files: dict[str, str], status: Status, detail: str) -> None:
    """E04: the missing controller is named, with the way to it."""
    found = delegation(recorded(tmp_path, files))
    assert (found.status, found.detail, bool(found.hint)) == (status, detail, status is not WORKS)


def test_a_clock_before_the_installation_is_wrong() -> None:
    """A machine without a battery wakes up in 1970: said, with the mend."""
    assert clock(0.0, 1.7e9) == Finding(
        "clock",
        MISSING,
        "the clock says 1970-01-01 00:00 UTC, before this package was installed: expiries and the record would be "
        "wrong",
        "set it, for example with `timedatectl set-ntp true`; limits of runs use a clock that does not move",
    )
    assert clock(1.8e9, 1.7e9).status is WORKS


def test_a_path_that_is_too_long_is_said_with_both_numbers() -> None:
    """E01: the kernel takes 107 bytes."""
    assert path_lengths(Path("/run/x"), 30).status is WORKS
    found = path_lengths(Path("/" + "x" * 90), 30)
    assert (found.status, found.detail.endswith("would have 122 bytes of path; the kernel takes 107")) == (
        MISSING,
        True,
    )


def test_this_machine_is_read_too() -> None:
    """Every reader answers on the machine that the tests run on."""
    names = [found.name for found in machine_findings(now=1.8e9, installed=1.7e9)]
    assert names == ["apparmor", "selinux", "control group version", "clock"]
