"""The host's part of a selftest: what it tells the probes, and what it sees of their processes from outside."""

import os
import secrets
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from harness.core.call import Json
from harness.sandbox.docker_args import held_spec
from harness.sandbox.kernel import landlock_version
from harness.sandbox.seccomp import architecture
from harness.sandbox.spec import SandboxSpec

__all__ = ["LIMITS", "facts", "holders", "listening", "new_marker"]

LIMITS: Mapping[str, int] = {"memory_mb": 128, "pids": 32, "disk_mb": 16}
"""Of every probe's box: small, so that what has no end ends soon."""


def facts(runtime: str, listener: int) -> dict[str, Json]:
    """What the probes may know of the host; nothing of it is secret."""
    return {
        "numbers": dict(architecture().numbers),
        "listener": listener,
        "hostname": socket.gethostname(),
        "landlock": landlock_version() > 0 and not runtime,
        "own_kernel": bool(runtime),
        "host_words": [socket.gethostname(), Path("/proc/sys/kernel/random/boot_id").read_text().strip()],
        **LIMITS,
        "pids": held_spec(SandboxSpec.from_limits(LIMITS, runtime=runtime)).pids,
    }


@contextmanager
def listening() -> Iterator[int]:
    """A service on this host's loopback, which no box may reach; its port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as made:
        made.bind(("127.0.0.1", 0))
        made.listen()
        yield made.getsockname()[1]


def new_marker() -> str:
    """A file name that no other process of this machine has open."""
    return f"selftest-{secrets.token_hex(8)}"


def holders(marker: str) -> list[int]:
    """Processes of this host that have a file of that name open, as far as this user may look."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            names = [os.readlink(entry) for entry in (folder / "fd").iterdir()]
        except OSError:
            continue
        if any(marker in name for name in names):
            found.append(int(folder.name))
    return found
