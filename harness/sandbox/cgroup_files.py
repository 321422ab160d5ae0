"""The control group of one box, version 1 or 2: read through kept descriptors, entered, frozen, killed, removed.

Making one, and finding where, is `cgroup`.
"""

import os
import re
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.kernel_files import read_text

__all__ = ["Group", "Group1", "Group2", "Reading"]

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Reading:
    """The counters of a group; None where the kernel has no such counter."""

    cpu_seconds: float | None
    memory_peak_mb: float | None
    """Highest so far, in MiB."""
    pids: int | None
    """Tasks now, or the highest so far where the kernel keeps it."""
    oom_kills: int
    """Processes that the kernel killed for want of memory."""


class Group(Protocol):
    """The group of one box."""

    def entrances(self) -> list[int]:
        """Open descriptors: a process that writes `0` to each is in the group. The caller closes them.

        A task that moves itself costs 0.1 ms; moving another one waits for all processors, 3 ms a controller.
        """

    def processes(self) -> list[int]:
        """Process ids in the group, as this process sees them."""

    def read(self) -> Reading:
        """The counters now: a few µs."""

    def freeze(self, frozen: bool) -> bool:
        """Stop or let go every task; False where the kernel cannot."""

    def kill(self) -> None:
        """End every process in the group, frozen ones too. Raises EnvironmentUnavailable where it is not a box's."""

    def remove(self) -> bool:
        """Take the group away, and close it; False where processes are still leaving it."""

    def close(self) -> None:
        """Let go of the descriptors, and leave the group to whoever made it. Idempotent."""


class _Counters:
    """Files of a group, opened once and read again from their start."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._open: dict[str, int] = {}
        for name, path in files.items():
            with suppress(OSError):
                self._open[name] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def text(self, name: str) -> str | None:
        descriptor = self._open.get(name)
        if descriptor is None:
            return None
        try:
            return os.pread(descriptor, 4096, 0).decode("ascii", "replace")
        except OSError:
            return None

    def number(self, name: str) -> int | None:
        text = self.text(name)
        return int(text) if text is not None and text.strip().isdigit() else None

    def field(self, name: str, key: str) -> int | None:
        """The number beside `key` in a file of `key number` lines."""
        text = self.text(name)
        found = re.search(rf"^{key} (\d+)$", text, re.MULTILINE) if text else None
        return int(found.group(1)) if found else None

    def close(self) -> None:
        while self._open:
            os.close(self._open.popitem()[1])


class _Group:
    """What both versions share: folders made together and removed together."""

    _entrance = "cgroup.procs"

    def __init__(self, folders: list[Path], counters: Mapping[str, Path]) -> None:
        self._folders = folders
        self._counters = _Counters(counters)

    def entrances(self) -> list[int]:
        return [os.open(folder / self._entrance, os.O_WRONLY | os.O_CLOEXEC) for folder in self._folders]

    def processes(self) -> list[int]:
        try:
            return [int(line) for line in read_text(f"{self._folders[0]}/cgroup.procs").split()]
        except OSError:
            return []

    def kill(self) -> None:
        for pid in self._killable():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.freeze(False)

    def _killable(self) -> list[int]:
        """Processes that a signal reaches. Id 0 is one of another pid namespace; a signal to it is one to ourselves."""
        processes = self.processes()
        if not processes:
            return []
        if os.getpid() in processes or not (self._folders[0].parent / "cgroup.procs").exists():
            raise EnvironmentUnavailable(
                f"the control group `{self._folders[0]}` holds more than a box: nothing in it was ended",
                hint="give the engine a cgroup parent of its own",
            )
        return [pid for pid in processes if pid > 0]

    def freeze(self, frozen: bool) -> bool:
        raise NotImplementedError

    def remove(self) -> bool:
        left = []
        for folder in self._folders:
            try:
                folder.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                left.append(folder)
        self._folders = left or self._folders[:1]
        if not left:
            self.close()
        return not left

    def close(self) -> None:
        self._counters.close()


class Group1(_Group):
    """Version 1: one folder in each controller's hierarchy."""

    _entrance = "tasks"

    def __init__(self, folders: Mapping[str, Path]) -> None:
        memory, pids = folders["memory"], folders["pids"]
        files = {"memory": memory / "memory.max_usage_in_bytes", "oom": memory / "memory.oom_control"}
        files |= {"pids": pids / "pids.current", "pids_peak": pids / "pids.peak"}
        if "cpuacct" in folders:
            files["cpu"] = folders["cpuacct"] / "cpuacct.usage"
        super().__init__(list(dict.fromkeys(folders.values())), files)
        self._freezer = folders.get("freezer")

    def read(self) -> Reading:
        cpu, memory = self._counters.number("cpu"), self._counters.number("memory")
        peak = self._counters.number("pids_peak")
        return Reading(
            None if cpu is None else cpu / 1e9,
            None if memory is None else memory / MIB,
            self._counters.number("pids") if peak is None else peak,
            self._counters.field("oom", "oom_kill") or 0,
        )

    def freeze(self, frozen: bool) -> bool:
        if self._freezer is None:
            return False
        with suppress(OSError):
            (self._freezer / "freezer.state").write_text("FROZEN" if frozen else "THAWED")
            return True
        return False


class Group2(_Group):
    """Version 2: one folder."""

    def __init__(self, folder: Path) -> None:
        names = {"memory": "memory.peak", "oom": "memory.events", "cpu": "cpu.stat"}
        names |= {"pids": "pids.current", "pids_peak": "pids.peak"}
        super().__init__([folder], {name: folder / file for name, file in names.items()})
        self._folder = folder

    def read(self) -> Reading:
        cpu, memory = self._counters.field("cpu", "usage_usec"), self._counters.number("memory")
        peak = self._counters.number("pids_peak")
        return Reading(
            None if cpu is None else cpu / 1e6,
            None if memory is None else memory / MIB,
            self._counters.number("pids") if peak is None else peak,
            self._counters.field("oom", "oom_kill") or 0,
        )

    def freeze(self, frozen: bool) -> bool:
        with suppress(OSError):
            (self._folder / "cgroup.freeze").write_text("1" if frozen else "0")
            return True
        return False

    def kill(self) -> None:
        self._killable()
        try:
            (self._folder / "cgroup.kill").write_text("1")
        except OSError:
            super().kill()
