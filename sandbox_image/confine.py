"""The box gives up its rights, step by step, before it says hello; the order is the order in which they are given up.

Standard library only. Nothing of a run is here yet. Whatever a step cannot do ends the box: the host reads the
outcome back from /proc and believes that, not this file.
"""

import base64
import ctypes
import errno
import os
import resource
import threading
from collections.abc import Sequence
from typing import Any

__all__ = [
    "Boot",
    "ConfinementFailed",
    "assert_expected",
    "assert_one_thread",
    "close_descriptors",
    "confine",
    "enter_groups",
    "forbid_new_privileges",
    "forbid_tracing",
    "install_filter",
    "restrict_paths",
    "set_limits",
    "silence",
]

Boot = dict[str, Any]
"""The one JSON argument, made by the host: `fd` or `connect`, `groups`, `filter`, `landlock`, `rlimits`, `expect`."""

PR_SET_DUMPABLE, PR_GET_DUMPABLE = 4, 3
PR_SET_NO_NEW_PRIVS = 38
CLONE_THREAD = 0x00010000
SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC = 1, 1
M_ARENA_MAX = -8
"""Of malloc.h. One arena: each further one reserves 64 MiB of address space, which is a limit of a single process."""

LANDLOCK_VERSION = 1
LANDLOCK_RULE_PATH_BENEATH = 1
FS_EXECUTE, FS_WRITE_FILE, FS_READ_FILE, FS_READ_DIR = 1, 2, 4, 8
FS_REMOVE_DIR, FS_REMOVE_FILE, FS_MAKE_DIR, FS_MAKE_REG, FS_MAKE_SYM = 1 << 4, 1 << 5, 1 << 7, 1 << 8, 1 << 12
FS_REFER, FS_TRUNCATE = 1 << 13, 1 << 14
READ = FS_READ_FILE | FS_READ_DIR
WORK = READ | FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SYM
FS_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
"""File system rights that each version of Landlock knows; 5 is the last that added one."""
NET_ALL = 3
"""Bind and connect over TCP: version 4."""
SCOPE_ALL = 3
"""Abstract sockets and signals of processes outside: version 6."""

SYSCALLS = {
    "x86_64": {"seccomp": 317, "unshare": 272},
    "aarch64": {"seccomp": 277, "unshare": 97},
}
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
"""The same on every architecture."""


class ConfinementFailed(RuntimeError):
    """A step was refused by the kernel, or does not hold; the box must end without a word to the host."""


class _SockFprog(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_char_p))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def confine(boot: Boot, channel: int) -> None:
    """Give everything up but the open descriptor `channel`. Raises ConfinementFailed; then the process must end."""
    enter_groups(boot.get("groups", ()))
    os.environ.clear()
    close_descriptors(channel)
    forbid_tracing()
    forbid_new_privileges()
    assert_one_thread()
    set_limits(boot["rlimits"])
    restrict_paths(boot["landlock"])
    install_filter(base64.b64decode(boot["filter"]))
    assert_expected(boot["expect"])
    silence(channel)


def enter_groups(entrances: Sequence[int]) -> None:
    """Move into the box's control group, so that everything from here on is counted and limited."""
    for entrance in entrances:
        os.write(entrance, b"0")


def close_descriptors(channel: int) -> None:
    """Only 0, 1, 2 and the channel stay open, and the first two are /dev/null; 2 still takes the word of a failure."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        if standard != channel:
            os.dup2(null, standard)
    os.closerange(3, max(channel, 3))
    os.closerange(max(channel + 1, 3), 1 << 20)
    os.set_inheritable(channel, False)


def forbid_tracing() -> None:
    """Dumpable off: no other process of the same user may read this one's memory or descriptors."""
    _prctl("dumpable off", PR_SET_DUMPABLE, 0)


def forbid_new_privileges() -> None:
    """No exec gains anything; also what lets an unprivileged process install filters."""
    _prctl("no new privileges", PR_SET_NO_NEW_PRIVS, 1)


