"""The list of system calls that a box may make, each line with its reason, and the filters made from it. Pure.

Two filters stack: the outer one holds from the first instruction of the box's Python and still lets it confine itself;
the inner one comes last and takes those means away. What no line names is refused with EPERM.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.bpf import EAGAIN, ENOSYS, EPERM, Action, Allow, Deny, When, assemble
from harness.sandbox.syscalls import ARCHITECTURES, Architecture

__all__ = ["RULES", "Rule", "Stage", "architecture", "docker_profile", "inner_filter", "outer_filter", "zygote_filter"]


class Stage(StrEnum):
    """How long a line holds."""

    ALWAYS = "always"
    """From the first instruction to the end."""
    FORK = "fork"
    """Only where a cgroup, or a uid of the box's own, holds the number of processes."""
    THREAD = "thread"
    """In place of `fork`, where nothing does: the box is one process."""
    START = "start"
    """Until the box has confined itself."""
    CONNECT = "connect"
    """Until then, and only where the box must open the gateway's socket by its path."""
    WORK = "work"
    """Until then, where the box makes its work folder for itself."""
    ZYGOTE = "zygote"
    """In the process that forks boxes ahead of time, and in each of them until it has confined itself."""
    ENGINE = "engine"
    """Until then, and only under an engine, whose own set-up runs behind the filter."""


FREELY = Allow()


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the list."""

    names: str
    """System calls, separated by blanks."""
    reason: str
    """Who needs them."""
    stage: Stage = Stage.ALWAYS
    action: Action = FREELY


_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. (NEWTIME is no flag of clone.)"""
_CLONE_NEWPID = 0x20000000
_CLONE_THREAD = 0x00010000
_AF_UNIX, _SOCK_STREAM, _SOCK_TYPE = 1, 1, 0xFFFFFFFF_FFFFF7FF & ~0x80000
"""The type without SOCK_NONBLOCK and SOCK_CLOEXEC."""
_SOL_SOCKET = 1
_SOCKET_TIMEOUTS = (20, 21)
"""SO_RCVTIMEO and SO_SNDTIMEO of 64-bit machines."""
_FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 1030, 1032)
"""F_DUPFD, GETFD, SETFD, GETFL, SETFL, GETLK, SETLK, SETLKW, DUPFD_CLOEXEC, GETPIPE_SZ: no signals to owners, no
leases, no larger pipes (their memory is held by no limit of a single process)."""
_IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS and TIOCGWINSZ (is it a terminal? it never is), FIONREAD, FIONBIO, FIONCLEX, FIOCLEX."""

RULES: tuple[Rule, ...] = (
    Rule("read write readv writev pread64 pwrite64 preadv pwritev lseek", "the channel and files"),
    Rule("open openat creat close close_range dup dup2 dup3", "files of the tree and of the work folder"),
    Rule("stat fstat lstat newfstatat statx access faccessat faccessat2 statfs fstatfs", "imports, pathlib, os.path"),
    Rule("readlink readlinkat getdents getdents64 getcwd chdir fchdir", "imports, os.walk"),
    Rule("rename renameat renameat2 mkdir mkdirat rmdir unlink unlinkat umask", "tempfile, shutil in the work folder"),
    Rule("link linkat symlink symlinkat chmod fchmod fchmodat utime utimes utimensat", "shutil, zipfile, tarfile"),
    Rule("truncate ftruncate fsync fdatasync flock fadvise64 sendfile", "file objects, sqlite3, shutil"),
    Rule("pipe pipe2", "wake-ups between threads; no larger than the default, see fcntl"),
    Rule("fcntl", "descriptor flags and record locks", action=Allow((When(1, _FCNTL),))),
    Rule("ioctl", "io.open asks for a terminal; sockets turn non-blocking", action=Allow((When(1, _IOCTL),))),
    Rule("mmap mprotect munmap mremap madvise brk", "memory; extension modules are mapped executable"),
    Rule("rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend", "signal handling"),
    Rule("sigaltstack restart_syscall kill tkill tgkill alarm setitimer getitimer pause", "signals inside the box"),
    Rule("futex set_robust_list rseq membarrier sched_yield", "threads and locks"),
    Rule("poll ppoll select pselect6", "select, and a socket with a timeout"),
    Rule("epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2", "asyncio"),
    Rule("nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time times", "time"),
    Rule("getpid gettid getppid getpgid getpgrp getsid getpriority", "who am I: logging, asyncio"),
    Rule("getuid geteuid getgid getegid getgroups getresuid getresgid", "who am I: site, tempfile"),
    Rule("uname sysinfo getrusage getrlimit sched_getaffinity getrandom", "platform, os.cpu_count, random, hash seeds"),
    Rule(
        "prlimit64",
        "the C library reads limits with it; changing one is for the start",
        action=Allow((When(0, (0,)), When(2, (0,)))),
    ),
    Rule("exit exit_group wait4 waitid setsid setpgid", "ending, and waiting for what was forked"),
    Rule("recvfrom sendmsg recvmsg shutdown getsockname getpeername getsockopt", "the channel"),
    Rule(
        "setsockopt",
        "the channel's time limits; no other option",
        action=Allow((When(1, (_SOL_SOCKET,)), When(2, _SOCKET_TIMEOUTS))),
    ),
    Rule("sendto", "the channel; never to an address", action=Allow((When(4, (0,)),))),
    Rule(
        "socketpair",
        "asyncio wakes itself through a pair; a stream pair has no way to a third party",
        action=Allow((When(0, (_AF_UNIX,)), When(1, (_SOCK_STREAM,), _SOCK_TYPE))),
    ),
    Rule("clone3", "its flags lie in memory, unseen; the C library falls back to clone", action=Deny(ENOSYS)),
    Rule("fork vfork", "processes", Stage.FORK),
    Rule("clone", "threads and processes; no namespaces", Stage.FORK, Allow((When(0, (0,), _NEW_NAMESPACES),))),
    Rule("fork vfork", "as at a limit of processes", Stage.THREAD, Deny(EAGAIN)),
    Rule(
        "clone",
        "threads alone",
        Stage.THREAD,
        Allow((When(0, (_CLONE_THREAD,), _NEW_NAMESPACES | _CLONE_THREAD),), otherwise=EAGAIN),
    ),
    Rule("execve arch_prctl set_tid_address", "the box's Python is started behind the outer filter", Stage.START),
    Rule("prctl seccomp", "dumpable off, no new privileges, the inner filter", Stage.START),
    Rule("landlock_create_ruleset landlock_add_rule landlock_restrict_self", "Landlock", Stage.START),
    Rule("unshare", "asks the kernel whether there is one thread", Stage.START, Allow((When(0, (_CLONE_THREAD,)),))),
    Rule("setrlimit", "the box's own limits", Stage.START),
    Rule("prlimit64", "the box's own limits", Stage.START, Allow((When(0, (0,)),))),
    Rule(
        "socket",
        "the gateway's socket",
        Stage.CONNECT,
        Allow((When(0, (_AF_UNIX,)), When(1, (_SOCK_STREAM,), _SOCK_TYPE))),
    ),
    Rule("connect", "the gateway's socket", Stage.CONNECT),
    Rule(
        "unshare",
        "each slot has namespaces of its own",
        Stage.ZYGOTE,
        Allow((When(0, (_CLONE_THREAD, _CLONE_NEWPID, _NEW_NAMESPACES & ~_CLONE_NEWPID)),)),
    ),
    Rule("setns", "the zygote's own way back", Stage.ZYGOTE, Allow((When(1, (_CLONE_NEWPID,)),))),
    Rule("mount", "the work folder, and in a slot a cover for /proc", Stage.WORK),
    Rule("capset", "the right to mount is given up", Stage.WORK),
    Rule("capget capset setuid setgid setgroups", "runc gives its rights up behind the filter", Stage.ENGINE),
    Rule("eventfd2 execveat", "runc starts the box's Python", Stage.ENGINE),
)
"""The whole list. Of two lines for one name the later holds: stages only add, and the inner filter has none of them."""


def architecture(machine: str = "") -> Architecture:
    """The tables of a machine, this one by default. Raises EnvironmentUnavailable where there are none."""
    name = machine or os.uname().machine
    found = ARCHITECTURES.get(name)
    if found is None:
        raise EnvironmentUnavailable(
            f"there is no system call list for the machine `{name}`",
            hint=f"boxes run on {' and '.join(ARCHITECTURES)}",
        )
    return found


def outer_filter(*, single: bool, connect: bool = False, machine: str = "") -> bytes:
    """The filter that bubblewrap installs before the box's Python starts.

    `single`: the box is one process. `connect`: it opens the gateway's socket by path.
    """
    stages = {Stage.ALWAYS, Stage.THREAD if single else Stage.FORK, Stage.START, Stage.WORK}
    return _filter(stages | {Stage.CONNECT} if connect else stages, architecture(machine))


def zygote_filter(machine: str = "") -> bytes:
    """The outer filter of a zygote and its slots: namespaces and mounts as well, until the inner one."""
    return _filter({Stage.ALWAYS, Stage.FORK, Stage.START, Stage.WORK, Stage.ZYGOTE}, architecture(machine))


def inner_filter(*, single: bool, machine: str = "") -> bytes:
    """The filter that the box installs on itself, last, before it says hello."""
    return _filter({Stage.ALWAYS, Stage.THREAD if single else Stage.FORK}, architecture(machine))


def docker_profile(machine: str = "") -> dict[str, Any]:
    """The outer list in the engine's own JSON form: an engine holds the number of processes, so forking is allowed."""
    target = architecture(machine)
    stages = {Stage.ALWAYS, Stage.FORK, Stage.START, Stage.CONNECT, Stage.ENGINE}
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": EPERM,
        "archMap": [{"architecture": target.engine, "subArchitectures": []}],
        "syscalls": [
            entry for name, action in sorted(_chosen(stages, target).items()) for entry in _entries(name, action)
        ],
    }


