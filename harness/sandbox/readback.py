"""A live box's limits, read back from its control group on the host and compared with what was asked for."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.sandbox.cgroup import Located
from harness.sandbox.kernel_files import read_text
from harness.sandbox.spec import SandboxSpec

__all__ = ["limit_faults"]

MIB = 1 << 20
UNLIMITED = 1 << 60
"""What version 1 shows for no limit is the largest multiple of a page; anything above this is none."""


def limit_faults(located: Located, spec: SandboxSpec, *, swap: bool = True) -> list[str]:
    """The limits that do not hold, as sentences. `swap`: the machine has some, so that memory must be held without it.

    A file that is missing does not hold; the processor's quota is looked at only where its controller is there.
    """
    if located.version1.get("memory") is not None:
        found = _version1(located.version1)
    elif located.version2 is not None:
        found = _version2(located.version2)
    else:
        return ["the box is in no control group that this host can see"]
    wanted: dict[str, float] = {"memory": spec.memory_mb * MIB, "pids": spec.pids, "cpu": spec.cpus}
    if swap:
        wanted["memory and swap"] = spec.memory_mb * MIB
    return list(_compare(wanted, found))


def _compare(wanted: Mapping[str, float], found: Mapping[str, float | None]) -> Iterator[str]:
    for name, limit in wanted.items():
        held = found.get(name)
        if held is None:
            yield f"no limit of {name} can be read"
        elif held > limit:
            yield f"the limit of {name} is {_shown(held)}, not {_shown(limit)}"


def _shown(number: float) -> str:
    return "none" if number >= UNLIMITED else str(int(number) if number == int(number) else number)


def _version1(folders: Mapping[str, Path]) -> dict[str, float | None]:
    memory = folders["memory"]
    quota, period = (
        _number(folders["cpu"] / name) if "cpu" in folders else None
        for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    )
    return {
        "memory": _number(memory / "memory.limit_in_bytes"),
        "memory and swap": _number(memory / "memory.memsw.limit_in_bytes"),
        "pids": _number(folders["pids"] / "pids.max") if "pids" in folders else None,
        "cpu": None if quota is None or period is None else UNLIMITED if quota < 0 else quota / period,
    }


def _version2(folder: Path) -> dict[str, float | None]:
    memory, swap = _number(folder / "memory.max"), _number(folder / "memory.swap.max")
    try:
        quota, period = (folder / "cpu.max").read_text().split()
        cpu = UNLIMITED if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        cpu = None
    return {
        "memory": memory,
        "memory and swap": None if memory is None or swap is None else memory + swap,
        "pids": _number(folder / "pids.max"),
        "cpu": cpu,
    }


def _number(file: Path) -> int | None:
    try:
        text = read_text(str(file)).strip()
        return UNLIMITED if text == "max" else int(text)
    except (OSError, ValueError):
        return None
