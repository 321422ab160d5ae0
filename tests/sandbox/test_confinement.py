"""What the host believes: statuses line by line; and how an end is told, case by case."""

import signal
from pathlib import Path

import pytest

from harness.core.errors import EnvironmentUnavailable
from harness.core.ports import BoxExit, ExitKind
from harness.sandbox.box_exit import classify
from harness.sandbox.confinement import faults_of, require_confined
from harness.sandbox.spec import SETTINGS, SandboxSpec
from harness.sandbox.users import FIRST_USER, USERS, box_user

CONFINED = """\
Name:	python3
Uid:	1879048192	1879048192	1879048192	1879048192
Gid:	1879048192	1879048192	1879048192	1879048192
CapInh:	0000000000000000
CapPrm:	0000000000000000
CapEff:	0000000000000000
CapBnd:	0000000000000000
CapAmb:	0000000000000000
NoNewPrivs:	1
Seccomp:	2
Seccomp_filters:	2
"""


def test_a_confined_task_has_no_faults() -> None:
    """Every line holds, with and without the kernel's count of filters."""
    assert faults_of(CONFINED, 2) == []
    assert faults_of(CONFINED.replace("Seccomp_filters:\t2\n", ""), 2) == []


@pytest.mark.parametrize(
    ("line", "instead", "fault"),
    [
        ("Seccomp:\t2", "Seccomp:\t0", "Seccomp is 0, not 2"),
        ("Seccomp:\t2", "Nothing:\t2", "Seccomp is None, not 2"),
        ("Seccomp_filters:\t2", "Seccomp_filters:\t1", "Seccomp_filters is 1, not 2"),
        ("NoNewPrivs:\t1", "NoNewPrivs:\t0", "NoNewPrivs is 0, not 1"),
        ("NoNewPrivs:\t1", "Nothing:\t1", "NoNewPrivs is None, not 1"),
        ("CapEff:\t0000000000000000", "CapEff:\t0000000000200000", "CapEff is 0000000000200000, not 0"),
        ("CapEff:\t0000000000000000", "Nothing:\t0", "CapEff is None, not 0"),
        ("CapPrm:\t0000000000000000", "CapPrm:\t0000000000000001", "CapPrm is 0000000000000001, not 0"),
        ("Uid:\t1879048192", "Uid:\t0", "Uid holds root"),
        ("Gid:\t1879048192\t1879048192", "Gid:\t1879048192\t0", "Gid holds root"),
    ],
)
def test_each_line_that_does_not_hold_is_a_fault(line: str, instead: str, fault: str) -> None:
    """A32: also a line that is missing."""
    assert faults_of(CONFINED.replace(line, instead), 2) == [fault]


def test_one_loose_thread_is_enough_to_refuse(tmp_path: Path) -> None:
    """The second task of a process is looked at like the first."""
    for task, status in (("7", CONFINED), ("8", CONFINED.replace("Seccomp:\t2", "Seccomp:\t0"))):
        folder = tmp_path / "7" / "task" / task
        folder.mkdir(parents=True)
        (folder / "status").write_text(status)
    with pytest.raises(EnvironmentUnavailable) as refused:
        require_confined([7], 2, tmp_path)
    assert refused.value.message == "a box is not confined: Seccomp is 0, not 2"


def test_a_box_that_is_gone_is_not_confined(tmp_path: Path) -> None:
    """Nothing to look at is not "holds"."""
    with pytest.raises(EnvironmentUnavailable) as refused:
        require_confined([7], 2, tmp_path)
    assert refused.value.message == "a box is gone before it could be verified"


@pytest.mark.parametrize(
    ("status", "killed", "oom_kills", "expected"),
    [
        (0, False, 0, BoxExit(ExitKind.EXITED, "exit status 0")),
        (0, True, 0, BoxExit(ExitKind.EXITED, "exit status 0")),
        (3, False, 0, BoxExit(ExitKind.EXITED, "exit status 3")),
        (0, False, 2, BoxExit(ExitKind.OUT_OF_MEMORY, "the kernel ended 2 processes for want of memory")),
        (-9, False, 1, BoxExit(ExitKind.OUT_OF_MEMORY, "the kernel ended 1 process for want of memory")),
        (-9, True, 1, BoxExit(ExitKind.OUT_OF_MEMORY, "the kernel ended 1 process for want of memory")),
        (-9, True, 0, BoxExit(ExitKind.KILLED_BY_US, "killed by the harness")),
        (-9, False, 0, BoxExit(ExitKind.KILLED_BY_OTHERS, "killed from outside with SIGKILL")),
        (-15, True, 0, BoxExit(ExitKind.KILLED_BY_OTHERS, "killed from outside with SIGTERM")),
        (-11, False, 0, BoxExit(ExitKind.CRASHED, "crashed with SIGSEGV")),
        (-11, True, 0, BoxExit(ExitKind.CRASHED, "crashed with SIGSEGV")),
        (None, True, 0, BoxExit(ExitKind.KILLED_BY_US, "its exit status could not be learnt")),
        (None, False, 0, BoxExit(ExitKind.CRASHED, "its exit status could not be learnt")),
    ],
)
def test_every_end_has_its_kind(status: int | None, killed: bool, oom_kills: int, expected: BoxExit) -> None:
    """B08: memory, our kill, somebody's kill, a crash and a leave are five things."""
    assert classify(status, killed=killed, oom_kills=oom_kills) == expected


def test_every_signal_can_be_told() -> None:
    """Real-time signals have no name of their own, and end a box like any other."""
    assert classify(-int(signal.SIGRTMIN) - 1, killed=False, oom_kills=0).kind is ExitKind.KILLED_BY_OTHERS


def test_a_box_of_root_gets_a_user_of_its_own() -> None:
    """Never root, never a user of the machine; None where this process cannot change its user."""
    user = box_user()
    assert user is None or FIRST_USER <= user < FIRST_USER + USERS


def test_every_setting_has_its_reason_and_threat() -> None:
    """The table names every field of the spec, in order; every number answers a threat."""
    assert [setting.name for setting in SETTINGS] == list(SandboxSpec.__dataclass_fields__)
    assert [setting.name for setting in SETTINGS if not setting.threat] == ["runtime", "image"]
    assert [setting.name for setting in SETTINGS if not setting.reason] == []


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"memory_mb": 16}, "no box starts in `memory_mb: 16`"),
        ({"pids": 0}, "the sandbox setting `pids` is `0`"),
        ({"wall_seconds": float("nan")}, "the sandbox setting `wall_seconds` is `nan`"),
        ({"memory_mb": 64, "disk_mb": 64}, "`disk_mb: 64` does not fit into `memory_mb: 64`, which holds it"),
    ],
)
def test_a_limit_that_is_none_is_refused(limits: dict[str, float], message: str) -> None:
    """B07: zero, nonsense and contradictions never become "no limit"."""
    with pytest.raises(EnvironmentUnavailable) as refused:
        SandboxSpec.from_limits(limits)
    assert refused.value.message == message


def test_the_limits_of_a_run_become_its_box() -> None:
    """Names as in the budget; the work folder follows the memory where nothing is said of it."""
    assert SandboxSpec.from_limits({"memory_mb": 100, "cpu_seconds": 5, "calls": 3}) == SandboxSpec(
        memory_mb=100, cpu_seconds=5.0, disk_mb=25
    )
