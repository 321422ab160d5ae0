"""Checks with evidence: what they see decides, what they saw is kept, and the box knows nothing of them."""

import asyncio
from typing import TypedDict

import pytest

from harness import tool, usd
from harness.contract.load import load_contract
from harness.core.errors import ContractRefused
from tests.run.making import counting, document, ended, harness, returning, statuses


class Seen(TypedDict):
    """What a look brings."""

    value: int
    secret: str


@tool(effect="read", data={"secret": "pii"})
def look(at: str) -> Seen:
    """What is there."""
    return {"value": {"one": 1, "ten": 10}[at], "secret": "mallory@example.org"}


def check(id_: str, at: str = "ten", expect: str = "result.value == 10", **more):
    """One check of `look`."""
    return {"id": id_, "tool": "look", "args": {"at": at}, "expect": expect, **more}


def run(tmp_path, script=None, tools=(look,), **sections):
    """Run one scripted snippet."""
    made = harness(tmp_path, tools, script)
    return made, made.run_sync(document(**sections), "1")


def test_a_precondition_that_fails_starts_no_box(tmp_path):
    """The run is rejected, the reason names the check, and no iteration was spent."""
    made, result = run(tmp_path, checks={"preconditions": [check("ready", at="one")]})
    assert ended(result) == ("rejected", "contract_failed")
    assert result.ending.detail == "the precondition `ready` is failed: `result.value == 10` is false"
    assert made._backend.started == 0
    assert result.budget["iterations"].used == 0


def test_a_postcondition_that_fails_stands_above_success(tmp_path):
    """Success may say what it likes: a failed check is no acceptance."""
    _, result = run(tmp_path, checks={"postconditions": [check("after", at="one")]})
    assert ended(result) == ("rejected", "contract_failed")
    assert statuses(result) == {"after": "failed"}


def test_checks_that_pass_let_the_result_be_accepted(tmp_path):
    """Each is recorded with its evidence: digest, time, environment, the masked observation."""
    _, result = run(tmp_path, checks={"preconditions": [check("before")], "postconditions": [check("after")]})
    assert ended(result) == ("accepted", "contract_passed")
    evidence = result.checks[1]["evidence"][0]
    assert evidence["seen"] == {"value": 10, "secret": "[masked:pii]"}
    assert len(evidence["digest"]) == 64
    assert len(evidence["environment"]) == 16
    assert evidence["at"].endswith("Z")
    assert "mallory" not in str(result.to_json())


def test_an_expression_over_facts_is_a_check(tmp_path):
    """Without a tool it reads the facts of the run."""
    rule = {"id": "even", "expect": "output % 2 == 0"}
    _, result = run(tmp_path, returning(11), checks={"postconditions": [rule]})
    assert ended(result) == ("rejected", "contract_failed")


def test_a_check_whose_tool_fails_is_unavailable(tmp_path):
    """Nothing is known then, and nothing known is no pass."""
    _, result = run(tmp_path, checks={"postconditions": [check("after", at="nowhere")]})
    assert statuses(result) == {"after": "unavailable"}
    assert ended(result) == ("rejected", "contract_failed")


def test_a_skipped_check_says_who_authorised_it(tmp_path):
    """It is no obstacle, it is not made, and the record names who answers for that."""
    skip = {"authorised_by": "release-lead", "because": "the probe is down"}
    _, result = run(tmp_path, checks={"postconditions": [check("after", at="one", skip=skip)]})
    assert ended(result) == ("accepted", "contract_passed")
    assert (result.checks[0]["status"], result.checks[0]["authorised_by"]) == ("skipped", "release-lead")
    assert result.checks[0]["evidence"] == []


@pytest.mark.parametrize(
    ("passing", "outcome"), [(2, "rejected"), (3, "accepted"), (4, "accepted")], ids=["below", "at", "above"]
)
def test_k_of_n(tmp_path, passing, outcome):
    """`3 of 5`: two passing trials are too few, three and four are enough; all five are kept as evidence."""
    seen = []

    @tool(effect="read")
    def trial() -> int:
        """Counts its uses."""
        seen.append(1)
        return len(seen)

    rule = {"id": "often", "tool": "trial", "expect": f"result <= {passing}", "repeat": 5, "require": "3 of 5"}
    _, result = run(tmp_path, tools=(trial,), checks={"postconditions": [rule]})
    assert result.outcome.value == outcome
    assert len(result.checks[0]["evidence"]) == 5


def test_the_box_never_sees_the_tool_of_a_check(tmp_path):
    """Not among its stubs, and denied as unknown where it is named."""
    answers = []

    def script(box):
        answers.append(box.start["tools"]["source"])
        answers.append(box.call("look", at="ten"))
        box.result(10)

    _, result = run(tmp_path, script, checks={"postconditions": [check("after")]})
    assert "look" not in answers[0]
    assert answers[1]["error"]["code"] == "unlisted"
    assert ended(result) == ("accepted", "contract_passed")


def test_the_calls_of_checks_are_not_the_snippets(tmp_path):
    """They spend a share of their own: with no call left for the snippet they are still made."""
    _, result = run(tmp_path, budget={"calls": 0}, checks={"postconditions": [check("after")]})
    assert ended(result) == ("accepted", "contract_passed")
    assert result.budget["calls"].used == 0


def test_a_check_may_only_read(tmp_path):
    """A tool that acts is refused when the contract is bound."""

    @tool(effect="write")
    def act() -> int:
        """Acts."""
        return 1

    made = harness(tmp_path, (act,))
    rule = {"id": "acts", "tool": "act", "expect": "result == 1"}
    with pytest.raises(ContractRefused, match="the check `acts` would act"):
        made.bind(load_contract(document(checks={"postconditions": [rule]})))


def test_what_a_check_costs_is_the_runs(tmp_path):
    """Money that a check's tool reports beyond the limit ends the run."""

    @tool(effect="read", cost=usd("0.02"))
    def dear() -> int:
        """Costs."""
        return 10

    rule = {"id": "dear", "tool": "dear", "expect": "result == 10"}
    _, result = run(tmp_path, tools=(dear,), budget={"cost_usd": "0.01"}, checks={"postconditions": [rule]})
    assert ended(result) == ("rejected", "budget_exhausted")
    assert dict(result.ending.data)["dimension"] == "cost_usd"


def test_a_proposal_is_judged_again_after_later_effects(tmp_path):
    """A session whose later iteration broke what a check had seen is not accepted on the old observation."""
    state = {"value": 10}

    @tool(effect="read")
    def value() -> int:
        """The value."""
        return state["value"]

    @tool(effect="write")
    def break_it() -> None:
        """Changes the value."""
        state["value"] = 1

    snippets = iter([lambda box: box.result(10), lambda box: (box.call("break_it"), box.result(None))])
    rule = {"id": "value", "tool": "value", "expect": "result == 10"}

    async def work(made):
        async with made, made.session(document(tools=["break_it"], checks={"postconditions": [rule]})) as session:
            first = await session.run("1")
            await session.run("2")
            return first, await session.finish()

    made = harness(tmp_path, (value, break_it), lambda box: next(snippets)(box))
    first, result = asyncio.run(work(made))
    assert [each["status"] for each in first.checks] == ["passed"]
    assert ended(result) == ("rejected", "contract_failed")


def test_two_runs_share_nothing(tmp_path):
    """Statuses begin as pending in each."""
    made = harness(tmp_path, (look,), counting(["no number"]))
    result = made.run_sync(document(checks={"postconditions": [check("after")]}), "1")
    assert ended(result) == ("rejected", "output_invalid")
    assert statuses(result) == {"after": "pending"}
