"""All 200 scenarios `multi_turn_base` of bfcl-eval: one session each, one snippet a turn, in a real box.

The end state of the back ends and every return value equal those of the same lines in the test's own process.
"""

import asyncio
import importlib.resources
import json
from typing import Any

import pytest

from harness.api import Harness
from harness.contract.load import load_policy
from harness.core.ending import Outcome
from harness.sandbox.backends import Choice, choose
from tests.e2e.bfcl.backends import instances, methods, registry, state

DATA = importlib.resources.files("bfcl_eval").joinpath("data")
NAME = "BFCL_v4_multi_turn_base.json"
GROUPS = 10


def _lines(path: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def scenarios() -> list[tuple[dict[str, Any], list[list[str]]]]:
    """Every scenario with its right calls, turn by turn; empty turns left out."""
    answers = {row["id"]: row["ground_truth"] for row in _lines(DATA.joinpath("possible_answer").joinpath(NAME))}
    return [(row, [turn for turn in answers[row["id"]] if turn]) for row in _lines(DATA.joinpath(NAME))]


def expected(scenario: dict[str, Any], turns: list[list[str]]) -> tuple[list[list[Any]], dict[str, Any]]:
    """Return values and end state of the same lines in this process."""
    backends = instances(scenario)
    names: dict[str, Any] = dict(methods(backends))
    # taken as JSON at once: what a later call changes in a returned object was not what this call returned
    values = [[_plain(eval(line, dict(names))) for line in turn] for turn in turns]
    return values, state(backends)


def contract(tools: list[str], turns: int) -> dict[str, Any]:
    """A contract that lists the scenario's tools."""
    return {
        "contract": "scenario",
        "version": 1,
        "output": {"schema": {"type": "array"}},
        "budget": {
            "tokens": 0,
            "cost_usd": "0",
            "wall_seconds": 60,
            "retries": 0,
            "iterations": max(turns, 1),
            "calls": 500,
        },
        "permissions": {"tools": [{"tool": tool} for tool in tools], "data_classes": []},
        "completion": {"success": "size(output) >= 0"},
        "destination": [{"to": "file:results/${run.id}.json"}],
    }


POLICY = {"policy": "scenarios", "version": 1, "approval": {"read": "none", "write": "none", "destructive": "none"}}
"""The scenarios' destructive calls are part of the game: nobody is asked."""


async def play(harness: Harness, turns: list[list[str]]) -> tuple[list[Any], Any]:
    """One session over the turns: the values of each, and the result."""
    terms = contract(list(harness.registry.contracts()), len(turns))
    values = []
    async with harness.session(terms) as session:
        for turn in turns:
            body = ",\n    ".join(turn)
            seen = await session.run(f"from tools import *\nreturn [\n    {body},\n]\n")
            assert seen.iteration is not None
            assert seen.iteration.status == "returned", seen.iteration.failure
            values.append(seen.output)
        return values, await session.finish()


def _plain(values: Any) -> Any:
    """Values as JSON has them: tuples are lists, whole and broken numbers compare by value."""
    return json.loads(json.dumps(values, default=float))


@pytest.mark.parametrize(
    "backend",
    [pytest.param("bubblewrap", marks=pytest.mark.bubblewrap), pytest.param("docker", marks=pytest.mark.docker)],
)
@pytest.mark.parametrize("group", range(GROUPS))
def test_scenarios_end_as_they_do_outside(backend: str, group: int, tmp_path: Any) -> None:
    """A tenth of the 200 scenarios: same values, same end state, accepted."""

    async def whole() -> None:
        made = await choose(Choice(backend))
        policy = load_policy(POLICY)
        for number, (scenario, turns) in enumerate(scenarios()):
            if number % GROUPS != group or not turns:
                continue
            backends = instances(scenario)
            harness = Harness(registry(backends), folder=tmp_path / scenario["id"], policy=policy, backend=made)
            values, result = await play(harness, turns)
            wanted, wanted_state = expected(scenario, turns)
            assert values == wanted, scenario["id"]
            assert state(backends) == wanted_state, scenario["id"]
            assert result.outcome is Outcome.ACCEPTED, (scenario["id"], result.ending)
            await harness.close()
        await made.close()

    asyncio.run(whole())


def test_there_are_200_scenarios() -> None:
    """None is left out for want of data."""
    assert len(scenarios()) == 200
