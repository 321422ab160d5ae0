"""Bubblewrap's argument vector for one box. Pure."""

from dataclasses import dataclass
from pathlib import Path

from harness.sandbox.boot import HASH_SEED, PYTHON_FLAGS, WORK_FOLDER
from harness.sandbox.bwrap_program import NAMESPACES
from harness.sandbox.tree import BOXLIB, PYTHON

__all__ = ["BOX_USER", "Inherit", "arguments", "zygote_arguments"]

BOX_USER = 1000
"""User and group as the box sees them; outside they are a user without rights."""
EMPTY_BYTES = 4096
"""Size of /dev, which holds one mount point and is read-only once that is made, and of what each box covers."""


@dataclass(frozen=True, slots=True)
class Inherit:
    """Descriptors that bubblewrap takes over."""

    seccomp: int
    """Read end of a pipe with the outer filter."""
    info: int
    """Write end of a pipe: bubblewrap tells the first process's id."""


def zygote_arguments(program: Path, tree: Path, inherit: Inherit, settings: str) -> list[str]:
    """The command of the process that forks boxes: a box's walls, but for the right to make namespaces, and /proc."""
    return [
        *_walls(program, tree),
        *("--cap-add", "CAP_SYS_ADMIN", "--proc", "/proc"),
        *("--size", str(EMPTY_BYTES), "--tmpfs", WORK_FOLDER, "--chdir", "/"),
        *("--seccomp", str(inherit.seccomp), "--info-fd", str(inherit.info)),
        *("--", PYTHON, *PYTHON_FLAGS, f"{BOXLIB}/sandbox_image/zygote.py", settings),
    ]


def arguments(program: Path, tree: Path, inherit: Inherit, boot: str) -> list[str]:
    """The command: every wall that bubblewrap makes, then the box's Python, which makes its work folder itself."""
    return [
        *_walls(program, tree),
        *("--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP"),
        *("--size", str(EMPTY_BYTES), "--tmpfs", WORK_FOLDER, "--chdir", "/"),
        *("--seccomp", str(inherit.seccomp), "--info-fd", str(inherit.info)),
        *("--", PYTHON, *PYTHON_FLAGS, f"{BOXLIB}/boot.py", boot),
    ]


def _walls(program: Path, tree: Path) -> list[str]:
    return [
        str(program),
        *NAMESPACES,
        *("--uid", str(BOX_USER), "--gid", str(BOX_USER), "--hostname", "box"),
        *("--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL"),
        *("--clearenv", "--setenv", *HASH_SEED),
        *("--ro-bind", str(tree), "/"),
        *("--size", str(EMPTY_BYTES), "--tmpfs", "/dev", "--dev-bind", "/dev/null", "/dev/null"),
        *("--remount-ro", "/dev"),
    ]
