"""A host for whole-product tests: a folder with its tools, its contract and its host file, and the real corridor."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.api import Harness
from harness.core.ports import Backend
from harness.report import RunResult

TOOLS = '''
"""Tools that behave, and tools that do not."""
import time
from typing import Any

from harness import tool


@tool(effect="read")
def echo(text: str) -> str:
    """Give a text back."""
    return text


@tool(effect="read")
def raises() -> int:
    """Raise what is not declared."""
    raise RuntimeError("the password is hunter2")


@tool(effect="read", timeout_s=0.3)
def hangs() -> int:
    """Sleep longer than its time limit."""
    time.sleep(1.5)
    return 1


@tool(effect="write", idempotency="none", timeout_s=0.3)
def hangs_writing() -> int:
    """Sleep longer than its time limit while it may be changing something."""
    time.sleep(1.5)
    return 1


@tool(effect="read")
def wrong_type() -> int:
    """Return a text where a number is promised."""
    return "seven"


@tool(effect="read")
def huge() -> str:
    """Return 100 MB."""
    return "x" * 100_000_000


@tool(effect="read")
def nested() -> Any:
    """Return 100,000 nested lists."""
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value
'''
HOST_FILE = "tools:\n  - python: tools.py\n"
NAMES = ("echo", "raises", "hangs", "hangs_writing", "wrong_type", "huge", "nested")


@dataclass(frozen=True, slots=True)
class Host:
    """One folder, one backend."""

    folder: Path
    backend: Backend | None = None
    setting: str = ""

    @classmethod
    def at(cls, folder: Path, backend: Backend | None = None, setting: str = "") -> "Host":
        """Lay the files down."""
        (folder / "tools.py").write_text(TOOLS, "utf-8")
        (folder / "harness.yaml").write_text(HOST_FILE, "utf-8")
        return cls(folder, backend, setting)

    def harness(self) -> Harness:
        """A harness on this host."""
        harness = Harness.from_file(self.folder / "harness.yaml", backend=self.setting)
        if self.backend is not None:
            return Harness(harness.registry, folder=self.folder, host=harness.host, backend=self.backend)
        return harness

    def run(self, snippet: str, **changes: Any) -> RunResult:
        """One run to its end."""
        return self.harness().run_sync(contract(**changes), snippet)

    def runs(self, *snippets: str, **changes: Any) -> list[RunResult]:
        """Several runs of one process, one after the other."""

        async def all_of() -> list[RunResult]:
            async with self.harness() as harness:
                return [await harness.run(contract(**changes), snippet) for snippet in snippets]

        return asyncio.run(all_of())


def contract(
    *, budget: Mapping[str, Any] | None = None, language: str = "plain", to: str = "file:results/${run.id}.json"
) -> dict[str, Any]:
    """A contract over every tool of the host, which takes any object as its output."""
    return {
        "contract": "bad-input",
        "version": 1,
        "output": {"schema": {"type": "object"}},
        "budget": {
            "tokens": 0, "cost_usd": "0", "wall_seconds": 10, "retries": 0, "iterations": 1, "cpu_seconds": 5,
            "memory_mb": 128, "pids": 32, "disk_mb": 16, **(budget or {}),
        },
        "permissions": {"tools": [{"tool": name} for name in NAMES]},
        "completion": {"success": "true"},
        "destination": [{"to": to}],
        "sandbox": {"language": language},
    }  # fmt: skip


def ended(result: RunResult) -> tuple[str, str, int]:
    """Outcome, reason and exit code: what a caller branches on."""
    return result.outcome.value, result.reason.value, result.exit_code
