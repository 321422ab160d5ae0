"""Limits through the whole product: each is held from outside, and the reason says which; the host stays as it was."""

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.api import Harness
from harness.contract.policy import BUILT_IN, Ceilings
from harness.core.ending import Ending
from harness.core.ports import Backend, Box
from harness.sandbox.docker import DockerBackend
from harness.sandbox.docker_box import DockerBox
from harness.sandbox.local_box import LocalBox
from harness.sandbox.pool import SlotPool
from tests.e2e.host import Host, contract, ended

BACKENDS = [
    pytest.param(SlotPool, id="bubblewrap", marks=pytest.mark.bubblewrap),
    pytest.param(DockerBackend, id="docker", marks=pytest.mark.docker),
]
TORN = """
import os, stat
for number in range(100):
    try:
        if stat.S_ISSOCK(os.fstat(number).st_mode):
            break
    except OSError:
        pass
os.write(number, b'\\x00\\x00\\x01\\x00{"t":"print",')
"""
FORGET = "block = bytearray(1 << 30)\nfor at in range(0, len(block), 4096): block[at] = 1\n"


class Seen:
    """A backend that remembers the boxes that it gave out."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.name = backend.name
        self.boxes: list[Box] = []

    async def start(self, spec: Any) -> Box:
        box = await self._backend.start(spec)
        self.boxes.append(box)
        return box

    async def close(self) -> None:
        await self._backend.close()


async def kill_by_hand(box: Box) -> None:
    """What a person does: `kill -9`, or `docker kill`."""
    if isinstance(box, DockerBox):
        await box._engine.post(f"/containers/{box.id}/kill", query={"signal": "KILL"})
    else:
        assert isinstance(box, LocalBox)
        os.kill(box.first_pid, signal.SIGKILL)


def run(folder: Path, make: Any, snippet: str, *, kill: bool = False, **changes: Any) -> Ending:
    """The ending of a run; `kill`: by hand, half a second after its box was there."""

    async def body() -> Ending:
        backend = Seen(make())
        try:
            async with Host.at(folder, backend).harness() as harness:
                running = asyncio.ensure_future(harness.run(contract(**changes), snippet))
                while kill and not running.done():
                    if backend.boxes:
                        await asyncio.sleep(0.5)
                        await kill_by_hand(backend.boxes[0])
                        break
                    await asyncio.sleep(0.01)
                result = await running
                assert len(backend.boxes) == 1
                return result.ending
        finally:
            await backend.close()

    return asyncio.run(body())


def told(ending: Ending) -> tuple[str, str, str]:
    """Outcome, reason, and the dimension where there is one."""
    return ending.outcome.value, ending.reason.value, str(dict(ending.data).get("dimension", ""))


@pytest.mark.parametrize("make", BACKENDS)
def test_four_ends_are_four_reasons(tmp_path: Path, make: Any) -> None:
    """B08: out of memory, out of time, killed by a person, crashed; none of them is tried again."""
    loop = "import select\nselect.select([], [], [], 3600)"
    found = [
        told(run(tmp_path, make, FORGET)),
        told(run(tmp_path, make, loop, budget={"wall_seconds": 1})),
        told(run(tmp_path, make, loop, kill=True, budget={"wall_seconds": 30})),
        told(run(tmp_path, make, "import ctypes\nctypes.string_at(0)")),
    ]
    assert found == [
        ("rejected", "budget_exhausted", "memory_mb"),
        ("rejected", "budget_exhausted", "wall_seconds"),
        ("rejected", "killed", ""),
        ("rejected", "box_lost", ""),
    ]


@pytest.mark.parametrize("make", BACKENDS)
@pytest.mark.parametrize(
    ("then", "expected"),
    [
        (FORGET, ("rejected", "budget_exhausted", "memory_mb")),
        ("import ctypes\nctypes.string_at(0)", ("rejected", "box_lost", "")),
        ("os._exit(0)", ("rejected", "policy_refused", "")),
    ],
    ids=["memory", "crash", "on-purpose"],
)
def test_a_torn_frame_is_told_by_what_tore_it(
    tmp_path: Path, make: Any, then: str, expected: tuple[str, str, str]
) -> None:
    """B08: a box that dies while it writes did not forge anything; one that stops writing and leaves did."""
    assert told(run(tmp_path, make, TORN + then)) == expected


@pytest.mark.parametrize("make", BACKENDS)
@pytest.mark.parametrize(
    ("snippet", "budget", "dimension"),
    [
        ("while True: pass", {"cpu_seconds": 1, "wall_seconds": 60}, "cpu_seconds"),
        ("while True: print('x' * 10_000)", {"output_bytes": 100_000}, "output_bytes"),
        ("return {'text': 'x' * 200_000}", {"result_bytes": 100_000}, "result_bytes"),
    ],
    ids=["cpu", "output", "result"],
)
def test_a_limit_names_itself(tmp_path: Path, make: Any, snippet: str, budget: dict[str, int], dimension: str) -> None:
    """B12, B19: exit 5, and the dimension stands in the data."""
    assert told(run(tmp_path, make, snippet, budget=budget)) == ("rejected", "budget_exhausted", dimension)


SLOW = """
import asyncio
from harness import tool


