"""Questions: a snippet or a named condition asks, a person answers, and the record says who and when."""

from pathlib import Path
from typing import Any

import pytest

from harness.approvals.decision import decision_document, sign
from harness.core.errors import ContractRefused
from harness.registry.decorator import tool
from harness.testing import BoxSide, FakeClock
from tests.approvals.making import key_of
from tests.run.making import document, ended, returning, statuses
from tests.run.waiting import in_loop, signed, waiting_harness

ASK = {"question": "which text is meant?", "options": ["the old", "the new"], "proposed": "the new"}
OWNER = {"intent": "support", "escalate_to": "oncall"}


def asking(box: BoxSide) -> None:
    """A snippet that asks, and ends with 10 for the new text and 1 otherwise."""
    number = box.send_call("harness.escalate", ASK)
    box.send({"t": "idle", "waiting": [number]})
    answer = box.receive()
    if answer is not None:
        box.result(10 if answer.get("ok") == "the new" else 1)


def choose(bundle: Any, option: str) -> bytes:
    """A decision for one option of a question."""
    yes = {ask.call: option.encode() in ask.document for ask in bundle.asks}
    return signed(bundle, yes)


@in_loop
async def test_a_question_pauses_the_run_and_its_answer_is_data(tmp_path: Path) -> None:
    """What is proposed settles nothing; what a person chose is what the snippet gets, after a restart too."""
    async with waiting_harness(tmp_path, [], asking) as harness:
        paused = await harness.run(document(owner=OWNER), "return 1")
        (bundle,) = harness.approvals
        assert ended(paused) == ("unresolved", "escalated")
        assert paused.ending.detail == f"asked under {bundle.reference}: which text is meant?"
        assert bundle.kind == "question"
        assert b'"to":"oncall"' in bundle.document
        assert harness.decide(choose(bundle, "the new")).code == "taken"
        result = await harness.resume(paused.run)
    assert ended(result) == ("accepted", "contract_passed")
    (answered,) = result.questions
    assert answered["at"].endswith("Z")
    assert {name: answered[name] for name in ("question", "answer", "by", "asked", "proposed")} == {
        "question": "which text is meant?",
        "answer": "the new",
        "by": "bob",
        "asked": "oncall",
        "proposed": "the new",
    }


@in_loop
async def test_only_the_owner_answers(tmp_path: Path) -> None:
    """Carol may decide calls, and the question is not hers: her word changes nothing, whole or broken."""
    async with waiting_harness(tmp_path, [], asking) as harness:
        paused = await harness.run(document(owner=OWNER), "return 1")
        (bundle,) = harness.approvals
        whole = decision_document(bundle, "carol", {ask.call: not number for number, ask in enumerate(bundle.asks)})
        for said in (whole, {**whole, "calls": []}):
            taken = harness.decide(sign(said, key_of("carol")))
            assert (taken.taken, taken.code) == (False, "not_his_question")
        assert harness.decide(choose(bundle, "the new")).code == "taken"
        result = await harness.resume(paused.run)
    assert [each["by"] for each in result.questions] == ["bob"]


@in_loop
async def test_a_question_that_nobody_could_answer_is_refused_before_the_run(tmp_path: Path) -> None:
    """The owner is neither an approver nor answered for by one."""
    owner = {"intent": "support", "escalate_to": "the moon"}
    async with waiting_harness(tmp_path, [], asking) as harness:
        with pytest.raises(ContractRefused) as refused:
            await harness.run(document(owner=owner), "return 1")
    assert [(fault.code, fault.place.key) for fault in refused.value.faults] == [
        ("nobody_answers", "owner.escalate_to")
    ]


@in_loop
async def test_no_option_is_no_answer(tmp_path: Path) -> None:
    """Where a person rejects every option, the snippet is told so."""
    async with waiting_harness(tmp_path, [], asking) as harness:
        paused = await harness.run(document(), "return 1")
        harness.decide(signed(harness.approvals[0], False))
        result = await harness.resume(paused.run)
    assert ended(result) == ("rejected", "contract_failed")
    assert [(call.state, call.code) for call in result.calls] == [("DENIED", "approval_rejected")]


@in_loop
async def test_a_question_that_nobody_answers_in_time_is_told(tmp_path: Path) -> None:
    """It expires as an approval does."""
    clock = FakeClock()
    async with waiting_harness(tmp_path, [], asking, clock) as harness:
        paused = await harness.run(document(approval={"expires": "1h"}), "return 1")
        clock.advance(3601)
        result = await harness.resume(paused.run)
    assert [(call.state, call.code) for call in result.calls] == [("DENIED", "approval_expired")]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"question": "", "options": ["a", "b"]},
        {"question": "x" * 2001, "options": ["a"]},
        {"question": "what?", "options": ["a", "a"]},
        {"question": "what?", "options": [1]},
        {"question": "what?", "options": [str(n) for n in range(21)]},
        {"question": "what?", "options": ["a"], "proposed": "b"},
    ],
)
@in_loop
async def test_what_is_no_question_is_refused(tmp_path: Path, asked: dict[str, Any]) -> None:
    """Nobody is asked."""
    answers: list[Any] = []

    def script(box: BoxSide) -> None:
        answers.append(box.call("harness.escalate", **asked))
        box.result(10)

    async with waiting_harness(tmp_path, [], script) as harness:
        await harness.run(document(), "return 1")
        assert harness.approvals == []
    assert answers[0]["error"]["code"] == "bad_arguments"


