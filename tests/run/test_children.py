"""Contracts as tools of contracts: a child run with its share of the budget, bound when its parent is."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from harness import tool
from harness.core.errors import ContractRefused, RegistryRefused
from tests.run.making import document, ended, harness

ACTED: list[int] = []


@pytest.fixture(autouse=True)
def nothing_done():
    ACTED.clear()


@tool(effect="read", timeout_s=5, cost=lambda value: {"tokens": value, "cost_usd": Decimal("0.01")})
def ask(amount: int) -> int:
    """Reports its cost."""
    return amount


@tool(effect="write", timeout_s=5)
def act(amount: int) -> int:
    """Acts."""
    ACTED.append(amount)
    return amount


def child(folder: Path, name: str = "child", **changes: Any) -> str:
    """A child contract in a file of its own."""
    budget = {"tokens": 100, "cost_usd": "1", **changes.pop("budget", {})}
    inputs = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
    text = {**document(tools=["ask"], budget=budget, inputs=inputs, **changes), "contract": name, "goal": "ask"}
    (folder / f"{name}.json").write_text(json.dumps(text), "utf-8")
    return f"{name}.json"


def parent(contract: str, share: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """A contract that may use another one."""
    budget = {"tokens": 1000, "cost_usd": "5", **changes.pop("budget", {})}
    grant = {"contract": contract, **({"budget": share} if share else {})}
    return document(tools=[grant], budget=budget, **changes)


def family(answers: list[Any], child_tool: str = "ask", value: int = 10):
    """The box plays parent or child, by what it finds: the child uses its tool, the parent its child."""

    def play(box):
        if "child(" in box.start["tools"]["source"]:
            answers.append(box.call("child", snippet="return 1", amount=7))
            box.result(10)
        else:
            box.call(child_tool, amount=box.start["inputs"]["amount"])
            box.result(value)

    return play


def test_a_child_runs_within_its_parents_budget(tmp_path):
    """Its result is the call's; what it used is the parent's use; its record names the call that made it."""
    answers: list[Any] = []
    made = harness(tmp_path, (ask,), family(answers))
    result = made.run_sync(parent(child(tmp_path)), "1")
    assert answers[0]["ok"] == 10
    assert ended(result) == ("accepted", "contract_passed")
    assert (result.budget["tokens"].used, result.budget["cost_usd"].used) == (7, Decimal("0.01"))
    assert result.budget["calls"].used == 2
    assert result.budget["tokens"].reserved == 0
    rows = made.store().runs()
    made._store.close()
    assert sorted(row.contract for row in rows) == ["child", "number"]
    (below,) = [row for row in rows if row.contract == "child"]
    assert below.caller_key == f"child:{result.run}/1.1"


def test_a_share_bounds_the_child(tmp_path):
    """What it may use is the lesser of its own budget and the share; beyond that the child ends, not the parent."""
    answers: list[Any] = []
    made = harness(tmp_path, (ask,), family(answers))
    result = made.run_sync(parent(child(tmp_path), {"tokens": 6}), "1")
    assert answers[0]["error"]["code"] == "tool_failed"
    assert "budget_exhausted" in answers[0]["error"]["message"]
    assert ended(result) == ("accepted", "contract_passed")


@pytest.mark.parametrize(("tokens", "reason"), [(99, None), (100, "contract_passed"), (101, "contract_passed")])
def test_a_share_must_lie_within_the_parents_budget(tmp_path, tokens, reason):
    """The child states 100: a parent of 99 is refused with both numbers, when it is bound."""
    made = harness(tmp_path, (ask,), family([]))
    if reason is None:
        with pytest.raises(ContractRefused, match="the share of `tokens` is 100, and its parent has 99"):
            made.bind(parent(child(tmp_path), budget={"tokens": tokens}))
    else:
        result = made.run_sync(parent(child(tmp_path), budget={"tokens": tokens}), "1")
        assert result.reason.value == reason


def test_a_child_that_is_not_accepted_fails(tmp_path):
    """The caller is told how it ended."""
    answers: list[Any] = []
    harness(tmp_path, (ask,), family(answers, value=3)).run_sync(parent(child(tmp_path)), "1")
    assert answers[0]["error"]["kind"] == "ToolFailed"
    assert "ended as rejected (contract_failed)" in answers[0]["error"]["message"]


def test_a_rejected_child_that_acted_did_part_of_its_work(tmp_path):
    """Its effects stand, and the caller is told which."""
    answers: list[Any] = []
    made = harness(tmp_path, (ask, act), family(answers, "act", value=3))
    made.run_sync(parent(child(tmp_path, permissions={"tools": [{"tool": "act"}]})), "1")
    assert ACTED == [7]
    assert answers[0]["error"]["kind"] == "PartialResult"


def test_arguments_are_checked_against_the_childs_inputs(tmp_path):
    """And scopes of the parent against them, when it is bound."""
    answers: list[Any] = []

    def play(box):
        answers.append(box.call("child", snippet="return 1", amount="seven"))
        box.result(10)

    harness(tmp_path, (ask,), play).run_sync(parent(child(tmp_path)), "1")
    assert answers[0]["error"]["code"] == "bad_arguments"
    contract = parent(child(tmp_path))
    contract["permissions"]["tools"][0]["scope"] = {"amont": 7}
    with pytest.raises(ContractRefused, match="`child` has no argument `amont`"):
        harness(tmp_path, (ask,)).bind(contract)


def test_a_contract_never_uses_itself(tmp_path):
    """Nor one that uses it."""
    one = child(tmp_path, "one", permissions={"tools": [{"contract": "two.json"}]})
    child(tmp_path, "two", permissions={"tools": [{"contract": "one.json"}]})
    with pytest.raises(ContractRefused, match="would use itself"):
        harness(tmp_path, (ask,)).bind(parent(one))


def test_a_childs_name_is_no_tools(tmp_path):
    """A contract that is called like a tool of the host is refused."""
    with pytest.raises(RegistryRefused):
        harness(tmp_path, (ask,)).bind(parent(child(tmp_path, "ask")))
