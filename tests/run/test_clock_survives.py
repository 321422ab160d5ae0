"""The execution clock outlives its host: what a killed host had spent of it is spent."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from harness.api import Harness
from harness.registry.decorator import tool
from harness.testing import BoxSide
from tests.run.making import document, ended
from tests.run.waiting import waiting_harness

NAP_SECONDS = 0.6


@tool(effect="read", timeout_s=5)
def nap() -> int:
    """Take some time."""
    time.sleep(NAP_SECONDS)
    return 1


def host(folder: Path) -> Harness:
    """A host whose tool kills it the first time."""

    @tool(effect="write", idempotency="natural", preview="die", timeout_s=5)
    def die() -> int:
        """Kill the host in the midst of an effect, once."""
        try:
            (folder / "died").touch(exist_ok=False)
        except FileExistsError:
            return 1
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    return waiting_harness(folder, [nap, die], script)


def script(box: BoxSide) -> None:
    """A read that takes its time, then an effect; in the second attempt another such read."""
    if box.call("nap") and box.call("die") and box.call("nap"):
        box.result(10)


async def first(folder: Path, wall_seconds: float) -> None:
    """The attempt that dies."""
    async with host(folder) as harness:
        await harness.run(document(tools=["nap", "die"], budget={"wall_seconds": wall_seconds}), "return 10")


@pytest.mark.parametrize(
    ("wall_seconds", "ending"),
    [(20, ("accepted", "contract_passed")), (1.6 * NAP_SECONDS, ("rejected", "budget_exhausted"))],
    ids=["enough", "too-little"],
)
def test_what_a_killed_host_spent_is_spent(tmp_path: Path, wall_seconds: float, ending: tuple[str, str]) -> None:
    """Up to its last durable line: the read is answered from the journal, and its time is not given back."""
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(first(tmp_path, wall_seconds))
        finally:
            sys.stderr.flush()
            os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL

    async def second() -> None:
        async with host(tmp_path) as harness:
            (row,) = harness.store().runs()
            assert harness.store().used(row.id)["wall_seconds"] >= NAP_SECONDS
            result = await harness.resume(row.id)
            assert ended(result) == ending
            assert result.budget["wall_seconds"].used >= min(2 * NAP_SECONDS, wall_seconds)

    asyncio.run(second())
