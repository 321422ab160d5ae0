"""Boxes for probes: a tree whose runner executes what a test sends, and the few words that tests share."""

import asyncio
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from harness.core.ports import Box
from harness.sandbox.bubblewrap import BubblewrapBackend, Ground
from harness.sandbox.cgroup import find
from harness.sandbox.local_box import LocalBox
from harness.sandbox.spec import SandboxSpec
from harness.sandbox.tree import BOXLIB, host_tree
from harness.sandbox.zygote import Zygote
from harness.walls.cache import cache_root

T = TypeVar("T")
RUNNER = "boot"
"""The probes' runner stands where the real one's entry does."""
PROBE = Path(__file__).with_name("probe_boot.py")
GROUPS = pytest.mark.skipif(find() is None, reason="this process may not make control groups")


def descriptors() -> Counter[str]:
    """What this process has open, by target; sockets and pipes have a number of their own."""
    found: Counter[str] = Counter()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the one through which this folder is read
            found[os.readlink(entry)] += 1
    return found


@dataclass(frozen=True, slots=True)
class Way:
    """How a test's box comes to be."""

    groups: bool
    """Who holds the limits: the box's control group, or, where there is none, the box as a single process."""
    slot: bool
    """Forked from a zygote, or started cold."""


GROUPED = [
    pytest.param(Way(groups=True, slot=False), id="cold-group", marks=GROUPS),
    pytest.param(Way(groups=True, slot=True), id="slot-group", marks=GROUPS),
]
SINGLE = [
    pytest.param(Way(groups=False, slot=False), id="cold-single"),
    pytest.param(Way(groups=False, slot=True), id="slot-single"),
]
WAYS = [*GROUPED, *SINGLE]
"""Every battery runs over all of them: the walls are the same."""


@pytest.fixture(scope="session")
def probe_tree() -> Iterator[Path]:
    """The root file system with the probes' runner in place of the real one."""
    source = host_tree()
    target = Path(tempfile.mkdtemp(dir=cache_root(), prefix="probe-"))
    target.chmod(0o755)
    shutil.copytree(source, target, copy_function=os.link, dirs_exist_ok=True, symlinks=True)
    boot = target / BOXLIB.lstrip("/") / "boot.py"
    boot.unlink(missing_ok=True)
    shutil.copyfile(PROBE, boot)
    boot.chmod(0o644)
    yield target
    shutil.rmtree(target)


async def ask(box: Box, text: str, seconds: float = 20.0) -> dict[str, Any] | None:
    """What the probe found; None where the box ended instead."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(seconds):
        await loop.sock_sendall(box.channel, len(text.encode()).to_bytes(4, "big") + text.encode())
        data = b""
        while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
            try:
                more = await loop.sock_recv(box.channel, 1 << 16)
            except ConnectionResetError:
                return None
            if not more:
                return None
            data += more
    found: dict[str, Any] = json.loads(data[4:])
    return found


@asynccontextmanager
async def box_of(tree: Path, way: Way, spec: SandboxSpec | None = None) -> AsyncIterator[LocalBox]:
    """A verified box that has said hello."""
    async with _started(tree, way, spec or SandboxSpec()) as box:
        try:
            await box.verify()
            assert box.channel.recv(1) == b"h"
            yield box
        finally:
            await box.close()


@asynccontextmanager
async def _started(tree: Path, way: Way, spec: SandboxSpec) -> AsyncIterator[LocalBox]:
    if not way.slot:
        backend = BubblewrapBackend(tree=tree, groups=way.groups)
        yield await backend.start(spec)
        await backend.close()
        return
    ground = Ground(tree, groups=way.groups)
    await ground.prepare()
    zygote = Zygote(ground.program.path, ground.tree, RUNNER)
    try:
        await zygote.until_ready(spec.start_seconds)
        yield await zygote.slot(spec, ground.group(spec))
    finally:
        await zygote.close()


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run an async body to its end."""
    return asyncio.run(work())


def probe(tree: Path, way: Way, text: str, spec: SandboxSpec | None = None) -> dict[str, Any] | None:
    """One box, one probe, its answer."""

    async def body() -> dict[str, Any] | None:
        async with box_of(tree, way, spec) as box:
            return await ask(box, text)

    return asyncio.run(body())


def groups_of(pid: int) -> set[Path]:
    """Control groups that a process of this host made for boxes; those of others may come and go meanwhile."""
    return {
        Path(folder, name)
        for folder, names, _ in os.walk("/sys/fs/cgroup")
        for name in names
        if name.startswith("execution-harness-") and f".{pid}." in name
    }
