"""Whose box it is: the host process that made it, as a label, and the proof that this process is gone.

What is left of a host that was killed may be swept; what belongs to anything that may still live is not touched.
"""

import hashlib
import os
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["Owner", "proven_dead", "this_owner"]

SEPARATOR = ":"


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, named so that no other process ever has the same name."""

    machine: str
    """Digest of the machine's id and host name."""
    boot: str
    """Digest of the kernel's boot id."""
    namespace: int
    """Inode of the pid namespace in which `pid` means something."""
    pid: int
    started: int
    """Clock ticks from boot to the process's start."""

    def __str__(self) -> str:
        return SEPARATOR.join((self.machine, self.boot, str(self.namespace), str(self.pid), str(self.started)))

    @classmethod
    def parse(cls, text: str) -> "Owner | None":
        """The owner that `str` wrote; None where it is anything else."""
        parts = text.split(SEPARATOR)
        if len(parts) != 5 or not all(part.isascii() and part.isdigit() for part in parts[2:]):
            return None
        return cls(parts[0], parts[1], int(parts[2]), int(parts[3]), int(parts[4]))


def this_owner() -> Owner:
    """This process."""
    return _process(os.getpid())


@cache
def _process(pid: int) -> Owner:
    """This process, looked at once; a fork has another id."""
    machine, boot = _machine()
    return Owner(machine, boot, os.stat("/proc/self/ns/pid").st_ino, pid, _started(pid))


def proven_dead(owner: Owner) -> bool:
    """True only where the process cannot exist any more: same machine, boot and pid namespace, and no such process.

    After a reboot nothing of the former boot runs; whether its machine is this one is not provable from a copied
    machine id, so another boot proves nothing here.
    """
    mine = this_owner()
    if (owner.machine, owner.boot, owner.namespace) != (mine.machine, mine.boot, mine.namespace):
        return False
    return _started(owner.pid) != owner.started


@cache
def _machine() -> tuple[str, str]:
    identity = _text("/etc/machine-id") + "\0" + socket.gethostname()
    return _short(identity), _short(_text("/proc/sys/kernel/random/boot_id"))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _started(pid: int) -> int:
    """Start time of a process in ticks since boot; -1 where there is none, or only a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return -1
    return -1 if fields[0] in ("Z", "X") else int(fields[19])
