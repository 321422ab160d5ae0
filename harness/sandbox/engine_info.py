"""What an engine says of itself, and which of a box's walls it could not hold. Pure: readers over recorded answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["EngineFacts", "Shortfall", "read_info", "shortfalls"]


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """The part of `GET /info` that matters to a box."""

    version: str
    machine: str
    """Architecture of the engine's machine, as `uname -m`."""
    kernel: str
    """Release of its kernel, as `uname -r`."""
    system: str
    """Its operating system's name, for people."""
    cgroup: str
    """`1` or `2`; empty where it has none."""
    rootless: bool
    remapped: bool
    """Users of containers are other ones outside."""
    runtimes: tuple[str, ...]
    selinux: bool
    """SELinux labels keep a container from the sockets of other domains."""
    desktop: bool
    """The engine lives in a machine of its own: no path of this host means the same there."""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A wall that would not hold."""

    message: str
    hint: str


LIMITS = (
    ("MemoryLimit", "memory", "memory"),
    ("SwapLimit", "swap", "memory"),
    ("PidsLimit", "the number of processes", "pids"),
    ("CpuCfsQuota", "processor time", "cpu"),
)
"""Field of the answer, what it limits, the kernel's controller for it."""


def read_info(info: Mapping[str, Any]) -> EngineFacts:
    """The facts in an answer to `GET /info`; what is missing is empty, never assumed."""
    options = _options(info)
    system = str(info.get("OperatingSystem", ""))
    return EngineFacts(
        version=str(info.get("ServerVersion", "")),
        machine=str(info.get("Architecture", "")),
        kernel=str(info.get("KernelVersion", "")),
        system=system,
        cgroup=str(info.get("CgroupVersion", "")),
        rootless="rootless" in options,
        remapped="userns" in options or "rootless" in options,
        runtimes=tuple(sorted(info.get("Runtimes") or ())),
        selinux="selinux" in options,
        desktop="docker desktop" in system.lower(),
    )


def shortfalls(info: Mapping[str, Any], *, runtime: str, swap: bool) -> list[Shortfall]:
    """Why boxes of this engine would not hold; empty where they would. `swap`: the engine's machine may have swap."""
    found = []
    if info.get("OSType") != "linux":
        found.append(
            Shortfall(f"the engine runs `{info.get('OSType', '')}` containers", "switch it to Linux containers")
        )
    if "seccomp" not in _options(info):
        found.append(
            Shortfall("the engine was built, or its kernel, without seccomp", "use an engine and a kernel with seccomp")
        )
    rootless = "rootless" in _options(info)
    for field, what, controller in LIMITS:
        if info.get(field) is True or (field == "SwapLimit" and not swap):
            continue
        hint = (
            f"delegate the controller `{controller}` to the user "
            "(systemd: `Delegate=cpu cpuset io memory pids` for user@.service), on cgroup version 2"
            if rootless
            else f"enable the controller `{controller}` on the engine's machine"
            + (" (boot with `swapaccount=1`, or turn swap off)" if field == "SwapLimit" else "")
        )
        found.append(Shortfall(f"the engine cannot limit {what}", hint))
    runtimes = info.get("Runtimes") or {}
    if runtime and runtime not in runtimes:
        found.append(
            Shortfall(
                f"the engine has no runtime `{runtime}`; it has {', '.join(f'`{name}`' for name in sorted(runtimes))}",
                f'install `{runtime}` on its machine, name it under "runtimes" in the engine\'s daemon.json '
                '(for runsc with runtimeArgs ["--host-uds=open"]), and reload the engine (SIGHUP)',
            )
        )
    return found


def _options(info: Mapping[str, Any]) -> set[str]:
    """Names of the security options: `seccomp`, `apparmor`, `selinux`, `rootless`, `userns`, …"""
    return {
        part.removeprefix("name=")
        for option in info.get("SecurityOptions") or ()
        for part in str(option).split(",")
        if part.startswith("name=")
    }
