"""The system call list, run on the machine that the kernel would run: both filters, both architectures."""

import pytest

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.bpf import EAGAIN, ENOSYS, EPERM, Allow, When, assemble, simulate
from harness.sandbox.seccomp import (
    RULES,
    Stage,
    architecture,
    docker_profile,
    inner_filter,
    outer_filter,
    zygote_filter,
)
from harness.sandbox.syscalls import ARCHITECTURES

ALLOWED, KILLED, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
MACHINES = sorted(ARCHITECTURES)
_ESCAPES = """
    bind listen accept accept4 connect socket setsockopt execve execveat ptrace keyctl add_key request_key
    io_uring_setup io_uring_enter bpf userfaultfd setns unshare mount umount2 pivot_root chroot memfd_create
    memfd_secret pidfd_open pidfd_getfd process_vm_readv process_vm_writev perf_event_open kexec_load init_module
    finit_module open_by_handle_at name_to_handle_at shmget msgget semget mq_open personality modify_ldt mlock
    inotify_init1 fanotify_init timer_create splice tee vmsplice signalfd4 timerfd_create reboot syslog move_mount
    open_tree fsopen mknod mknodat swapon prctl seccomp landlock_create_ruleset landlock_add_rule
    landlock_restrict_self setuid setgid setgroups setresuid setresgid capset sethostname arch_prctl setrlimit
    sched_setaffinity openat2 copy_file_range
"""
ESCAPES = _ESCAPES.split()


def answer(program: bytes, machine: str, name: str, *arguments: int) -> int:
    """What the kernel would say to a call by name."""
    target = ARCHITECTURES[machine]
    return simulate(program, target.audit, target.numbers[name], arguments)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("name", ESCAPES)
def test_the_inner_filter_refuses_every_way_out(machine: str, single: bool, name: str) -> None:
    """A32: no new socket, program, namespace, mount, trace, key, ring or filter, and no prctl to go back."""
    if name in ARCHITECTURES[machine].numbers:
        assert answer(inner_filter(single=single, machine=machine), machine, name) == ERRNO | EPERM


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("single", [True, False])
def test_numbers_outside_the_list_are_refused(machine: str, single: bool) -> None:
    """Every number up to 600 that no line names, and every number of the x32 interface, gives EPERM."""
    target = ARCHITECTURES[machine]
    program = inner_filter(single=single, machine=machine)
    named = {target.numbers[name] for rule in RULES for name in rule.names.split() if name in target.numbers}
    answers = {simulate(program, target.audit, number) for number in range(600) if number not in named}
    answers |= {simulate(program, target.audit, 0x4000_0000 + number) for number in range(600)}
    assert answers == {ERRNO | EPERM}


@pytest.mark.parametrize("machine", MACHINES)
def test_every_line_without_a_test_lets_its_calls_through(machine: str) -> None:
    """The list does what it says: what a line allows without condition, its filter allows."""
    target = ARCHITECTURES[machine]
    program = outer_filter(single=False, connect=True, machine=machine)
    refused = [
        name
        for rule in RULES
        if rule.action == Allow() and rule.stage not in (Stage.THREAD, Stage.ENGINE, Stage.ZYGOTE)
        for name in rule.names.split()
        if name in target.numbers and simulate(program, target.audit, target.numbers[name]) != ALLOWED
    ]
    assert refused == []


@pytest.mark.parametrize("machine", MACHINES)
def test_another_architecture_kills_the_process(machine: str) -> None:
    """A 32-bit call, whose numbers mean other things, never reaches the list."""
    (other,) = set(MACHINES) - {machine}
    program = inner_filter(single=False, machine=machine)
    assert simulate(program, ARCHITECTURES[other].audit, 0) == KILLED
    assert simulate(program, 0x40000003, 0) == KILLED


@pytest.mark.parametrize(
    ("single", "name", "arguments", "expected"),
    [
        (False, "clone", (0x3D0F00,), ALLOWED),
        (False, "clone", (0x1200011,), ALLOWED),
        (False, "clone", (0x10000011,), ERRNO | EPERM),
        (False, "clone", (0x3D0F00 | 0x20000,), ERRNO | EPERM),
        (False, "fork", (), ALLOWED),
        (True, "clone", (0x3D0F00,), ALLOWED),
        (True, "clone", (0x1200011,), ERRNO | EAGAIN),
        (True, "clone", (0x3D0F00 | 0x10000000,), ERRNO | EAGAIN),
        (True, "fork", (), ERRNO | EAGAIN),
        (True, "vfork", (), ERRNO | EAGAIN),
        (False, "clone3", (), ERRNO | ENOSYS),
        (False, "socketpair", (1, 1), ALLOWED),
        (False, "socketpair", (1, 1 | 0x80800), ALLOWED),
        (False, "socketpair", (1, 2), ERRNO | EPERM),
        (False, "socketpair", (1, 5), ERRNO | EPERM),
        (False, "socketpair", (16, 1), ERRNO | EPERM),
        (False, "sendto", (3, 1, 1, 0, 0, 0), ALLOWED),
        (False, "sendto", (3, 1, 1, 0, 0x7F00_0000_0000, 16), ERRNO | EPERM),
        (False, "setsockopt", (3, 1, 20), ALLOWED),
        (False, "setsockopt", (3, 1, 26), ERRNO | EPERM),
        (False, "setsockopt", (3, 6, 20), ERRNO | EPERM),
        (False, "fcntl", (3, 1030), ALLOWED),
        (False, "fcntl", (3, 1031), ERRNO | EPERM),
        (False, "fcntl", (3, 8), ERRNO | EPERM),
        (False, "fcntl", (3, 0x1_0000_0003), ERRNO | EPERM),
        (False, "ioctl", (3, 0x5401), ALLOWED),
        (False, "ioctl", (3, 0x5412), ERRNO | EPERM),
        (False, "prlimit64", (0, 7, 0, 0x7FFF_0000), ALLOWED),
        (False, "prlimit64", (0, 7, 0x7FFF_0000, 0), ERRNO | EPERM),
        (False, "prlimit64", (2, 7, 0, 0), ERRNO | EPERM),
    ],
)
def test_arguments_decide_where_the_call_alone_does_not(
    single: bool, name: str, arguments: tuple[int, ...], expected: int
) -> None:
    """Threads, processes, pairs, descriptors: just the forms that Python needs, high halves included."""
    assert answer(inner_filter(single=single, machine="x86_64"), "x86_64", name, *arguments) == expected


