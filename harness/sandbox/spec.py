"""What one box is allowed: every setting with its default, the reason for the number and the threat it answers.

Not a backend: `boot` turns a spec into the box's own confinement, the backends turn it into walls.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

from harness.core.budget import Amount, Dimension
from harness.core.errors import EnvironmentUnavailable

__all__ = ["SETTINGS", "SandboxSpec", "Setting"]

MIN_MEMORY_MB = 32
"""A started runner holds 12 to 14 MiB; below twice that the kernel kills it while it imports."""

DISK_SHARE = 4
"""The work folder may take a quarter of the memory: its pages are charged to the same limit."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One number of a box, as a reviewer reads it."""

    name: str
    """Field of `SandboxSpec`."""
    unit: str
    """What one of it is; empty for names."""
    reason: str
    """Why the default is what it is."""
    threat: str
    """What happens where nothing limits it; empty where the setting is no limit."""


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """The limits of one box. Hashable: boxes with equal specs are interchangeable in a pool."""

    wall_seconds: float = 60.0
    """Seconds on the host's clock until the whole tree is killed from outside."""
    cpu_seconds: float = 20.0
    """Seconds of processor time of the whole tree."""
    memory_mb: int = 256
    """MiB of memory of the whole tree, its work folder included; swap counts as memory and gets none."""
    pids: int = 64
    """Processes and threads together."""
    disk_mb: int = 64
    """MiB of the work folder, a tmpfs; also the largest file."""
    inodes: int = 4096
    """Files and folders in the work folder."""
    open_files: int = 256
    """Descriptors of one process."""
    cpus: float = 1.0
    """Processors that the tree may keep busy at once."""
    start_seconds: float = 20.0
    """Seconds until the box must have said hello."""
    runtime: str = ""
    """The engine's runtime, `runsc` for gVisor; empty takes the engine's default. No meaning outside docker."""
    image: str = ""
    """Name or digest of the image; empty takes the one that the harness builds. No meaning outside docker."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, str):
                continue
            if isinstance(value, bool) or not math.isfinite(value) or value <= 0:
                raise EnvironmentUnavailable(
                    f"the sandbox setting `{item.name}` is `{value}`", hint="give a finite number above 0"
                )
        if self.memory_mb < MIN_MEMORY_MB:
            raise EnvironmentUnavailable(
                f"no box starts in `memory_mb: {self.memory_mb}`", hint=f"give at least {MIN_MEMORY_MB}"
            )
        if self.disk_mb >= self.memory_mb:
            raise EnvironmentUnavailable(
                f"`disk_mb: {self.disk_mb}` does not fit into `memory_mb: {self.memory_mb}`, which holds it",
                hint="lower disk_mb or raise memory_mb",
            )

    @classmethod
    def from_limits(cls, limits: Mapping[str, Amount], *, runtime: str = "", image: str = "") -> "SandboxSpec":
        """The spec for a run's limits, named as in `harness.core.budget`; what is not named keeps its default.

        Raises EnvironmentUnavailable where a limit cannot be a box.
        """
        default = cls()
        memory = math.floor(limits.get(Dimension.MEMORY_MB, default.memory_mb))
        disk = limits.get(Dimension.DISK_MB, max(1, min(default.disk_mb, memory // DISK_SHARE)))
        return cls(
            wall_seconds=float(limits.get(Dimension.WALL_SECONDS, default.wall_seconds)),
            cpu_seconds=float(limits.get(Dimension.CPU_SECONDS, default.cpu_seconds)),
            memory_mb=memory,
            pids=math.floor(limits.get(Dimension.PIDS, default.pids)),
            disk_mb=math.floor(disk),
            runtime=runtime,
            image=image,
        )


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "wall_seconds",
        "s",
        "a snippet that orders calls answers in seconds; a minute leaves room for slow tools",
        "sleeping or waiting for ever holds a box and its memory",
    ),
    Setting(
        "cpu_seconds",
        "s",
        "a third of the wall limit: code that only computes is not what a box is for",
        "mining, endless loops, patterns that explode",
    ),
    Setting(
        "memory_mb",
        "MiB",
        "Python with the runner takes 14; 256 holds some millions of values",
        "one run starves the host or the neighbours",
    ),
    Setting(
        "pids",
        "tasks",
        "a pool of 32 threads and as much again",
        "fork bombs, threads without end",
    ),
    Setting(
        "disk_mb",
        "MiB",
        "work files only, results go through the channel; a quarter of the memory at most",
        "filling the disk or, on a tmpfs, the memory of the host",
    ),
    Setting(
        "inodes",
        "files",
        "an unpacked archive fits; an inode costs the kernel about 1 KiB",
        "millions of empty files hold kernel memory that no size limit counts",
    ),
    Setting(
        "open_files",
        "descriptors",
        "asyncio with 100 files open; pipe buffers stay under 16 MiB",
        "descriptors and pipe buffers hold kernel memory",
    ),
    Setting(
        "cpus",
        "processors",
        "the interpreter's lock lets one thread compute at a time",
        "threads in C code slow the neighbours down",
    ),
    Setting(
        "start_seconds",
        "s",
        "a cold start takes 0.02 to 0.3 s; twenty covers a loaded machine",
        "a box that never starts blocks its run",
    ),
    Setting("runtime", "", "the engine's own default", ""),
    Setting("image", "", "built from Dockerfile.sandbox, found by the digest of its inputs", ""),
)
"""Every field of `SandboxSpec`, in its order."""
