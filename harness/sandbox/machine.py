"""What the machine's own rules mean for boxes: AppArmor, SELinux, control groups, clock, path lengths.

Pure readers: each takes the root of a file tree, so that a recorded tree of another machine is read as this one is.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from harness.sandbox.cgroup import locate
from harness.sandbox.finding import Finding, Status

__all__ = ["apparmor", "clock", "delegation", "machine_findings", "path_lengths", "selinux"]

ROOT = Path("/")
NEEDED = ("memory", "pids")
"""Controllers without which a box with several processes cannot be bounded."""
SOCKET_PATH_BYTES = 107
"""The kernel's limit for the path of a Unix socket, its closing zero left out."""
DELEGATE = (
    "run under `systemd-run --user --scope -p Delegate=yes`, or set `Delegate=cpu cpuset io memory pids` for "
    "user@.service, or use the docker backend"
)


def machine_findings(root: Path = ROOT, now: float | None = None, installed: float | None = None) -> Iterator[Finding]:
    """All of them. `now`, `installed`: seconds since the epoch; the clock is left out where they are not given."""
    yield apparmor(root)
    yield selinux(root)
    yield delegation(root)
    if now is not None and installed is not None:
        yield clock(now, installed)


def apparmor(root: Path = ROOT) -> Finding:
    """Whether AppArmor is on, and whether it closes user namespaces to bubblewrap."""
    name = "apparmor"
    if _text(root, "sys/module/apparmor/parameters/enabled") != "Y":
        return Finding(name, Status.WORKS, "not on: nothing of it stands around boxes or in their way")
    profile = _text(root, "proc/self/attr/apparmor/current") or _text(root, "proc/self/attr/current") or "unconfined"
    if _text(root, "proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
        return Finding(
            name,
            Status.MISSING,
            f"on, and closes user namespaces to programs without a profile; this process is `{profile}`",
            "give bubblewrap a profile (`apt install apparmor-profiles`, profile `bwrap-userns-restrict`), or "
            "`sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or use the docker backend",
        )
    return Finding(name, Status.WORKS, f"on, with user namespaces open; this process is `{profile}`")


def selinux(root: Path = ROOT) -> Finding:
    """Whether SELinux is on, and what it does to the socket that is mounted into a container."""
    name = "selinux"
    enforcing = _text(root, "sys/fs/selinux/enforce")
    if not enforcing:
        return Finding(name, Status.WORKS, "not on: nothing of it stands around boxes or in their way")
    label = _text(root, "proc/self/attr/current") or "unlabelled"
    if enforcing == "1":
        return Finding(
            name,
            Status.OPTIONAL,
            f"enforcing, this process is `{label}`: containers may not connect to its sockets, so frames go over the "
            "engine's attached stream; nothing is relabelled",
            "for the faster socket let `container_t` `connectto` this process's domain in a policy module of yours",
        )
    return Finding(name, Status.WORKS, f"permissive, this process is `{label}`")


def delegation(root: Path = ROOT) -> Finding:
    """Which version of control groups there is, and which controllers this process may hand to boxes."""
    name = "control group version"
    located = locate(_text(root, "proc/self/mountinfo"), _text(root, "proc/self/cgroup"))
    if any(controller in located.version1 for controller in NEEDED):
        lacking = [each for each in NEEDED if each not in located.version1]
        hybrid = ", beside version 2" if located.version2 is not None else ""
        if lacking:
            missing = " and ".join(f"`{each}`" for each in lacking)
            return Finding(name, Status.OPTIONAL, f"version 1{hybrid}; no controller {missing}", "mount it")
        return Finding(name, Status.WORKS, f"version 1{hybrid}, with {', '.join(sorted(located.version1))}")
    if located.version2 is None:
        return Finding(name, Status.OPTIONAL, "no control groups are mounted", "mount cgroup2 on /sys/fs/cgroup")
    folder = root / str(located.version2).lstrip("/")
    there = _text(folder, "cgroup.controllers").split()
    given = _text(folder, "cgroup.subtree_control").split()
    lacking = [each for each in NEEDED if each not in there]
    if lacking:
        missing = " and ".join(f"`{each}`" for each in lacking)
        return Finding(name, Status.OPTIONAL, f"version 2; {missing} not delegated to this process", DELEGATE)
    closed = [each for each in NEEDED if each not in given]
    if closed:
        missing = " and ".join(f"`{each}`" for each in closed)
        return Finding(name, Status.OPTIONAL, f"version 2; {missing} here, and not handed on to groups below", DELEGATE)
    return Finding(name, Status.WORKS, f"version 2, handed on: {', '.join(given)}")


def clock(now: float, installed: float) -> Finding:
    """Whether the wall clock can be true: it cannot stand before the installation of this package."""
    shown = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d %H:%M UTC")
    if now < installed:
        return Finding(
            "clock",
            Status.MISSING,
            f"the clock says {shown}, before this package was installed: expiries and the record would be wrong",
            "set it, for example with `timedatectl set-ntp true`; limits of runs use a clock that does not move",
        )
    return Finding("clock", Status.WORKS, f"{shown}; limits of runs use a clock that does not move")


def path_lengths(folder: Path, name_bytes: int) -> Finding:
    """Whether a socket in `folder` fits into the kernel's limit. `name_bytes`: what a box adds to the path."""
    size = len(str(folder).encode()) + 1 + name_bytes
    if size > SOCKET_PATH_BYTES:
        return Finding(
            "path lengths",
            Status.MISSING,
            f"a socket in `{folder}` would have {size} bytes of path; the kernel takes {SOCKET_PATH_BYTES}",
            "set HARNESS_RUN_DIR to a shorter folder",
        )
    return Finding("path lengths", Status.WORKS, f"{size} of {SOCKET_PATH_BYTES} bytes in `{folder}`")


def _text(root: Path, path: str) -> str:
    """A file's text without its end, NUL bytes left out; empty where it cannot be read."""
    try:
        return (root / path).read_text("utf-8", "replace").replace("\0", "").strip()
    except OSError:
        return ""
