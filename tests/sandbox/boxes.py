"""Boxes for probes: a tree whose runner executes what a test sends, and the few words that tests share."""

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from harness.core.ports import Box
from harness.sandbox.bubblewrap import BubblewrapBackend
from harness.sandbox.cgroup import find
from harness.sandbox.spec import SandboxSpec
from harness.sandbox.tree import BOXLIB, cache_root, host_tree

T = TypeVar("T")
PROBE = Path(__file__).with_name("probe_boot.py")
GROUPS = pytest.mark.skipif(find() is None, reason="this process may not make control groups")
HELD = [pytest.param(True, id="group", marks=GROUPS), pytest.param(False, id="single")]
"""Who holds the limits: the box's control group, or, where there is none, the box as a single process."""


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
async def box_of(tree: Path, groups: bool, spec: SandboxSpec | None = None) -> AsyncIterator[Box]:
    """A verified box that has said hello."""
    backend = BubblewrapBackend(tree=tree, groups=groups)
    box = await backend.start(spec or SandboxSpec())
    try:
        await box.verify()
        assert box.channel.recv(1) == b"h"
        yield box
    finally:
        await box.close()
        await backend.close()


def run(work: Callable[[], Awaitable[T]]) -> T:
    """Run an async body to its end."""

    async def body() -> T:
        return await work()

    return asyncio.run(body())


def probe(tree: Path, groups: bool, text: str, spec: SandboxSpec | None = None) -> dict[str, Any] | None:
    """One box, one probe, its answer."""

    async def body() -> dict[str, Any] | None:
        async with box_of(tree, groups, spec) as box:
            return await ask(box, text)

    return asyncio.run(body())