@pytest.mark.parametrize(
    ("connect", "name", "arguments", "expected"),
    [
        (True, "socket", (1, 1 | 0x80000), ALLOWED),
        (True, "socket", (1, 2), ERRNO | EPERM),
        (True, "socket", (2, 1), ERRNO | EPERM),
        (True, "connect", (), ALLOWED),
        (False, "socket", (1, 1), ERRNO | EPERM),
        (False, "connect", (), ERRNO | EPERM),
        (False, "unshare", (0x10000,), ALLOWED),
        (False, "unshare", (0x10000000,), ERRNO | EPERM),
        (False, "execve", (), ALLOWED),
        (False, "landlock_restrict_self", (), ALLOWED),
        (False, "capset", (), ALLOWED),
        (False, "mount", (), ALLOWED),
        (False, "umount2", (), ERRNO | EPERM),
    ],
)
def test_the_outer_filter_allows_just_the_start(
    connect: bool, name: str, arguments: tuple[int, ...], expected: int
) -> None:
    """What the box's Python needs until it has confined itself; a socket only where it must be opened by path."""
    program = outer_filter(single=False, connect=connect, machine="x86_64")
    assert answer(program, "x86_64", name, *arguments) == expected


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("unshare", (0x20000000,), ALLOWED),
        ("unshare", (0x5E020000,), ALLOWED),
        ("unshare", (0x10000,), ALLOWED),
        ("unshare", (0x10000000,), ERRNO | EPERM),
        ("setns", (3, 0x20000000), ALLOWED),
        ("setns", (3, 0), ERRNO | EPERM),
        ("mount", (), ALLOWED),
        ("capset", (), ALLOWED),
        ("socket", (1, 1), ERRNO | EPERM),
        ("connect", (), ERRNO | EPERM),
        ("ptrace", (), ERRNO | EPERM),
    ],
)
def test_the_zygote_may_make_slots_and_nothing_else(name: str, arguments: tuple[int, ...], expected: int) -> None:
    """Its two steps of namespaces, mounts and giving up capabilities; no socket, no trace."""
    assert answer(zygote_filter("x86_64"), "x86_64", name, *arguments) == expected


def test_the_engine_profile_is_the_outer_list() -> None:
    """Each entry of the profile allows exactly what the assembled filter allows."""
    profile = docker_profile("x86_64")
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert profile["archMap"] == [{"architecture": "SCMP_ARCH_X86_64", "subArchitectures": []}]
    program = outer_filter(single=False, connect=True, machine="x86_64")
    engine = {name for rule in RULES if rule.stage is Stage.ENGINE for name in rule.names.split()} - {"capset"}
    for entry in profile["syscalls"]:
        (name,) = entry["names"]
        arguments = [0] * 6
        for test in entry.get("args", []):
            arguments[test["index"]] = test.get("valueTwo", test["value"])
        expected = ALLOWED if entry["action"] == "SCMP_ACT_ALLOW" else ERRNO | entry["errnoRet"]
        assert answer(program, "x86_64", name, *arguments) == (ERRNO | EPERM if name in engine else expected)


def test_an_unknown_machine_has_no_filter() -> None:
    """No list, no box: the sentence names the machine."""
    with pytest.raises(EnvironmentUnavailable) as refused:
        architecture("riscv64")
    assert refused.value.message == "there is no system call list for the machine `riscv64`"


def test_a_long_search_still_jumps_right() -> None:
    """Jumps further than 255 instructions are made through a long jump."""
    actions = {number: Allow((When(0, (number,)),)) for number in range(0, 600, 2)}
    program = assemble(1, actions)
    assert [simulate(program, 1, number, (number,)) for number in (0, 2, 400, 401, 598, 599)] == [
        ALLOWED,
        ALLOWED,
        ALLOWED,
        ERRNO | EPERM,
        ALLOWED,
        ERRNO | EPERM,
    ]
    assert simulate(program, 1, 598, (596,)) == ERRNO | EPERM


def test_every_line_has_a_reason_and_known_names() -> None:
    """Isolation is data: no line without its reason, no name without a number."""
    known = set().union(*(target.numbers for target in ARCHITECTURES.values()))
    assert [rule.names for rule in RULES if not rule.reason or not set(rule.names.split()) <= known] == []