def assert_one_thread() -> None:
    """A second thread would escape Landlock and the filter. The kernel is asked: it refuses CLONE_THREAD to several."""
    if _call("unshare", CLONE_THREAD) == 0:
        return
    if ctypes.get_errno() == errno.EINVAL:
        raise ConfinementFailed("there is more than one thread")
    try:
        count = len(os.listdir("/proc/self/task"))
    except OSError:
        count = threading.active_count()
    if count != 1:
        raise ConfinementFailed(f"there are {count} threads")


def set_limits(limits: dict[str, list[int]]) -> None:
    """`{"NOFILE": [soft, hard], …}` by the names of `resource.RLIMIT_*`; never above what already holds."""
    _libc.mallopt(M_ARENA_MAX, 1)
    for name, (soft, hard) in limits.items():
        number = getattr(resource, f"RLIMIT_{name}")
        ceiling = resource.getrlimit(number)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(number, (soft, hard))


def restrict_paths(wanted: dict[str, Any]) -> None:
    """Landlock: read the paths of `read`, work in those of `write`; no TCP, no signal or abstract socket to others."""
    version = _libc.syscall(LANDLOCK_CREATE, None, 0, LANDLOCK_VERSION)
    if version < 1:
        if wanted["required"]:
            raise ConfinementFailed("the kernel has no Landlock")
        return
    handled = FS_BY_ABI[min(version, max(FS_BY_ABI))]
    attributes = (ctypes.c_uint64 * 3)(handled, NET_ALL if version >= 4 else 0, SCOPE_ALL if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _checked("a Landlock ruleset", _libc.syscall(LANDLOCK_CREATE, attributes, ctypes.c_size_t(size), 0))
    try:
        for path in wanted["read"]:
            _add_path(ruleset, path, READ & handled)
        for path in wanted["write"]:
            access = (
                (WORK | FS_REFER | FS_TRUNCATE) if os.path.isdir(path) else FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE
            )
            _add_path(ruleset, path, access & handled)
        _checked("Landlock", _libc.syscall(LANDLOCK_RESTRICT, ruleset, 0))
    finally:
        os.close(ruleset)


def _add_path(ruleset: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not os.path.isdir(path):
            access &= ~FS_READ_DIR
        rule = _PathBeneath(access, descriptor)
        _checked(
            f"the Landlock rule for {path}",
            _libc.syscall(LANDLOCK_ADD, ruleset, LANDLOCK_RULE_PATH_BENEATH, ctypes.byref(rule), 0),
        )
    finally:
        os.close(descriptor)


def install_filter(program: bytes) -> None:
    """The inner seccomp filter, on every thread there is; after it nothing of this file can be undone or repeated."""
    if not program or len(program) % 8:
        raise ConfinementFailed("the filter is not a BPF program")
    fprog = _SockFprog(len(program) // 8, program)
    result = _call("seccomp", SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, ctypes.byref(fprog))
    _checked("the seccomp filter", result)


def assert_expected(expect: dict[str, Any]) -> None:
    """What can be seen from inside: not root, where `root` is false; the way back is shut."""
    if not expect["root"] and (os.getuid() == 0 or os.geteuid() == 0):
        raise ConfinementFailed("the box runs as root")
    if _libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0:
        raise ConfinementFailed("the filter does not hold: prctl still answers")


def silence(channel: int) -> None:
    """From here on nothing that is written to descriptor 2 reaches anybody."""
    if channel != 2:
        os.dup2(0 if channel != 0 else 1, 2)


def _call(name: str, *arguments: Any) -> int:
    try:
        number = SYSCALLS[os.uname().machine][name]
    except KeyError:
        raise ConfinementFailed(f"no system call numbers for {os.uname().machine}") from None
    return int(_libc.syscall(ctypes.c_long(number), *arguments))


def _prctl(step: str, option: int, value: int) -> None:
    _checked(step, _libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0)))


def _checked(step: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise ConfinementFailed(f"{step}: {os.strerror(number)} ({errno.errorcode.get(number, number)})")
    return result
