"""Lint names what loads and promises less than it seems to; a good contract gets no finding."""

import pytest

from harness.contract.lint import lint
from harness.contract.load import load_contract
from harness.contract.tool import ToolContract
from harness.core.call import Effect

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = {
    "look": ToolContract(name="look", input_schema={"type": "object", "properties": {}}, effect=Effect.READ),
    "edit": ToolContract(name="edit", input_schema=SCHEMA, effect=Effect.WRITE),
}


def found(**sections):
    """Codes of the findings in a contract that is good but for `sections`."""
    document = {
        "contract": "c",
        "version": 1,
        "output": {"schema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
        "budget": {"tokens": 0, "cost_usd": "0", "wall_seconds": 5, "retries": 0, "iterations": 4},
        "permissions": {"tools": [{"tool": "edit", "scope": {"path": {"under": "src"}}}]},
        "completion": {"success": "checks.passed"},
        "destination": [{"to": "file:results/x.json"}],
        "checks": {"postconditions": [{"id": "right", "tool": "look", "expect": "result == 1"}]},
        **sections,
    }
    return [fault.code for fault in lint(load_contract(document, tools=TOOLS), TOOLS)]


def test_a_good_contract_has_no_finding():
    """Nothing is said where nothing is wrong."""
    assert found(non_goals=[{"text": "touch other files", "held_by": "permissions"}]) == []


def test_success_without_a_check():
    """Nobody looks at what the run has done."""
    assert found(checks={}) == ["success_without_check"]


def test_the_models_own_word():
    """A success, and a check, that only read what the model says."""
    assert found(completion={"success": "output.n > 1"}) == ["own_word"]
    assert found(checks={"postconditions": [{"id": "right", "expect": "output.n > 1"}]}) == ["own_word"]
    assert found(completion={"success": "output.n > 1 && checks.passed"}) == []


def test_a_check_that_does_not_read_its_result():
    """It asks a tool, and does not listen."""
    assert found(checks={"postconditions": [{"id": "right", "tool": "look", "expect": "output.n == 1"}]}) == [
        "unread_result"
    ]


@pytest.mark.parametrize(
    ("stop", "finds"),
    [
        ({"same_output": 4}, False),
        ({"same_output": 5}, True),
        ({"stalled": {"measure": "output.n", "iterations": 4}}, False),
        ({"stalled": {"measure": "output.n", "iterations": 5}}, True),
        ({"when": "run.iteration >= 4 && output.n > 1"}, False),
        ({"when": "run.iteration >= 5 && output.n > 1"}, True),
        ({"when": "run.iteration > 4"}, True),
        ({"when": "run.iteration > 4 || output.n > 1"}, False),
        ({"when": "false"}, True),
    ],
)
def test_a_stop_condition_that_can_never_fire(stop, finds):
    """Four iterations are all that there are."""
    codes = found(completion={"success": "checks.passed", "stop": [stop]})
    assert codes == (["stop_never_fires"] if finds else [])


def test_non_goals_that_nothing_holds():
    """Accepted as open, or left to permissions that limit nothing."""
    assert found(non_goals=[{"text": "x", "accepted_by": "lead"}]) == ["non_goal_not_held"]
    open_ = {"tools": [{"tool": "edit"}]}
    assert found(permissions=open_, non_goals=[{"text": "x", "held_by": "permissions"}]) == ["non_goal_not_held"]


def test_a_skipped_check_is_said():
    """With the name of whoever authorised it."""
    skip = {"authorised_by": "lead", "because": "the probe is down"}
    check = {"id": "right", "tool": "look", "expect": "result == 1", "skip": skip}
    assert found(checks={"postconditions": [check]}) == ["skipped_check"]
