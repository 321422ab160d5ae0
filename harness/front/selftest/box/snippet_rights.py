"""Probes of rights, from inside a box: each asks the kernel for something that no box may have."""

import ctypes
import os
from typing import Any

NEW_NAMESPACES = {
    "mount": 0x20000, "group": 0x2000000, "name": 0x4000000, "IPC": 0x8000000, "user": 0x10000000, "pid": 0x20000000,
    "network": 0x40000000, "time": 0x80,
}  # fmt: skip


def user(box: Any) -> str:
    """Be root."""
    ids = (os.getuid(), os.geteuid(), os.getgid(), os.getegid())
    return f"user and group are {ids}" if 0 in ids else ""


def groups(box: Any) -> str:
    """Be in a group of the host's."""
    found = set(os.getgroups()) - {os.getgid(), 65534}
    return f"groups {sorted(found)}" if found else ""


def capabilities(box: Any) -> str:
    """Hold a capability; where the kernel may be asked, every set is empty."""
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    result, _ = box.call("capget", ctypes.byref(header), ctypes.byref(data))
    return f"capabilities {[hex(each) for each in data]}" if result == 0 and any(data) else ""


def change_user(box: Any) -> str:
    """Become somebody else."""
    return (
        str(box.refused("setuid", 0)) or str(box.refused("setgroups", 0, 0)) or str(box.refused("setresuid", 0, 0, 0))
    )


def set_capabilities(box: Any) -> str:
    """Take capabilities."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    return str(box.refused("capset", ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)())))


def execute(box: Any) -> str:
    """Start a program, setuid or not."""
    arguments = (ctypes.c_char_p * 2)(b"/nowhere", None)
    return str(box.refused("execve", b"/nowhere", arguments, 0)) or str(
        box.refused("execveat", -100, b"/nowhere", arguments, 0, 0)
    )


def regain_by_prctl(box: Any) -> str:
    """Turn dumpable on again, or read it."""
    return str(box.refused("prctl", 4, 1, 0, 0, 0)) or str(box.refused("prctl", 3, 0, 0, 0, 0))


def filters(box: Any) -> str:
    """Install another filter, which could lie about what calls answer."""
    return str(box.refused("seccomp", 0, 0, 0)) or str(box.refused("landlock_create_ruleset", 0, 0, 1))


def namespaces(box: Any) -> str:
    """Enter a new namespace of any kind by unshare."""
    for kind, flag in NEW_NAMESPACES.items():
        through = box.refused("unshare", flag)
        if through:
            return f"{kind}: {through}"
    return ""


def namespaces_by_clone(box: Any) -> str:
    """Start a process in a new user namespace."""
    result, number = box.call("clone", 0x10000000 | 17, 0, 0, 0, 0)
    if result == 0:
        os._exit(0)
    return f"clone answered {result} ({number})" if result > 0 else ""


def clone3(box: Any) -> str:
    """Start a process by the call whose flags no filter can see."""
    result, number = box.call("clone3", 0, 0)
    return "" if result == -1 and number in (1, 38) else f"clone3 answered {result} ({number})"


def join_namespaces(box: Any) -> str:
    """Join a namespace of the host's."""
    return str(box.refused("setns", 0, 0)) or str(box.refused("pidfd_open", 1, 0))


def trace(box: Any) -> str:
    """Trace another process, or offer oneself to be traced."""
    return str(box.refused("ptrace", 16, os.getppid() or 1, 0, 0)) or str(box.refused("ptrace", 0, 0, 0, 0))


def memory_of_others(box: Any) -> str:
    """Read or write the memory of a process by its id."""
    return str(box.refused("process_vm_readv", os.getpid(), 0, 0, 0, 0, 0)) or str(
        box.refused("process_vm_writev", os.getpid(), 0, 0, 0, 0, 0)
    )


def bpf(box: Any) -> str:
    """Load a program into the kernel."""
    return str(box.refused("bpf", 0, 0, 0))


def io_uring(box: Any) -> str:
    """Open a ring, through which calls pass no filter."""
    return str(box.refused("io_uring_setup", 1, 0))


def userfaultfd(box: Any) -> str:
    """Handle page faults, with which races are won."""
    return str(box.refused("userfaultfd", 1))


def performance_counters(box: Any) -> str:
    """Open performance counters."""
    return str(box.refused("perf_event_open", 0, 0, -1, -1, 0))


def mount(box: Any) -> str:
    """Mount, unmount, move the root."""
    for name in ("mount", "umount2", "pivot_root", "open_tree", "move_mount", "fsopen"):
        through = box.refused(name, 0, 0, 0, 0, 0)
        if through:
            return str(through)
    return ""


def change_root(box: Any) -> str:
    """Change the root folder."""
    return str(box.refused("chroot", b"/tmp"))


def open_by_handle(box: Any) -> str:
    """Open files of the host by handle, past every path."""
    return str(box.refused("open_by_handle_at", 3, 0, 0)) or str(box.refused("name_to_handle_at", 3, 0, 0, 0, 0))


def make_devices(box: Any) -> str:
    """Make a device file."""
    return str(box.refused("mknodat", -100, b"/tmp/device", 0o20600, 0x103))


def modules(box: Any) -> str:
    """Load a kernel module, or another kernel."""
    for name in ("init_module", "finit_module", "kexec_load"):
        through = box.refused(name, 0, 0, 0, 0)
        if through:
            return str(through)
    return ""


def machine(box: Any) -> str:
    """Restart the machine, change its name, its swap."""
    return (
        str(box.refused("reboot", 0, 0, 0, 0))
        or str(box.refused("sethostname", b"x", 1))
        or str(box.refused("swapon", 0, 0))
    )


def shared_memory(box: Any) -> str:
    """Share memory or messages with other boxes."""
    return (
        str(box.refused("shmget", 1, 4096, 0o1000))
        or str(box.refused("msgget", 1, 0o1000))
        or str(box.refused("mq_open", b"x", 0o100, 0o600, 0))
    )


def hidden_memory(box: Any) -> str:
    """Make files without a place, or memory that the kernel itself cannot see."""
    return str(box.refused("memfd_create", b"x", 0)) or str(box.refused("memfd_secret", 0))


def personality(box: Any) -> str:
    """Become another kind of process, without address randomisation."""
    return str(box.refused("personality", 0x0040000))


def write_the_root(box: Any) -> str:
    """Write anywhere but into the work folder; change a file of the tree."""
    for folder in ("/", "/opt/box", "/usr", "/usr/local", "/etc", "/run", "/dev", "/var", "/lib"):
        try:
            with open(os.path.join(folder, "written-by-selftest"), "w"):
                return f"{folder} can be written"
        except OSError:
            continue
    try:
        os.chmod("/opt/box/boot.py", 0o777)
    except OSError:
        return ""
    return "a file of the tree can be changed"


def signal_outward(box: Any) -> str:
    """Reach processes that are no descendants: only one's own are there."""
    seen = []
    for pid in range(1, 32_768):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            continue
        except OSError:
            seen.append(pid)
            continue
        seen.append(pid)
    others = [pid for pid in seen if pid not in (os.getpid(), os.getppid(), 1)]
    return f"processes {others[:5]} can be seen" if others else ""
