"""What the engine is asked for: the walls of a container as data, each with its reason, and the request made of them.

Pure: a spec and an image in, the body of `POST /containers/create` out.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from harness.sandbox.boot import Connect, Inherited, Walls, boot_argument, limits
from harness.sandbox.image_inputs import Image
from harness.sandbox.rendezvous import SOCKET_NAME
from harness.sandbox.seccomp import docker_profile
from harness.sandbox.spec import SandboxSpec
from harness.sandbox.tree import BOXLIB, GATEWAY, PYTHON

__all__ = [
    "BOX_UID",
    "LABEL",
    "OWNER_LABEL",
    "WALLS",
    "Wall",
    "create_body",
    "held_spec",
    "walls_of",
]

LABEL = "execution-harness.box-of"
"""On every container that we make; its value names the machine."""
OWNER_LABEL = "execution-harness.owner"
BOX_UID = 64646
"""User and group of every box: no distribution has such an account, and a remapped engine knows the number too."""
CHANNEL = 3
"""Descriptor of the channel in a box that speaks over the attached stream; `sandbox_image.bridge` says the same."""
RUNTIME_TASKS = 64
"""Threads that gVisor's own processes take; 39 were counted with one task inside."""
TASKS_EACH = 3
"""Tasks of the host for one of the box: gVisor's thread for it, the traced one, and the first of its address space.
The box's own kernel counts the box's; where the engine's limit came first, gVisor itself would fall over."""
MIB = 1 << 20
PERIOD_US = 100_000
"""Of the processor quota: the kernel's default."""


@dataclass(frozen=True, slots=True)
class Wall:
    """One line of the container's isolation."""

    key: str
    """As the engine names it, below `HostConfig` unless it begins with a slash."""
    value: Any
    reason: str


WALLS: tuple[Wall, ...] = (
    Wall("NetworkMode", "none", "a snippet reaches nothing but the gateway"),
    Wall("/NetworkDisabled", True, "not even a name server is configured"),
    Wall("ReadonlyRootfs", True, "nothing outside the work folder can be changed or left behind"),
    Wall("CapDrop", ["ALL"], "no right of root, whatever the user"),
    Wall("Privileged", False, "the engine's own exception from every line here"),
    Wall("IpcMode", "none", "no shared memory with anybody, and no second writable place"),
    Wall("PidMode", "", "a pid namespace of its own: killing its first process kills the tree"),
    Wall("CgroupnsMode", "private", "the box does not see where its group hangs"),
    Wall("UTSMode", "", "a host name of its own"),
    Wall("LogConfig", {"Type": "none", "Config": {}}, "what is printed would cost the engine's processor and disk"),
    Wall("AutoRemove", False, "how it ended is read first, then it is removed"),
    Wall("RestartPolicy", {"Name": "no"}, "a box that ended is never started again"),
    Wall("OomKillDisable", False, "the kernel ends what takes more memory"),
    Wall("OomScoreAdj", 500, "where the machine itself is short of memory, boxes go before what is of use"),
    Wall("PublishAllPorts", False, "nobody reaches in"),
    Wall("DnsSearch", ["."], "the host's name servers and search list do not show in resolv.conf"),
    Wall("Dns", ["0.0.0.0"], "the host's name servers and search list do not show in resolv.conf"),
    Wall("/Hostname", "box", "says nothing of the host"),
    Wall("/User", f"{BOX_UID}:{BOX_UID}", "not root, and nobody else's files"),
    Wall("/WorkingDir", "/tmp", "the one place where a snippet may write"),
    Wall("/StopSignal", "SIGKILL", "nothing in the box can ask for time"),
    Wall("/Tty", False, "no terminal to steer"),
)
"""Every line that is the same for every box; what depends on the spec is in `create_body`."""