@tool(effect="read", timeout_s=400)
async def slow(text: str) -> str:
    \"\"\"Answer after a minute.\"\"\"
    await asyncio.sleep(60)
    return text
"""


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("snippet", "expected"),
    [
        ("from tools import slow\nslow('x')", ("rejected", "budget_exhausted", "wall_seconds")),
        ("from tools import slow\nslow('x', timeout=None)", ("rejected", "snippet_failed", "")),
        ("from tools import slow\nslow('x', timeout_s=9999)", ("rejected", "snippet_failed", "")),
    ],
    ids=["the-run-ends-first", "timeout-is-no-argument", "nor-is-timeout_s"],
)
def test_a_call_lasts_no_longer_than_its_run(tmp_path: Path, snippet: str, expected: tuple[str, str, str]) -> None:
    """B20, B19: a call's limit is the smaller one of its contract and what is left; a snippet cannot raise it."""
    host = Host.at(tmp_path, setting="bubblewrap")
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "harness.yaml").write_text("tools:\n  - python: slow.py\n")
    document = contract(budget={"wall_seconds": 1})
    document["permissions"]["tools"] = [{"tool": "slow"}]
    started = time.monotonic()
    result = host.harness().run_sync(document, snippet)
    assert told(result.ending) == expected
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("make", BACKENDS)
def test_a_dead_box_is_not_gone_on_with(tmp_path: Path, make: Any) -> None:
    """B27, B29: after a limit ended an iteration the session is over; the next snippet starts no box and says so."""

    async def body() -> tuple[int, str, tuple[str, str, int]]:
        backend = Seen(make())
        document = contract(budget={"iterations": 3})
        try:
            async with Host.at(tmp_path, backend).harness() as harness, harness.session(document) as session:
                await session.run("import builtins\nbuiltins.kept = 1\n" + FORGET)
                after = await session.run("return {'kept': hasattr(__import__('builtins'), 'kept')}")
                assert after.ending is not None
                return len(backend.boxes), after.ending.reason.value, ended(await session.finish())
        finally:
            await backend.close()

    assert asyncio.run(body()) == (1, "budget_exhausted", ("rejected", "budget_exhausted", 5))


@pytest.mark.bubblewrap
@pytest.mark.parametrize("stream", ["out", "err"])
def test_a_flood_leaves_the_host_as_it_was(tmp_path: Path, stream: str) -> None:
    """B12: 100 MB of prints pass through, of which the host keeps 16,000 characters and grows by less than 24 MB."""
    snippet = f"import sys\nfor _ in range(10_000): sys.std{stream}.write('x' * 10_000)\nreturn {{}}"
    host = Host.at(tmp_path)

    async def body() -> tuple[int, int]:
        backend = SlotPool()
        policy = BUILT_IN.model_copy(update={"ceilings": Ceilings(output_bytes=200_000_000)})
        me = psutil.Process()
        try:
            async with Harness(host.harness().registry, folder=tmp_path, policy=policy, backend=backend) as harness:
                await harness.run(contract(), "return {}")
                before = highest = me.memory_info().rss
                budget = {"output_bytes": 150_000_000, "wall_seconds": 60, "cpu_seconds": 60}
                running = asyncio.ensure_future(harness.run(contract(budget=budget), snippet))
                while not running.done():
                    await asyncio.sleep(0.01)
                    highest = max(highest, me.memory_info().rss)
                result = await running
                assert result.exit_code == 0
                return len(result.iterations[0].printed), highest - before
        finally:
            await backend.close()

    kept, grown = asyncio.run(body())
    assert kept < 17_000
    assert grown < 24 << 20