def _filter(stages: set[Stage], target: Architecture) -> bytes:
    actions = {target.numbers[name]: action for name, action in _chosen(stages, target).items()}
    return assemble(target.audit, actions)


def _chosen(stages: set[Stage], target: Architecture) -> dict[str, Action]:
    return {
        name: rule.action
        for rule in RULES
        if rule.stage in stages
        for name in rule.names.split()
        if name in target.numbers
    }


def _entries(name: str, action: Action) -> Iterator[dict[str, Any]]:
    """The engine's entries of one call: it reads several entries as "or", the tests of one as "and"."""
    if isinstance(action, Deny):
        yield {"names": [name], "action": "SCMP_ACT_ERRNO", "errnoRet": action.errno}
        return
    choices: list[list[dict[str, Any]]] = [[]]
    for test in action.tests:
        choices = [[*args, _argument(test, value)] for args in choices for value in test.values]
    for args in choices:
        entry: dict[str, Any] = {"names": [name], "action": "SCMP_ACT_ALLOW"}
        yield {**entry, "args": args} if args else entry


def _argument(test: When, value: int) -> dict[str, Any]:
    if test.mask == 0xFFFFFFFF_FFFFFFFF:
        return {"index": test.argument, "value": value, "op": "SCMP_CMP_EQ"}
    return {"index": test.argument, "value": test.mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}