# --- named conditions ----------------------------------------------------------------------------------------


@tool(effect="read", timeout_s=5)
def version() -> int:
    """The version of the record."""
    return 9


def moved_on(**changes: Any) -> dict[str, Any]:
    """A contract that asks where the record is not at version 8 any more."""
    check = {"id": "starts-at-8", "tool": "version", "expect": "result == params.expected"}
    condition = {
        "when": "checks['starts-at-8'].status == 'failed'",
        "ask": "${run.id} moved on from ${params.expected}: repair the newer version?",
        "options": ["repair", "stop"],
    }
    return document(
        params={"expected": 8}, owner=OWNER, checks={"preconditions": [check]}, escalate=[condition], **changes
    )


@in_loop
async def test_a_named_condition_asks_before_anything_runs(tmp_path: Path) -> None:
    """A failed precondition puts the question; the answer lets the run begin, and the check is skipped by name."""
    async with waiting_harness(tmp_path, [version], returning(10)) as harness:
        paused = await harness.run(moved_on(), "return 1")
        (bundle,) = harness.approvals
        assert ended(paused) == ("unresolved", "escalated")
        assert f"{paused.run} moved on from 8".encode() in bundle.document
        assert paused.iterations == []
        again = await harness.resume(paused.run)
        assert ended(again) == ("unresolved", "escalated")
        assert len(harness.approvals) == 1
        harness.decide(choose(bundle, "→ repair"))
        result = await harness.resume(paused.run)
    assert ended(result) == ("accepted", "contract_passed")
    assert statuses(result) == {"starts-at-8": "skipped"}
    assert result.checks[0]["authorised_by"] == "bob"
    assert [(each["answer"], each["by"], each["asked"]) for each in result.questions] == [("repair", "bob", "oncall")]


@in_loop
async def test_a_person_may_stop_the_run(tmp_path: Path) -> None:
    """The option `stop` ends it, and says who chose so."""
    async with waiting_harness(tmp_path, [version], returning(10)) as harness:
        paused = await harness.run(moved_on(), "return 1")
        harness.decide(choose(harness.approvals[0], "→ stop"))
        result = await harness.resume(paused.run)
    assert ended(result) == ("rejected", "stop_condition")
    assert result.ending.detail.startswith("`bob` chose to stop: ")
    assert result.iterations == []


@in_loop
async def test_a_condition_over_the_output_asks_after_the_proposal(tmp_path: Path) -> None:
    """Not where the proposal is a success; the answer is asked for once."""
    condition = {"when": "output < 5", "ask": "is so little right?", "options": ["yes", "stop"]}
    async with waiting_harness(tmp_path, [], returning(3)) as harness:
        paused = await harness.run(document(owner=OWNER, escalate=[condition]), "return 1")
        assert ended(paused) == ("unresolved", "escalated")
        harness.decide(choose(harness.approvals[0], "→ yes"))
        result = await harness.resume(paused.run)
    assert ended(result) == ("rejected", "contract_failed")
    async with waiting_harness(tmp_path, [], returning(12)) as harness:
        fine = await harness.run(document(owner=OWNER, escalate=[condition]), "return 1")
    assert ended(fine) == ("accepted", "contract_passed")


# --- what a resumed run knows of its checks ------------------------------------------------------------------


@tool(effect="write", timeout_s=5)
def act() -> int:
    """Acts at once."""
    return 1


@tool(effect="write", approval="always", preview="put", timeout_s=5)
def put() -> int:
    """Waits for a person."""
    return 1


@in_loop
async def test_a_resumed_run_knows_what_its_checks_found(tmp_path: Path) -> None:
    """After an effect preconditions are not judged again: what they found before the pause counts."""
    looked: list[int] = []

    @tool(effect="read", timeout_s=5)
    def look() -> int:
        """Look once."""
        looked.append(1)
        return 8 + len(looked) - 1

    def script(box: BoxSide) -> None:
        box.call("act")
        number = box.send_call("put", {})
        box.send({"t": "idle", "waiting": [number]})
        if box.receive() is not None:
            box.result(10)

    check = {"id": "at-8", "tool": "look", "expect": "result == 8"}
    contract = document(tools=["act", "put"], checks={"preconditions": [check]})
    async with waiting_harness(tmp_path, [look, act, put], script) as harness:
        paused = await harness.run(contract, "return 1")
        assert ended(paused) == ("unresolved", "paused")
        harness.decide(signed(harness.approvals[0]))
        result = await harness.resume(paused.run)
    assert ended(result) == ("accepted", "contract_passed")
    assert (statuses(result), len(looked)) == ({"at-8": "passed"}, 1)
    assert result.checks == paused.checks
