"""What the tests of runs are made of: a harness over tools of a test, and a box that plays snippets as scripts."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.api import Harness
from harness.contract.policy import BUILT_IN, Policy
from harness.registry.from_function import from_function
from harness.registry.registry import Registry
from harness.testing import BoxSide, ScriptBackend

Script = Callable[[BoxSide], None]

BUDGET: dict[str, Any] = {"tokens": 0, "cost_usd": "0", "wall_seconds": 20, "retries": 0, "iterations": 5, "calls": 50}
"""Enough for every test that is not about a limit."""


def document(**changes: Any) -> dict[str, Any]:
    """A contract that accepts any number from 10 on; `changes` replace whole sections, `budget` is merged."""
    budget = {**BUDGET, **changes.pop("budget", {})}
    tools = changes.pop("tools", [])
    return {
        "contract": "number",
        "version": 1,
        "output": {"schema": {"type": "integer"}},
        "budget": budget,
        "permissions": {"tools": [each if isinstance(each, dict) else {"tool": each} for each in tools]},
        "completion": {"success": "output >= 10", **changes.pop("completion", {})},
        "destination": [{"to": "file:results/${run.id}.json"}],
        **changes,
    }


def harness(
    folder: Path, tools: Sequence[Callable[..., Any]] = (), script: Script | None = None, policy: Policy = BUILT_IN
) -> Harness:
    """A harness over functions; `script` plays every snippet."""
    registry = Registry()
    for each in tools:
        registry.add(from_function(each))
    return Harness(registry, folder=folder, policy=policy, backend=ScriptBackend(playing(script or returning(10))))


def playing(script: Script) -> Script:
    """A script that begins as every honest box does."""

    def play(box: BoxSide) -> None:
        box.hello()
        box.open()
        script(box)
        box.receive()

    return play


def returning(value: Any) -> Script:
    """A snippet that returns a value."""
    return lambda box: box.result(value)


def counting(values: Sequence[Any]) -> Script:
    """Snippets that return one value after the other; the last again and again."""
    left = list(values)

    def play(box: BoxSide) -> None:
        box.result(left.pop(0) if len(left) > 1 else left[0])

    return play


def ended(result: Any) -> tuple[str, str]:
    """The two terminal facts."""
    return result.outcome.value, result.reason.value


def statuses(result: Any) -> Mapping[str, str]:
    """The status of every check, by id."""
    return {check["id"]: check["status"] for check in result.checks}
