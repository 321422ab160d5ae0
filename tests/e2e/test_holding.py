"""Hold, then let go, through the whole product: a held run uses no processor, a paused one holds nothing at all."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from harness.api import Harness
from harness.contract.principal import Principal
from harness.core.bundle import BundleState
from harness.core.ports import Box
from harness.registry.decorator import tool
from harness.registry.from_function import from_function
from harness.registry.registry import Registry
from harness.sandbox.docker_box import DockerBox
from tests.approvals.making import policy
from tests.e2e.test_limits import BACKENDS, Seen
from tests.run.making import document, ended
from tests.run.waiting import signed

BUSY = """
import threading
from tools import publish

stop = []

def burn():
    while not stop:
        pass

thread = threading.Thread(target=burn)
thread.start()
said = publish(1)
stop.append(True)
thread.join()
return 10
"""
BURNT_SECONDS = 0.5
"""Of this process's own: a thread that runs beside it gets its share in that time, however busy the machine is."""


@tool(effect="write", approval="always", preview="publish {number}", timeout_s=5)
def publish(number: int) -> int:
    """Publish a number, once a person agreed."""
    return number


def held(make: Any, folder: Path, work: Callable[[Harness, Seen], Awaitable[None]]) -> None:
    """Do something with a host whose calls need a person."""

    async def body() -> None:
        backend = Seen(make())
        registry = Registry()
        registry.add(from_function(publish))
        who = Principal("alice", {}, "python")
        rules = policy("bob")
        try:
            async with Harness(registry, folder=folder, policy=rules, principal=who, backend=backend) as harness:
                await work(harness, backend)
        finally:
            await backend.close()

    asyncio.run(body())


def contract(hold_seconds: int) -> dict[str, Any]:
    """A contract whose box is held so long; its busy thread may burn what it likes."""
    return document(
        tools=["publish"],
        budget={"cpu_seconds": 60, "wall_seconds": 60},
        approval={"hold_seconds": hold_seconds},
        sandbox={"language": "plain"},
    )


def cpu(box: Box) -> float:
    """Processor seconds that the box has used."""
    used = box.usage().cpu_seconds
    assert used is not None
    return used


def burn(seconds: float) -> None:
    """Use the processor oneself."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.mark.parametrize("make", BACKENDS)
def test_a_held_run_uses_no_processor(tmp_path: Path, make: Any) -> None:
    """A thread that never rests stands still while people think, and goes on in the same box afterwards."""

    async def work(harness: Harness, backend: Seen) -> None:
        running = asyncio.ensure_future(harness.run(contract(3600), BUSY))
        while not (harness.approvals and backend.boxes):
            await asyncio.sleep(0.02)
        (box,) = backend.boxes
        for _ in range(20):  # freezing takes the kernel a moment
            before = cpu(box)
            burn(BURNT_SECONDS)
            await asyncio.sleep(0.02)
            if cpu(box) == before:
                break
        else:
            pytest.fail("the box goes on")
        burn(2 * BURNT_SECONDS)
        assert cpu(box) == before > 0
        harness.decide(signed(harness.approvals[0]))
        result = await running
        assert ended(result) == ("accepted", "contract_passed")
        assert (len(backend.boxes), harness.recorded(result.run).attempt) == (1, 1)
        assert cpu(box) > before

    held(make, tmp_path, work)


@pytest.mark.parametrize("make", BACKENDS)
def test_a_paused_run_holds_nothing(tmp_path: Path, make: Any) -> None:
    """The hold is over: no process, no container, so no memory; the bundle still waits, and a new box goes on."""

    async def work(harness: Harness, backend: Seen) -> None:
        paused = await harness.run(contract(1), BUSY)
        assert ended(paused) == ("unresolved", "paused")
        (box,) = backend.boxes
        assert await is_gone(box)
        (bundle,) = harness.approvals
        assert bundle.state is BundleState.OPEN
        harness.decide(signed(bundle))
        result = await harness.resume(paused.run)
        assert (ended(result), len(backend.boxes)) == (("accepted", "contract_passed"), 2)

    held(make, tmp_path, work)


async def is_gone(box: Box) -> bool:
    """Whether the kernel, or the engine, has nothing of the box any more."""
    if not isinstance(box, DockerBox):
        return not Path(f"/proc/{box.first_pid}").exists()  # type: ignore[attr-defined]
    await asyncio.to_thread(box._undertaker.wait, 10)
    names = [name for each in await box._engine.get("/containers/json", {"all": "1"}) for name in each["Names"]]
    return f"/{box.id}" not in names
