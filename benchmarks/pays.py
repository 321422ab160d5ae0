"""Does code under a contract pay? Bytes, tokens and turns that reach a model: single calls against snippets.

No model is asked: both ways are the known right ones, so what is compared is what must pass through the model at the
least. Correctness comes first: a snippet whose result differs from the single calls' is counted as wrong.
"""

import asyncio
import importlib.util
import json
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.api import Harness
from harness.contract.load import load_policy
from harness.registry.catalog import compact, surface
from harness.registry.registry import Registry
from harness.sandbox.backends import Choice, choose

__all__ = ["Way", "main", "single", "snippets"]

BYTES_A_TOKEN = 4
"""A rule of thumb for English and JSON; every ratio here is one of bytes, and does not depend on it."""
EXPENSES = Path(__file__).parent.parent / "examples" / "expenses"
SCENARIOS = 25


@dataclass(frozen=True, slots=True)
class Way:
    """What one way of working costs a model."""

    turns: int
    """Answers of the model."""
    surface: int
    """Bytes that describe the tools: JSON schemas for single calls, the compact list for snippets."""
    read: int
    """Bytes that enter its context, each once: surface, results, observations."""
    written: int
    """Bytes that it writes: calls or snippets."""
    carried: int
    """Bytes of context summed over all turns: what is paid for where nothing is cached."""

    @property
    def work(self) -> int:
        """Bytes of calls, snippets and results alone."""
        return self.read + self.written - self.surface

    def line(self, name: str) -> str:
        """One row of the table."""
        tokens = (self.read + self.written) // BYTES_A_TOKEN
        return f"  {name:14} {self.turns:6} {self.read:10} {self.written:9} {self.carried:12} {tokens:9}"


def _way(surface_bytes: int, turns: Sequence[tuple[int, int]]) -> Way:
    """`turns`: bytes written and bytes read back, in order."""
    context = surface_bytes
    carried = 0
    for written, read in turns:
        carried += context
        context += written + read
    return Way(
        len(turns), surface_bytes, surface_bytes + sum(read for _, read in turns), sum(out for out, _ in turns), carried
    )


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8"))


def single(schemas: Any, batches: Sequence[Sequence[tuple[Any, Any]]], answer: Any) -> Way:
    """One call after the other, those of a batch in one turn; the answer is a turn of its own."""
    turns = [(sum(_size(call) for call, _ in batch), sum(_size(result) for _, result in batch)) for batch in batches]
    return _way(_size(schemas), [*turns, (_size(answer), 0)])


def snippets(stubs: str, texts: Sequence[tuple[str, Any]], answer: Any) -> Way:
    """One snippet a turn, whose result comes back; then the answer."""
    turns = [(len(text.encode("utf-8")), _size(result)) for text, result in texts]
    return _way(len(stubs.encode("utf-8")), [*turns, (_size(answer) if answer is not None else 0, 0)])


def _print(title: str, one: Way, many: Way, right: bool) -> None:
    print(title + ("" if right else "  WRONG: the results differ"))
    print(f"  {'':14} {'turns':>6} {'read B':>10} {'written B':>9} {'carried B':>12} {'~tokens':>9}")
    print(one.line("single calls"))
    print(many.line("snippets"))
    print(f"  bytes: {(one.read + one.written) / (many.read + many.written):.1f} to 1")


async def _expenses() -> None:
    """The 20 employees: team, limits, then each report; the same result both ways."""
    host = Harness.from_file(EXPENSES / "harness.yaml")
    with tempfile.TemporaryDirectory() as folder:
        tools: dict[str, Any] = {name: tool.function for name, tool in host.registry.tools().items()}
        backend = await choose(Choice.AUTO)
        async with Harness(host.registry, folder=folder, policy=host.policy, backend=backend) as harness:
            contract, text = EXPENSES / "contract.yaml", (EXPENSES / "snippet.py").read_text()
            terms = harness.terms(contract)
            result = (await harness.run(contract, text)).result
        await backend.close()
    await host.close()
    team = tools["get_team"]()
    levels = sorted({employee["level"] for employee in team})
    limits = {level: tools["get_limit"](level=level) for level in levels}
    reports = {each["id"]: tools["get_expenses"](employee=each["id"], quarter="2026Q3") for each in team}
    batches: list[list[tuple[Any, Any]]] = [
        [({"get_team": {}}, team)],
        [({"get_limit": {"level": level}}, limits[level]) for level in levels],
        [({"get_expenses": {"employee": name}}, report) for name, report in reports.items()],
    ]
    over = []
    for employee in team:
        spent = sum(line["amount"] for line in reports[employee["id"]] if line["status"] == "approved")
        if spent > limits[employee["level"]]:
            over.append({"name": employee["name"], "spent": round(spent, 2), "limit": limits[employee["level"]]})
    one = single(surface(terms.grants), batches, over)
    many = snippets(compact(terms.grants), [(text, result)], None)
    _print("expenses: 20 employees, some 4,000 lines", one, many, over == result)


async def _bfcl() -> None:
    """Multi-turn scenarios: what a person asked stays outside; the right calls of each turn, one by one or as one."""
    from tests.e2e.bfcl.backends import instances, registry
    from tests.e2e.bfcl.test_bfcl import POLICY, contract, expected, play, scenarios

    ratios, calls, right = [], [], 0
    backend = await choose(Choice.AUTO)
    chosen = scenarios()[:: max(1, len(scenarios()) // SCENARIOS)][:SCENARIOS]
    for scenario, turns in chosen:
        tools: Registry = registry(instances(scenario))
        with tempfile.TemporaryDirectory() as folder:
            async with Harness(tools, folder=folder, policy=load_policy(POLICY), backend=backend) as harness:
                grants = harness.terms(contract(list(tools.contracts()), len(turns))).grants
                values, _ = await play(harness, turns)
        wanted, _ = expected(scenario, turns)
        right += values == wanted
        batches = [
            [(line, value)]
            for turn, got in zip(turns, wanted, strict=True)
            for line, value in zip(turn, got, strict=True)
        ]
        texts = [
            ("from tools import *\nreturn [" + ", ".join(turn) + "]", got)
            for turn, got in zip(turns, values, strict=True)
        ]
        one, many = single(surface(grants), batches, None), snippets(compact(grants), texts, None)
        ratios.append((one.carried / many.carried, one.surface / many.surface, one.work / many.work))
        calls.append(len(batches) / len(turns))
    await backend.close()
    print(f"bfcl multi-turn: {len(chosen)} scenarios, {right} of them right, {statistics.mean(calls):.1f} calls a turn")
    names = ("context summed over turns", "description of the tools", "calls, code and results")
    for index, name in enumerate(names):
        found = sorted(ratio[index] for ratio in ratios)
        print(f"  {name:26} median {statistics.median(found):.2f} to 1, from {found[0]:.2f} to {found[-1]:.2f}")


def main() -> None:
    """Both measurements; the second where bfcl-eval is installed."""
    asyncio.run(_expenses())
    if importlib.util.find_spec("bfcl_eval") is not None:
        asyncio.run(_bfcl())
    print("a ratio below 1 is where code does not pay: short turns whose results the model must read whole")


if __name__ == "__main__":
    main()
