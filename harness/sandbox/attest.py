"""What the engine says of a container that this host cannot look into: another machine's, or one under another kernel.

A second process is started in the box before it is given anything to run; it reads the box's /proc and answers through
the engine, so nothing of the answer passes through the box's own program.
"""

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.core.ports import BoxUsage
from harness.sandbox.confinement import faults_of
from harness.sandbox.engine import Engine
from harness.sandbox.spec import SandboxSpec
from harness.sandbox.tree import PYTHON

__all__ = ["asked_limits", "faults_inside", "read_stats", "runtime_faults", "statuses_inside"]

MIB = 1 << 20
PERIOD_US = 100_000
READ_SECONDS = 20.0
"""Starting the reader takes 0.1 s here, 0.5 s under gVisor."""
LOOK = """
import json, os
found = []
for pid in filter(str.isdigit, os.listdir('/proc')):
    if int(pid) != os.getpid():
        for task in os.listdir(f'/proc/{pid}/task'):
            found.append(open(f'/proc/{pid}/task/{task}/status').read())
print(json.dumps(found))
"""
STACKED_FILTERS = 2
"""The engine's and the box's own."""
NO_LINES = ("NoNewPrivs is None, not 1", "CapAmb is None, not 0")
"""Lines that gVisor's /proc does not have: it gives new privileges to nobody, and has no ambient capabilities."""
HEADER_BYTES = 8
STDOUT = 1


async def statuses_inside(engine: Engine, container: str) -> list[str]:
    """`/proc/PID/task/TID/status` of every task of the box. Empty where the answer makes no sense.

    Raises EngineRefused, EnvironmentUnavailable.
    """
    made = await engine.post(
        f"/containers/{container}/exec",
        {"Cmd": [PYTHON, "-I", "-S", "-B", "-c", LOOK], "AttachStdout": True, "AttachStderr": False},
    )
    reader, writer = await engine.hijack(f"/exec/{made['Id']}/start", {"Detach": False, "Tty": False})
    said = bytearray()
    try:
        async with asyncio.timeout(READ_SECONDS):
            while len(header := await reader.read(1)) == 1:
                header += await reader.readexactly(HEADER_BYTES - 1)
                part = await reader.readexactly(int.from_bytes(header[4:], "big"))
                if header[0] == STDOUT and len(said) < MIB:
                    said += part
    except (TimeoutError, asyncio.IncompleteReadError):
        return []
    finally:
        writer.close()
    try:
        found = json.loads(said)
    except ValueError:
        return []
    return [str(status) for status in found] if isinstance(found, list) else []


def faults_inside(status: str, *, own_kernel: bool) -> list[str]:
    """The lines of a task's status, as the box's kernel shows it, that do not hold.

    A kernel of the runtime's own knows only the box's own filter.
    """
    faults = faults_of(status, 1 if own_kernel else STACKED_FILTERS)
    return [fault for fault in faults if not own_kernel or fault not in NO_LINES]


def runtime_faults(pids: Iterable[int]) -> list[str]:
    """What does not hold of the runtime's own processes on this host: each filtered, none able to gain anything."""
    found = []
    for pid in pids:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        faults = faults_of(status, 1)
        found += [fault for fault in faults if fault.startswith(("Seccomp", "NoNewPrivs"))]
    return found


def asked_limits(inspected: dict[str, Any], spec: SandboxSpec) -> list[str]:
    """Limits that the engine does not say it holds, as sentences."""
    host = inspected["HostConfig"]
    wanted = {
        "Memory": spec.memory_mb * MIB,
        "MemorySwap": spec.memory_mb * MIB,
        "PidsLimit": spec.pids,
        "CpuQuota": int(spec.cpus * PERIOD_US),
    }
    return [f"the engine holds {name} at {host.get(name)}, not {value}" for name, value in wanted.items()
            if host.get(name) != value]  # fmt: skip


def read_stats(stats: dict[str, Any]) -> BoxUsage:
    """Use so far, from an answer to `GET /containers/ID/stats`; what is missing is None."""
    cpu = stats.get("cpu_stats", {}).get("cpu_usage", {}).get("total_usage")
    memory = stats.get("memory_stats", {})
    level = memory.get("max_usage", memory.get("usage"))
    return BoxUsage(
        cpu / 1e9 if isinstance(cpu, int) else None,
        level / MIB if isinstance(level, int) else None,
        stats.get("pids_stats", {}).get("current"),
    )