MASKED = (
    *("/proc/acpi", "/proc/asound", "/proc/config.gz", "/proc/interrupts", "/proc/kallsyms", "/proc/kcore"),
    *("/proc/keys", "/proc/latency_stats", "/proc/modules", "/proc/pressure", "/proc/sched_debug", "/proc/scsi"),
    *("/proc/sys", "/proc/timer_list", "/proc/timer_stats", "/sys"),
)
"""Files of the kernel that name or measure the host; Landlock closes the rest of /proc where the kernel has it."""
READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sysrq-trigger")


def create_body(
    spec: SandboxSpec, image: Image, labels: Mapping[str, str], socket_folder: str, *, landlock: bool = False
) -> dict[str, Any]:
    """The request for one container.

    `socket_folder`: where the run's socket lies on the engine's machine; empty makes a box that speaks over the
    engine's attached stream. `landlock`: a box without it must not start.
    """
    walls = walls_of(spec, landlock=landlock)
    body: dict[str, Any] = {
        "Image": image.id,
        "Cmd": _command(spec, walls, stream=not socket_folder),
        "Entrypoint": [],
        # A name without a value takes the variable away: the image's own, and the two that the engine adds.
        "Env": sorted({*image.variables, "PATH", "HOSTNAME"}),
        "Labels": dict(labels),
        "StopTimeout": 0,
    }
    host: dict[str, Any] = {
        "Memory": spec.memory_mb * MIB,
        "MemorySwap": spec.memory_mb * MIB,
        "PidsLimit": held_spec(spec).pids,
        "CpuPeriod": PERIOD_US,
        "CpuQuota": int(spec.cpus * PERIOD_US),
        "Ulimits": [
            {"Name": name.lower(), "Soft": value, "Hard": value} for name, value in limits(spec, walls).items()
        ],
        "Tmpfs": {"/tmp": _tmpfs(spec)},
        "SecurityOpt": ["no-new-privileges:true", f"seccomp={_profile()}"],
        "MaskedPaths": list(MASKED),
        "ReadonlyPaths": list(READ_ONLY),
    }
    if socket_folder:
        host["Mounts"] = [_mount(socket_folder)]
    else:
        body |= dict.fromkeys(("OpenStdin", "StdinOnce", "AttachStdin", "AttachStdout", "AttachStderr"), True)
    if spec.runtime:
        host["Runtime"] = spec.runtime
    for wall in WALLS:
        if wall.key.startswith("/"):
            body[wall.key[1:]] = wall.value
        else:
            host[wall.key] = wall.value
    body["HostConfig"] = host
    return body


def walls_of(spec: SandboxSpec, *, landlock: bool) -> Walls:
    """What stands around a container: the engine's control group holds memory and processes.

    A runtime with a kernel of its own shows the engine fewer tasks than it has, so that kernel counts them itself.
    """
    return Walls(single=False, own_user=bool(spec.runtime), landlock=landlock, own_kernel=bool(spec.runtime))


def held_spec(spec: SandboxSpec) -> SandboxSpec:
    """The limits that the engine is asked for: a runtime with a kernel of its own needs tasks for it."""
    return replace(spec, pids=TASKS_EACH * spec.pids + RUNTIME_TASKS) if spec.runtime else spec


def _command(spec: SandboxSpec, walls: Walls, *, stream: bool) -> list[str]:
    """The box's first program and its one argument."""
    channel = Inherited(CHANNEL) if stream else Connect(f"{GATEWAY}/{SOCKET_NAME}")
    program = "sandbox_image/bridge.py" if stream else "boot.py"
    return [PYTHON, "-I", "-B", f"{BOXLIB}/{program}", boot_argument(spec, channel, walls)]


def _mount(folder: str) -> dict[str, Any]:
    return {
        "Type": "bind",
        "Source": folder,
        "Target": GATEWAY,
        "ReadOnly": True,
        "BindOptions": {"Propagation": "rprivate"},
    }


def _tmpfs(spec: SandboxSpec) -> str:
    return f"rw,noexec,nosuid,nodev,size={spec.disk_mb}m,nr_inodes={spec.inodes},mode=0700,uid={BOX_UID},gid={BOX_UID}"


@lru_cache(maxsize=1)
def _profile() -> str:
    return json.dumps(docker_profile(), separators=(",", ":"))
