"""The one JSON argument with which a box's Python starts: how to open the channel, and how to confine itself. Pure.

The same on every backend. No secret: the command line of a process is readable by its neighbours on the host.
"""

import base64
import json
from dataclasses import dataclass
from functools import lru_cache

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.seccomp import inner_filter
from harness.sandbox.spec import SandboxSpec

__all__ = [
    "HASH_SEED",
    "PYTHON_FLAGS",
    "READ_PATHS",
    "WORK_FOLDER",
    "WRITE_PATHS",
    "Channel",
    "Connect",
    "Inherited",
    "Walls",
    "address_space",
    "boot_argument",
    "limits",
]

MIB = 1 << 20
CPU_GRACE_SECONDS = 3
"""The host kills at the limit; the kernel does it this much later, should the host be late or gone."""
STACK_BYTES = 8 * MIB
"""The usual stack of a Linux process: the interpreter's own recursion limits are made for it."""
MIN_ADDRESS_MB = 40
"""A started runner maps 28 MiB; the rest is for the snippet."""
INODE_BYTES = 1024
"""What the kernel keeps for one file of a tmpfs, entry included; 0.9 KiB measured."""

PYTHON_FLAGS = ("-P", "-s", "-B")
"""No import from the current folder or a home, nothing written; the environment is ours, and holds the seed alone."""
HASH_SEED = ("PYTHONHASHSEED", "0")
"""Sets and dicts of text have one order in every box: a replayed snippet takes the branches that it took. Whoever
crafts colliding keys slows their own box down."""
WORK_FOLDER = "/tmp"
"""Where a box may write; its current folder."""
READ_PATHS = ("/usr", "/opt", "/lib", "/lib64")
"""What Landlock lets a box read, where it is there: Python, its libraries, the box packages, time zones."""
WRITE_PATHS = (WORK_FOLDER, "/dev/null")
"""What Landlock lets a box write."""


@dataclass(frozen=True, slots=True)
class Inherited:
    """The box finds its end of the channel open."""

    descriptor: int


@dataclass(frozen=True, slots=True)
class Connect:
    """The box connects to the gateway's socket."""

    path: str
    """As the box sees it."""


Channel = Inherited | Connect


@dataclass(frozen=True, slots=True)
class Walls:
    """What stands around the box, and so what it must hold itself."""

    single: bool
    """True where no cgroup holds memory and processes: one process, whose address space is the memory limit."""
    own_user: bool
    """True where the kernel counts the tasks of the box's user for this box alone: then it counts them too."""
    landlock: bool
    """True where a box without Landlock must not start."""
    own_work: bool = False
    """True where the box makes its work folder for itself, and then gives up the right to."""
    own_kernel: bool = False
    """True under a runtime that brings a kernel of its own (gVisor), which refuses the limits that it does not know."""


@lru_cache(maxsize=64)
def boot_argument(spec: SandboxSpec, channel: Channel, walls: Walls, groups: tuple[int, ...] = ()) -> str:
    """The argument, as `sandbox_image.confine` reads it.

    `groups`: descriptors that the box inherits and through which it enters its control group.
    Raises EnvironmentUnavailable where a limit of `spec` leaves no room for Python.
    """
    opening = {"fd": channel.descriptor} if isinstance(channel, Inherited) else {"connect": channel.path}
    return json.dumps(
        {
            **opening,
            "groups": groups,
            "filter": base64.b64encode(inner_filter(single=walls.single)).decode("ascii"),
            "work": {"bytes": spec.disk_mb * MIB, "inodes": spec.inodes} if walls.own_work else None,
            "landlock": {"read": READ_PATHS, "write": WRITE_PATHS, "required": walls.landlock},
            "rlimits": {name: [value, value] for name, value in limits(spec, walls).items()},
            "expect": {"root": False},
        },
        separators=(",", ":"),
    )


def limits(spec: SandboxSpec, walls: Walls) -> dict[str, int]:
    """Resource limits of every process of the box, by the names of `resource.RLIMIT_*`."""
    held = {
        "CORE": 0,
        "CPU": int(spec.cpu_seconds) + CPU_GRACE_SECONDS,
        "FSIZE": spec.disk_mb * MIB,
        "NOFILE": spec.open_files,
        "STACK": STACK_BYTES,
        "MEMLOCK": 0,
    }
    if walls.own_kernel:
        # It counts every thread that could run as running: only a limit for all of them together means the same.
        held["CPU"] *= spec.pids
    else:
        held |= {"MSGQUEUE": 0, "SIGPENDING": spec.pids}
    if walls.own_user:
        held["NPROC"] = spec.pids
    if walls.single:
        held["AS"] = address_space(spec)
    return held


def address_space(spec: SandboxSpec) -> int:
    """Bytes that the one process of a box without cgroup may map: with the work folder they make up `memory_mb`.

    Raises EnvironmentUnavailable where Python would not fit.
    """
    room = (spec.memory_mb - spec.disk_mb) * MIB - spec.inodes * INODE_BYTES
    if room < MIN_ADDRESS_MB * MIB:
        rest = spec.memory_mb - room // MIB
        raise EnvironmentUnavailable(
            "no control group can be had here, and a box of one process does not fit into "
            f"`memory_mb: {spec.memory_mb}` with `disk_mb: {spec.disk_mb}`",
            hint=f"give at least {rest + MIN_ADDRESS_MB}, or let this process make control groups",
        )
    return room
