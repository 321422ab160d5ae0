"""Probes of what a box sees of its host, from inside."""

import os
from typing import Any


def environment(box: Any) -> str:
    """Read the environment: nothing of the host's stands there."""
    names = sorted(set(os.environ) - {"LC_CTYPE"})
    return f"the environment holds {', '.join(names)[:80]}" if names else ""


def other_environments(box: Any) -> str:
    """Read the environment and arguments of the first process, from /proc."""
    return str(box.unreadable("/proc/self/environ", "/proc/1/environ", "/proc/1/cmdline", "/proc/self/cmdline"))


def proc(box: Any) -> str:
    """Read the kernel's files about this and other processes."""
    return str(box.unreadable("/proc/self/status", "/proc/self/maps", "/proc/1/status", "/proc/version"))


def mounts(box: Any) -> str:
    """Read where the host's folders lie."""
    return str(box.unreadable("/proc/self/mountinfo", "/proc/self/mounts", "/proc/mounts", "/etc/mtab"))


def root_of_the_first_process(box: Any) -> str:
    """Walk out through the first process's root."""
    return str(box.unlistable("/proc/1/root", "/proc/1/cwd", "/proc/self/root/root"))


def kernel_settings(box: Any) -> str:
    """Read or change the kernel's settings."""
    return str(box.unreadable("/proc/sys/kernel/hostname", "/proc/sys/kernel/random/boot_id", "/proc/config.gz"))


def sys(box: Any) -> str:
    """Look at the machine through /sys."""
    return str(box.unlistable("/sys", "/sys/kernel", "/sys/fs/cgroup", "/sys/class"))


def devices(box: Any) -> str:
    """Open devices: /dev/null is the only one."""
    if box.facts["own_kernel"]:
        raise box.untried("the runtime has a kernel of its own: its devices are no drivers of the host")
    for name in ("zero", "full", "random", "urandom", "tty", "console", "mem", "kmsg", "kvm", "fuse", "net/tun", "sda"):
        for flags in (os.O_RDONLY, os.O_WRONLY):
            try:
                os.close(os.open(f"/dev/{name}", flags | os.O_NONBLOCK))
            except OSError:
                continue
            return f"/dev/{name} opens"
    return str(box.unlistable("/dev/shm", "/dev/mqueue"))


def kernel_log(box: Any) -> str:
    """Read the kernel's log."""
    return str(box.refused("syslog", 3, 0, 0)) or str(box.unreadable("/dev/kmsg", "/proc/kmsg"))


def keyrings(box: Any) -> str:
    """Use the kernel's keyrings, which namespaces do not part."""
    return str(box.refused("keyctl", 0, -3, 1)) or str(box.refused("add_key", 0, 0, 0, 0, -3))


def descriptors(box: Any) -> str:
    """Find descriptors beside 0, 1, 2 and the channel, and make sure that the first three are /dev/null."""
    null = os.stat("/dev/null")
    found = []
    for number in range(4096):
        try:
            seen = os.fstat(number)
        except OSError:
            continue
        if number < 3 and not os.path.samestat(seen, null):
            return f"descriptor {number} is not /dev/null"
        if number >= 3:
            found.append(number)
    # One is the channel; the interpreter's event loop may hold a poll and a pair, which this snippet has not started.
    return f"descriptors {found} are open" if len(found) > 1 else ""


def files(box: Any) -> str:
    """Read files that hosts have, and boxes have not."""
    return str(box.unreadable("/etc/shadow", "/root/.bashrc", "/root/.ssh/id_rsa", "/etc/fstab"))


def other_folders(box: Any) -> str:
    """Find a folder that is no part of the tree."""
    if not box.facts["landlock"]:
        raise box.untried("the kernel of this box has no Landlock")
    return str(box.unlistable("/", "/root", "/home", "/mnt", "/srv", "/media", "/var", "/run", "/etc", "/boot"))


def engine_socket(box: Any) -> str:
    """Find an engine's socket."""
    paths = ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock")
    seen = [path for path in paths if os.path.exists(path)]
    return f"{seen[0]} is there" if seen else ""


def name(box: Any) -> str:
    """Learn the host's name."""
    return f"the name is `{os.uname().nodename}`" if os.uname().nodename == box.facts["hostname"] else ""


def shell(box: Any) -> str:
    """Find a shell or a package manager."""
    paths = ("/bin/sh", "/bin/bash", "/usr/bin/apt", "/usr/bin/dpkg", "/usr/bin/pip", "/usr/local/bin/pip")
    seen = [path for path in paths if os.path.exists(path)]
    return f"{seen[0]} is there" if seen else ""
