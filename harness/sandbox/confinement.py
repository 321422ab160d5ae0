"""What the kernel says of a box's processes: read from /proc on the host, for every task, and believed."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.kernel_files import read_text

__all__ = ["faults_of", "own_filters", "require_confined"]

FILTER_MODE = "2"
CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapAmb")
_LOOKED_AT = re.compile(rf"^(Uid|Gid|NoNewPrivs|Seccomp|Seccomp_filters|{'|'.join(CAPABILITIES)}):(.*)$", re.MULTILINE)
"""A process's own name cannot make such a line: the kernel writes a line break in it as two characters."""


def require_confined(pids: Iterable[int], filters: int, proc: Path = Path("/proc")) -> None:
    """Every task of every process is confined, and there is at least one.

    `filters`: how many seccomp filters each must carry, this process's own included.
    Raises EnvironmentUnavailable with the first line that does not hold.
    """
    count = 0
    for pid in pids:
        for status in _statuses(f"{proc}/{pid}/task"):
            count += 1
            faults = faults_of(status, filters)
            if faults:
                raise EnvironmentUnavailable(
                    f"a box is not confined: {faults[0]}", hint="nothing was run in it; run `harness doctor`"
                )
    if not count:
        raise EnvironmentUnavailable("a box is gone before it could be verified", hint="run `harness doctor`")


def own_filters(proc: Path = Path("/proc")) -> int:
    """How many seccomp filters this process carries: what it starts inherits them."""
    fields = _fields(read_text(f"{proc}/self/status"))
    return int(fields.get("Seccomp_filters", "0"))


def faults_of(status: str, filters: int) -> list[str]:
    """The lines of a task's status that do not hold, as sentences. Pure; a line that is missing does not hold."""
    fields = _fields(status)
    found = []
    if fields.get("Seccomp") != FILTER_MODE:
        found.append(f"Seccomp is {fields.get('Seccomp')}, not {FILTER_MODE}")
    stacked = fields.get("Seccomp_filters", str(filters))
    if not stacked.isdigit() or int(stacked) < filters:
        found.append(f"Seccomp_filters is {stacked}, not {filters}")
    if fields.get("NoNewPrivs") != "1":
        found.append(f"NoNewPrivs is {fields.get('NoNewPrivs')}, not 1")
    found += [f"{name} is {fields.get(name)}, not 0" for name in CAPABILITIES if fields.get(name, "x").strip("0")]
    found += [f"{name} holds root" for name in ("Uid", "Gid") if "0" in fields.get(name, "0").split()]
    return found


def _statuses(folder: str) -> list[str]:
    """The status of every task; one that ends meanwhile has none."""
    found = []
    try:
        tasks = os.listdir(folder)
    except OSError:
        return []
    for task in tasks:
        try:
            found.append(read_text(f"{folder}/{task}/status"))
        except OSError:
            continue
    return found


def _fields(status: str) -> dict[str, str]:
    """Those that are looked at."""
    return {name: value.strip() for name, value in _LOOKED_AT.findall(status)}
