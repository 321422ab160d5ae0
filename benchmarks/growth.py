"""`python -m benchmarks.growth [CURVE…]`: time and memory against what grows, and where a curve bends.

Writes `benchmarks/results/growth.json`. All of it takes some minutes, most of them in the journal.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.curve import Curve, rss_mb
from benchmarks.figure import percentile
from benchmarks.growth_journal import journal_curves
from benchmarks.runs import open_loop
from benchmarks.work import CONTRACT, POLICY, Stamps, registry, snippet
from harness.api import Harness
from harness.contract.policy import Policy
from harness.registry.from_function import from_function
from harness.registry.registry import Registry
from harness.registry.settings import Settings
from harness.report import RunResult
from harness.sandbox.pool import SlotPool

RESULTS = Path(__file__).parent / "results" / "growth.json"
CALLS = (10, 100, 1_000, 10_000, 100_000)
BYTES = (100, 1_000, 10_000, 100_000, 1_000_000, 7_000_000, 10_000_000)
PIECE = 1_000_000
"""A large value is a list of texts of so many characters: a single text has a limit of its own, 4 MiB."""
TOGETHER = (1, 2, 5, 10, 20, 50, 100, 200)
TOOLS = (1, 10, 100, 1_000)
RATES = (10, 25, 50, 100, 200)
LOAD_SECONDS = 4


async def calls() -> list[Curve]:
    """One run, more and more calls."""
    curve = Curve("calls", "calls", "call", "the run's own share included")
    async with _Host(registry(Stamps())) as host:
        await host.run(CONTRACT, snippet(1))
        for number in CALLS:
            before = rss_mb()
            taken = await _fastest(host, CONTRACT, snippet(number), 3 if number < 10_000 else 1)
            curve.add(number, taken / number * 1e6, rss_mb() - before)
    return [curve]


async def values() -> list[Curve]:
    """One call, a larger and larger result: into the box, and further to the destination."""
    tools = Registry()
    tools.add(from_function(text, Settings(effect="read", inline=True)))
    contract = _contract(["text"], schema={"type": "array"}, success="true")
    inward = Curve("value to a box", "bytes", "kB", "the run's own share included")
    outward = Curve("result", "bytes", "kB", "to a box and back, judged, journalled, delivered")
    async with _Host(tools) as host:
        for curve, ending in ((inward, "return [len(found)]"), (outward, "return found")):
            for size in BYTES:
                before = rss_mb()
                try:
                    source = f"from tools import text\nfound = text({size})\n{ending}\n"
                    curve.add(size, await _fastest(host, contract, source, 3) * 1e9 / size, rss_mb() - before)
                except _Refused as refused:
                    curve.refuse(size, str(refused))
    return [inward, outward]


async def together() -> list[Curve]:
    """More and more runs at the same time, each with a call that ends once all of them have begun theirs."""
    curve = Curve("runs in flight", "runs", "run")
    for number in TOGETHER:
        tools = Registry()
        tools.add(from_function(_Meeting(number).meet, Settings(effect="read", timeout_s=120)))
        async with _Host(tools) as host:
            before, began = rss_mb(), time.perf_counter()
            source = "from tools import meet\nreturn meet()\n"
            done = await asyncio.gather(*(host.run(_contract(["meet"]), source) for _ in range(number)))
            taken = time.perf_counter() - began
            lost = [result for result in done if result.reason.value != "contract_passed"]
            if lost:
                curve.refuse(number, f"{len(lost)} runs: {_why(lost[0])}")
            else:
                curve.add(number, taken / number * 1e6, rss_mb() - before)
    return [curve]


async def load() -> list[Curve]:
    """Runs that begin on the clock, whether the last one has ended or not, at more and more a second."""
    middle = Curve(
        "open loop, p50", "a second", "run", f"for {LOAD_SECONDS} s each; what the machine cannot do piles up"
    )
    late = Curve("open loop, p95", "a second", "run")
    async with _Host(registry(Stamps())) as host:
        for _ in range(5):
            await host.run(CONTRACT, snippet(1))
        for rate in RATES:
            before = rss_mb()
            samples = await open_loop(host, rate, LOAD_SECONDS)
            middle.add(rate, percentile(samples, 0.5) * 1e3, rss_mb() - before)
            late.add(rate, percentile(samples, 0.95) * 1e3, 0.0)
            await asyncio.sleep(0.5)
    return [middle, late]


async def tools() -> list[Curve]:
    """More and more tools in one contract."""
    first = Curve("tools, first run", "tools", "tool", "registered, bound, stubs made, one run")
    again = Curve("tools, a run", "tools", "run", "one run of one call, everything bound")
    for number in TOOLS:
        before, began = rss_mb(), time.perf_counter()
        many = Registry()
        for index in range(number):
            many.add(from_function(_numbered(index), Settings(effect="read", inline=True, name=f"read_{index}")))
        contract = _contract([f"read_{index}" for index in range(number)])
        source = "from tools import read_0\nreturn read_0(1)\n"
        async with _Host(many) as host:
            await host.run(contract, source)
            first.add(number, (time.perf_counter() - began) / number * 1e6, rss_mb() - before)
            before = rss_mb()
            again.add(number, await _fastest(host, contract, source, 10) * 1e6, rss_mb() - before)
    return [first, again]


class _Meeting:
    """Of so many calls."""

    def __init__(self, number: int) -> None:
        self._barrier = asyncio.Barrier(number)

    async def meet(self) -> int:
        """Wait for the others: gives 1."""
        async with self._barrier:
            return 1


def text(size: int) -> list[str]:
    """A list of texts, so many characters in all."""
    return ["x" * min(PIECE, size - start) for start in range(0, size, PIECE)]


def _numbered(index: int) -> Callable[[int], int]:
    def read(number: int) -> int:
        """Read a number: gives it back, after a description of the usual length of one sentence or two."""
        return number + index * 0

    return read


def _contract(names: list[str], schema: Mapping[str, Any] | None = None, success: str = "output >= 0") -> Any:
    permissions = {**CONTRACT["permissions"], "tools": [{"tool": name} for name in names]}
    output = {"schema": schema or {"type": "integer"}}
    return {**CONTRACT, "permissions": permissions, "output": output, "completion": {"success": success}}


class _Host:
    """A harness over a pool of its own, in a folder of its own."""

    def __init__(self, tools: Registry, policy: Policy = POLICY) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._pool = SlotPool()
        self._harness = Harness(tools, folder=self._folder.name, policy=policy, backend=self._pool)

    async def __aenter__(self) -> Harness:
        return self._harness

    async def __aexit__(self, *error: object) -> None:
        await self._harness.close()
        await self._pool.close()
        self._folder.cleanup()


class _Refused(Exception):
    """A limit ended a run."""


async def _fastest(host: Harness, contract: Any, source: str, rounds: int) -> float:
    """Seconds of the fastest of some equal runs. Raises _Refused where one was not accepted."""
    samples = []
    for _ in range(rounds):
        began = time.perf_counter()
        result = await host.run(contract, source)
        samples.append(time.perf_counter() - began)
        if result.reason.value != "contract_passed":
            raise _Refused(_why(result))
    return min(samples)


def _why(result: RunResult) -> str:
    return f"{result.reason.value}: {result.ending.detail}"[:160]


CURVES: Mapping[str, Callable[[], Awaitable[list[Curve]]]] = {
    "calls": calls,
    "values": values,
    "together": together,
    "load": load,
    "tools": tools,
    "journal": journal_curves,
}


def main() -> None:
    """Measure the curves that are named, or all; print, write."""
    names = sys.argv[1:] or list(CURVES)
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    for name in names:
        known[name] = [curve.to_json() for curve in asyncio.run(CURVES[name]())]
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(known, indent=2) + "\n", "utf-8")
    print(f"written to {RESULTS}")


if __name__ == "__main__":
    main()
