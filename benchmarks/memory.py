"""What is held: by a box that waits, and by the host over many runs."""

import asyncio
import os
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.figure import Figure
from benchmarks.work import CONTRACT, POLICY, Stamps, registry, snippet
from harness.api import Harness
from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.backends import Choice, choose
from harness.sandbox.spec import SandboxSpec

__all__ = ["memory_figures"]

RUNS = int(os.environ.get("BENCH_RUNS", "400"))
"""Over which the host's memory is watched; 10,000 for the figure of the table."""
SLOTS = 4
GOALS = {"bubblewrap": 1.6, "docker": 8.5}


def _mb(path: Path, field: str) -> float:
    for line in path.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    return 0.0


async def _slots(name: str) -> list[float]:
    """MB that each box adds: what it shares with nobody."""
    try:
        backend: Any = await choose(Choice(name))
    except EnvironmentUnavailable:
        return []
    boxes = [await backend.start(SandboxSpec()) for _ in range(SLOTS)]
    samples = []
    for box in boxes:
        if name == "docker":
            samples.append(box.usage().memory_mb or 0.0)
        else:
            rollup = Path(f"/proc/{box.first_pid}/smaps_rollup")
            samples.append(_mb(rollup, "Private_Dirty") + _mb(rollup, "Private_Clean"))
    for box in boxes:
        await box.close()
    await backend.close()
    return samples


async def _host() -> list[float]:
    """kB by which the host grows in each tenth of the second half of the runs, a run."""
    status, samples = Path("/proc/self/status"), []
    with tempfile.TemporaryDirectory() as folder:
        backend = await choose(Choice.BUBBLEWRAP)
        async with Harness(registry(Stamps()), folder=folder, policy=POLICY, backend=backend) as harness:

            async def runs(count: int) -> None:
                for _ in range(count // 4):
                    await asyncio.gather(*(harness.run(CONTRACT, snippet(1)) for _ in range(4)))

            await runs(RUNS // 2)
            before = _mb(status, "VmRSS")
            for _ in range(10):
                await runs(RUNS // 20)
                now = _mb(status, "VmRSS")
                samples.append((now - before) * 1024 / (RUNS // 20))
                before = now
        await backend.close()
    return samples


async def memory_figures() -> list[Figure]:
    """`slot_memory` and `host_memory`."""
    figures = [
        Figure(f"slot_memory.{name}", found, "MB", "", 1.0, GOALS[name])
        for name in GOALS
        if (found := await _slots(name))
    ]
    note = f"growth a run, second half of {RUNS}"
    return [*figures, Figure("host_memory", await _host(), "kB", "", 1.0, 0.5, note=note)]
