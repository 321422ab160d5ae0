"""A draft answers the five questions, leaves decisions open, and does not load before they are taken."""

import pytest

from harness.contract.draft import Answers, draft
from harness.contract.load import load_contract
from harness.core.errors import ContractRefused

ANSWERED = Answers(
    name="count",
    goal="count things",
    output=("total",),
    wall_seconds="30",
    tools=("look",),
    success="checks.passed",
    destination="file:results/${run.id}.json",
)


@pytest.mark.parametrize("answers", [Answers("empty"), ANSWERED], ids=["nothing", "everything"])
def test_a_draft_does_not_load(tmp_path, answers):
    """Every open decision is a fault with its line; no other fault stands at the same place."""
    path = tmp_path / "contract.yaml"
    path.write_text(draft(answers), "utf-8")
    with pytest.raises(ContractRefused) as caught:
        load_contract(path)
    open_ = [fault for fault in caught.value.faults if fault.code == "todo_left"]
    assert {"owner.intent", "budget.tokens", "budget.cost_usd"} <= {fault.place.key for fault in open_}
    assert all(fault.place.line > 0 for fault in open_)
    lines = path.read_text("utf-8").splitlines()
    assert all("TODO" in lines[fault.place.line - 1] for fault in open_)


def test_a_draft_loads_when_its_decisions_are_taken(tmp_path):
    """And not before: each replaced TODO is one fault less."""
    text = draft(ANSWERED)
    decided = {
        '"TODO: who wants the goal"': "lead",
        '"TODO: who is asked where the contract escalates"': "lead",
        '"TODO: what it must not do"': "change anything",
        '"TODO: type of total"': "integer",
        '"TODO: whole number; 0 for none"': "0",
        '"TODO: dollars as text; 0 for none"': '"0"',
        ', scope: "TODO: its arguments and their values, or leave scope out"': "",
        '"TODO: a tool that reads"': "look",
        '"TODO: condition over result"': "result == output.total",
    }
    for open_, answer in decided.items():
        assert text.count(open_) == 1, open_
        text = text.replace(open_, answer)
    path = tmp_path / "contract.yaml"
    path.write_text(text, "utf-8")
    assert load_contract(path).goal == "count things"


def test_a_todo_anywhere_is_refused():
    """In a value from Python too; the word inside a sentence is no open decision."""
    document = {
        "contract": "c",
        "version": 1,
        "goal": "mend every TODO of the code",
        "output": {"schema": {}},
        "budget": {"tokens": 0, "cost_usd": 0, "wall_seconds": 5, "retries": 0, "iterations": 1},
        "permissions": {},
        "completion": {"success": "true"},
        "destination": [{"to": "file:x.json"}],
    }
    assert load_contract(document).goal.startswith("mend")
    with pytest.raises(ContractRefused) as caught:
        load_contract({**document, "params": {"floor": ["TODO"]}})
    assert [(fault.code, fault.place.key) for fault in caught.value.faults] == [("todo_left", "params.floor[0]")]
