"""What a process tree uses: psutil over the tree, and the counters of its control group where it has one.

Works for every backend: all it needs is the host's id of the tree's first process.
"""

import psutil

from harness.core.ports import BoxUsage
from harness.sandbox.cgroup_files import Group, Reading

__all__ = ["Watch"]

MIB = 1 << 20


class Watch:
    """Highest levels and sums of one tree; keeps the last reading when the tree is gone."""

    def __init__(self, pid: int, group: Group | None = None, *, single: bool = False, entered: bool = False) -> None:
        """`single`: the tree is one process and cannot be more, so nothing is searched for children.

        `entered`: the first process came into the group with memory of its own, which the group does not count.
        """
        self._group = group
        self._single = single
        self._cpu: dict[int, float] = {}
        """Seconds by process, the highest seen: processes that ended still count."""
        self._memory: float | None = None
        self._pids: int | None = None
        self.oom_kills = 0
        """Processes of the group that the kernel killed for want of memory."""
        self._base = 0.0
        """MiB that the first process held when it entered the group: they stay on its parent's account."""
        try:
            self._root: psutil.Process | None = psutil.Process(pid)
            if entered:
                memory = self._root.memory_info()
                self._base = (memory.rss - memory.shared) / MIB
        except psutil.NoSuchProcess:
            self._root = None

    def usage(self) -> BoxUsage:
        """A reading now: a few µs with a group, 0.1 ms for one process, some ms for a tree without a group."""
        if self._group is not None:
            reading = self._group.read()
            self._note(reading)
            if reading.cpu_seconds is not None and reading.memory_peak_mb is not None:
                return BoxUsage(reading.cpu_seconds, self._memory, self._pids)
        self._look()
        return BoxUsage(sum(self._cpu.values()) if self._cpu else None, self._memory, self._pids)

    def processes(self) -> list[int]:
        """Process ids of the tree now, the first one first."""
        if self._group is not None:
            return self._group.processes()
        return [process.pid for process in self._tree()]

    def _note(self, reading: Reading) -> None:
        self.oom_kills = max(self.oom_kills, reading.oom_kills)
        peak = reading.memory_peak_mb
        self._highest(None if peak is None else peak + self._base, reading.pids)

    def _look(self) -> None:
        memory = tasks = 0
        for process in self._tree():
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    memory += process.memory_info().rss
                    tasks += process.num_threads()
            except psutil.Error:
                continue
            self._cpu[process.pid] = max(self._cpu.get(process.pid, 0.0), times.user + times.system)
        if tasks:
            self._highest(memory / MIB, tasks)

    def _tree(self) -> list[psutil.Process]:
        if self._root is None:
            return []
        if self._single:
            return [self._root] if self._root.is_running() else []
        try:
            return [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def _highest(self, memory: float | None, pids: int | None) -> None:
        if memory is not None:
            self._memory = max(memory, self._memory or 0.0)
        if pids is not None:
            self._pids = max(pids, self._pids or 0)
