"""Where control groups for boxes can be made on this machine, version 1 or 2; making them, and sweeping old ones.

Where none can be had `find` gives None, and the box is made as a single process instead.
"""

import itertools
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.cgroup_files import Group, Group1, Group2
from harness.sandbox.kernel_files import write_text
from harness.sandbox.leftover import remove_left
from harness.sandbox.owner import Owner, proven_dead, this_owner
from harness.sandbox.spec import SandboxSpec

__all__ = ["Located", "Parent", "find", "locate"]

MIB = 1 << 20
PERIOD_US = 100_000
"""Of the processor quota: the kernel's own default; shorter ones cost more, longer ones stall longer."""
REMOVE_SECONDS = 1.0
"""A killed tree leaves its group within a few ms; what takes longer is left to the next start's sweep."""
PREFIX = "execution-harness"
_CONTROLLERS_1 = ("memory", "pids", "cpu", "cpuacct", "freezer")
_NEEDED = ("memory", "pids")
_serial = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Located:
    """Where this process stands in the hierarchies that are mounted."""

    version1: Mapping[str, Path]
    """Own folder by controller."""
    version2: Path | None
    """Own folder."""
    mount2: Path | None
    """Where the unified hierarchy is mounted."""


def locate(mountinfo: str, membership: str) -> Located:
    """Read `/proc/self/mountinfo` and `/proc/self/cgroup`. Pure."""
    own: dict[str, str] = {}
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        own.update(dict.fromkeys(controllers.split(","), path))
    version1: dict[str, Path] = {}
    version2 = mount2 = None
    for kind, root, mount, options in _hierarchies(mountinfo):
        if kind == "cgroup":
            for controller in options.split(","):
                if controller in _CONTROLLERS_1 and controller in own:
                    version1.setdefault(controller, _below(mount, root, own[controller]))
        elif mount2 is None:
            mount2 = Path(mount)
            version2 = _below(mount, root, own[""]) if "" in own else None
    return Located(version1, version2, mount2)


@lru_cache(maxsize=8)
def _hierarchies(mountinfo: str) -> tuple[tuple[str, str, str, str], ...]:
    """Type, root, mount point and options of every control group hierarchy; the text stays the same for long."""
    found = []
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split()[:3]
        if kind in ("cgroup", "cgroup2"):
            root, mount = (_unescape(field) for field in left.split()[3:5])
            found.append((kind, root, mount, options))
    return tuple(found)


def _unescape(field: str) -> str:
    return re.sub(r"\\(\d{3})", lambda hit: chr(int(hit.group(1), 8)), field)


def _below(mount: str, root: str, path: str) -> Path:
    """The folder of `path` under a mount that shows the hierarchy from `root` on."""
    parent, _, name = path.rpartition("/")
    folder = _folder(mount, root, parent or "/") if name not in ("", ".", "..") else None
    return folder / name if folder is not None else _folder(mount, root, path) or Path(mount)


@lru_cache(maxsize=64)
def _folder(mount: str, root: str, path: str) -> Path | None:
    """As `_below`; None where it lies outside. The boxes of one host have the same parents."""
    inner = os.path.relpath(path, root)
    return None if inner.startswith("..") else Path(os.path.normpath(os.path.join(mount, inner)))


class Parent(Protocol):
    """A place at which groups can be made."""

    def create(self, spec: SandboxSpec) -> Group:
        """A new group that holds the limits of `spec`. Raises EnvironmentUnavailable where one cannot be set."""

    def sweep(self) -> int:
        """Remove the groups of hosts that are gone; how many."""


def find(located: Located | None = None) -> Parent | None:
    """Where groups for boxes can be made by this process, or None."""
    if located is None:
        located = locate(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())
    if all(name in located.version1 and os.access(located.version1[name], os.W_OK) for name in _NEEDED):
        return _Parent1({name: path for name, path in located.version1.items() if os.access(path, os.W_OK)})
    if located.version2 is not None and located.mount2 is not None:
        for folder in (located.version2, *located.version2.parents):
            if _delegates(folder):
                return _Parent2(folder)
            if folder == located.mount2:
                break
    return None


