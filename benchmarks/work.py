"""The work that is measured: tools, a contract and snippets of their own."""

import time
from typing import Any

from harness.contract.load import load_policy
from harness.contract.tool import IdempotencyRule
from harness.core.call import Effect, Idempotency
from harness.registry.from_function import from_function
from harness.registry.registry import Registry
from harness.registry.settings import Settings

__all__ = ["CONTRACT", "POLICY", "Stamps", "registry", "snippet"]

POLICY = load_policy({"policy": "bench", "version": 1, "ceilings": {"calls": 1_000_000, "wall_seconds": 3_600}})


class Stamps:
    """Readings of the host's clock, one for each call that a tool saw."""

    def __init__(self) -> None:
        self.at: list[float] = []

    def read(self, number: int) -> int:
        """Read a number: gives it back."""
        self.at.append(time.perf_counter())
        return number

    def write(self, number: int) -> int:
        """Write a number: gives it back."""
        self.at.append(time.perf_counter())
        return number

    def gaps_us(self) -> list[float]:
        """µs between one call and the next: a whole round trip, with every check and record."""
        return [(later - earlier) * 1_000_000 for earlier, later in zip(self.at, self.at[1:], strict=False)]


def registry(stamps: Stamps) -> Registry:
    """One quick read, and one quick keyed write."""
    tools = Registry()
    tools.add(from_function(stamps.read, Settings(effect=Effect.READ, inline=True, name="read")))
    tools.add(
        from_function(
            stamps.write,
            Settings(effect=Effect.WRITE, idempotency=IdempotencyRule(Idempotency.DERIVED), inline=True, name="write"),
        )
    )
    return tools


CONTRACT: dict[str, Any] = {
    "contract": "bench",
    "version": 1,
    "output": {"schema": {"type": "integer"}},
    "budget": {"tokens": 0, "cost_usd": "0", "wall_seconds": 600, "retries": 0, "iterations": 1, "calls": 1_000_000},
    "permissions": {"tools": [{"tool": "read"}, {"tool": "write"}], "data_classes": []},
    "completion": {"success": "output >= 0"},
    "destination": [{"to": "file:results/${run.id}.json"}],
}


def snippet(calls: int, tool: str = "read") -> str:
    """So many calls, one after the other; the sum of what they gave."""
    return f"from tools import {tool}\ntotal = 0\nfor i in range({calls}):\n    total += {tool}(i)\nreturn total\n"
