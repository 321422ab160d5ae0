"""Whole runs: cold, warm, and as many a second as hold."""

import asyncio
import tempfile
import time
from contextlib import suppress
from typing import Any

from benchmarks.baselines import pinned
from benchmarks.figure import Figure
from benchmarks.work import CONTRACT, POLICY, Stamps, registry, snippet
from harness.api import Harness
from harness.core.ending import Outcome
from harness.core.errors import EnvironmentUnavailable
from harness.core.ports import Backend
from harness.sandbox.backends import Choice, choose
from harness.sandbox.pool import PoolSizes, SlotPool
from harness.sandbox.spec import SandboxSpec

__all__ = ["call_figures", "open_loop", "run_figures"]

ONE = snippet(1)
RATES = {"bubblewrap": 50.0, "docker": 2.0}
"""Runs a second at which `warm_run` is measured, open loop."""
FIRST_GOALS = {"bubblewrap": 11.0, "docker": 11.0}
COLD_GOALS = {"bubblewrap": 0.6, "docker": 11.0}
WARM_GOALS = {"bubblewrap": 0.2, "docker": 0.25}
SUSTAINED_GOALS = {"bubblewrap": 100.0, "docker": 6.0}


async def _one(harness: Harness) -> float:
    """ms from submission to the accepted, delivered result."""
    start = time.perf_counter()
    result = await harness.run(CONTRACT, ONE)
    took = (time.perf_counter() - start) * 1_000
    if result.outcome is not Outcome.ACCEPTED:
        raise RuntimeError(f"a benchmark run was not accepted: {result.ending}")
    return took


async def _cold(name: str, folder: str, rounds: int) -> tuple[list[float], list[float]]:
    """The very first run of a backend, and those after it, each in a box that is made for it there and then."""
    firsts, samples = [], []
    for _ in range(3):
        backend = await _without_stock(name)
        harness = Harness(registry(Stamps()), folder=folder, policy=POLICY, backend=backend)
        async with harness:
            firsts.append(await _one(harness))
            samples += [await _one(harness) for _ in range(rounds // 3)]
        await backend.close()
    return firsts, samples


async def _without_stock(name: str) -> Backend:
    """A backend that has no boxes waiting. Raises EnvironmentUnavailable where it does not work here."""
    backend: Any = await choose(Choice(name))
    if name != "bubblewrap":
        return backend.cold  # type: ignore[no-any-return]
    await backend.close()
    return SlotPool(sizes=PoolSizes(ready=0))


async def open_loop(harness: Harness, rate: float, seconds: float) -> list[float]:
    """ms of each run: one starts on the clock, whether the last one has ended or not."""
    loop, tasks = asyncio.get_running_loop(), []
    start = loop.time()
    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(start + number / rate - loop.time(), 0))
        tasks.append(asyncio.ensure_future(_one(harness)))
    return list(await asyncio.gather(*tasks))


async def _sustained(harness: Harness, workers: int, seconds: float) -> float:
    """Runs a second with so many at work at once."""
    done, end = 0, time.perf_counter() + seconds

    async def work() -> None:
        nonlocal done
        while time.perf_counter() < end:
            await _one(harness)
            done += 1

    await asyncio.gather(*(work() for _ in range(workers)))
    return done / seconds


async def run_figures(name: str, p: float) -> list[Figure]:
    """`cold_run`, `warm_run` and `sustained` of one backend; none where it does not work here."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            firsts, cold = await _cold(name, folder, 9 if name == "docker" else 30)
        except EnvironmentUnavailable:
            return []
        backend = await choose(Choice(name))
        harness = Harness(registry(Stamps()), folder=folder, policy=POLICY, backend=backend)
        async with harness:
            spec = SandboxSpec.from_limits(harness.bind(CONTRACT).limits)
            with suppress(AttributeError):
                await backend.warm(spec, 4)  # type: ignore[attr-defined]
            for _ in range(3):
                await _one(harness)
            await asyncio.sleep(1)
            warm = await open_loop(harness, RATES[name], 6)
            await asyncio.sleep(1)
            rate = await _sustained(harness, 4 if name == "docker" else 8, 6)
        await backend.close()
    return [
        Figure(f"first_run.{name}", firsts, "ms", "P", p, FIRST_GOALS[name], note="with the start of the backend"),
        Figure(f"cold_run.{name}", cold, "ms", "P", p, COLD_GOALS[name], note="a box made for it"),
        Figure(
            f"warm_run.{name}", warm, "ms", "P", p, WARM_GOALS[name], note=f"open loop at {RATES[name]:.0f} a second"
        ),
        Figure(f"sustained.{name}", [rate], "runs/s", "", 1.0, SUSTAINED_GOALS[name], at_least=True),
    ]


async def _calls(calls: int, tool: str) -> list[float]:
    stamps = Stamps()
    with tempfile.TemporaryDirectory() as folder:
        backend = await choose(Choice.BUBBLEWRAP)
        harness = Harness(registry(stamps), folder=folder, policy=POLICY, backend=backend)
        async with harness:
            await harness.run(CONTRACT, snippet(calls, tool))
        await backend.close()
    return stamps.gaps_us()[100:]


async def call_figures(u1: float, u2: float) -> list[Figure]:
    """`call_roundtrip`, pinned and not."""
    with pinned():
        held = await _calls(5_000, "read")
    free = await _calls(5_000, "read")
    return [
        Figure("call_roundtrip.pinned", held, "us", "U1", u1, 3.0),
        Figure("call_roundtrip.unpinned", free, "us", "U2", u2, 2.0),
    ]