def _delegates(folder: Path) -> bool:
    """Whether children of `folder` have the controllers, and this process may make some and move there."""
    try:
        given = (folder / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False
    return (
        all(name in given for name in _NEEDED)
        and os.access(folder, os.W_OK)
        and os.access(folder / "cgroup.procs", os.W_OK)
    )


@dataclass(frozen=True, slots=True)
class _Parent1:
    """Groups below this process's own place in each hierarchy, so that its own limits hold for them too."""

    folders: Mapping[str, Path]

    def create(self, spec: SandboxSpec) -> Group:
        remove_left()
        name = _name()
        made = {controller: parent / name for controller, parent in self.folders.items()}
        _make_all(made.values())
        group = Group1(made)
        try:
            memory = str(spec.memory_mb * MIB)
            _write(made["memory"] / "memory.limit_in_bytes", memory)
            if (made["memory"] / "memory.memsw.limit_in_bytes").exists():
                _write(made["memory"] / "memory.memsw.limit_in_bytes", memory)
            else:
                _write(made["memory"] / "memory.swappiness", "0")
            _write(made["pids"] / "pids.max", str(spec.pids))
            if "cpu" in made:
                _write(made["cpu"] / "cpu.cfs_period_us", str(PERIOD_US))
                _write(made["cpu"] / "cpu.cfs_quota_us", str(int(spec.cpus * PERIOD_US)))
        except EnvironmentUnavailable:
            group.remove()
            raise
        return group

    def sweep(self) -> int:
        gone = {folder.name for parent in self.folders.values() for folder in _abandoned(parent)}
        for name in gone:
            _end(Group1({controller: parent / name for controller, parent in self.folders.items()}))
        return len(gone)


@dataclass(frozen=True, slots=True)
class _Parent2:
    """Groups below the nearest folder of the unified hierarchy that hands the controllers on."""

    folder: Path

    def create(self, spec: SandboxSpec) -> Group:
        remove_left()
        made = _make(self.folder / _name())
        group = Group2(made)
        try:
            _write(made / "memory.max", str(spec.memory_mb * MIB))
            if (made / "memory.swap.max").exists():
                _write(made / "memory.swap.max", "0")
            _write(made / "memory.oom.group", "1")
            _write(made / "pids.max", str(spec.pids))
            if (made / "cpu.max").exists():
                _write(made / "cpu.max", f"{int(spec.cpus * PERIOD_US)} {PERIOD_US}")
        except EnvironmentUnavailable:
            group.remove()
            raise
        return group

    def sweep(self) -> int:
        gone = list(_abandoned(self.folder))
        for folder in gone:
            _end(Group2(folder))
        return len(gone)


def _name() -> str:
    """Whose group it is stands in its name."""
    return f"{PREFIX}-{str(this_owner()).replace(':', '.')}-{next(_serial)}"


def _abandoned(parent: Path) -> Iterator[Path]:
    """Groups whose host is proven gone."""
    for folder in parent.glob(f"{PREFIX}-*"):
        owner = Owner.parse(folder.name.removeprefix(f"{PREFIX}-").rpartition("-")[0].replace(".", ":"))
        if owner is not None and proven_dead(owner):
            yield folder


def _end(group: Group) -> None:
    group.kill()
    deadline = time.monotonic() + REMOVE_SECONDS
    while not group.remove() and time.monotonic() < deadline:
        time.sleep(0.01)
    group.close()


def _make_all(folders: Iterable[Path]) -> None:
    """All of them or none; joined controllers share a folder. Raises EnvironmentUnavailable."""
    made: list[Path] = []
    try:
        for folder in dict.fromkeys(folders):
            made.append(_make(folder))
    except EnvironmentUnavailable:
        for folder in made:
            folder.rmdir()
        raise


def _make(folder: Path) -> Path:
    try:
        folder.mkdir()
    except OSError as error:
        raise EnvironmentUnavailable(f"no control group for the box: {error}") from None
    return folder


def _write(file: Path, value: str) -> None:
    try:
        write_text(str(file), value)
    except OSError as error:
        raise EnvironmentUnavailable(
            f"the limit `{file.name}` of the box cannot be set to {value}: {error.strerror}",
            hint="run `harness doctor`: it says which controllers this process may use",
        ) from None
