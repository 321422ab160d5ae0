"""Waiting for a person, through the whole corridor: bundles, decisions, pauses, and what happens afterwards."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from harness.approvals.decision import decision_document, sign
from harness.core.bundle import BundleState, WaitState
from harness.registry.decorator import tool
from harness.testing import BoxSide, FakeClock
from tests.approvals.making import key_of
from tests.run.making import ended
from tests.run.waiting import at_once, gated, in_loop, signed, waiting_harness

DONE: list[int] = []


@pytest.fixture(autouse=True)
def nothing_done():
    DONE.clear()
    yield
    DONE.clear()


@tool(effect="write", approval="always", preview="put {number}", timeout_s=5)
def put(number: int) -> int:
    """Put a number down."""
    DONE.append(number)
    return number


@tool(effect="destructive", preview="remove {number}", timeout_s=5)
def remove(number: int) -> int:
    """Remove a number for good."""
    DONE.append(-number)
    return number


@tool(effect="read", timeout_s=5)
def look(number: int) -> int:
    """Look at a number."""
    return number


def three_at_once(box: BoxSide) -> None:
    """What `asyncio.gather` over three gated calls looks like; the result is the sum of what was approved."""
    answers = at_once(box, [(f"0.{n}", "put", {"number": n}) for n in (1, 2, 3)])
    if len(answers) == 3:
        box.result(10 + sum(answer.get("ok", 0) for answer in answers.values()))


@in_loop
async def test_gated_calls_of_one_turn_form_one_bundle_and_the_run_pauses(tmp_path: Path) -> None:
    """Nothing of them runs; the ending names the public reference and not the id."""
    async with waiting_harness(tmp_path, [put], three_at_once) as harness:
        result = await harness.run(gated(["put"]), "return 1")
        (bundle,) = harness.approvals
        assert ended(result) == ("unresolved", "paused")
        assert result.exit_code == 6
        assert [ask.call for ask in bundle.asks] == ["1.1", "1.2", "1.3"]
        assert bundle.reference in result.ending.detail
        assert bundle.id not in str(result.to_json())
        assert harness.recorded(result.run).status == "paused"
        assert DONE == []


@in_loop
async def test_after_a_yes_the_run_goes_on_and_every_call_happens_once(tmp_path: Path) -> None:
    """The accepted path, in the order of submission; the bundle shows the approvals as used."""
    async with waiting_harness(tmp_path, [put], three_at_once) as harness:
        paused = await harness.run(gated(["put"]), "return 1")
        outcome = harness.decide(signed(harness.approvals[0]))
        assert (outcome.taken, outcome.run) == (True, paused.run)
        result = await harness.resume(paused.run)
        assert ended(result) == ("accepted", "contract_passed")
        assert (result.result, DONE) == (16, [1, 2, 3])
        assert [ask.state for ask in harness.approvals[0].asks] == [WaitState.USED] * 3


@in_loop
async def test_what_a_person_rejects_comes_back_as_a_rejection(tmp_path: Path) -> None:
    """The approved ones run, the others raise `ApprovalRejected` in the snippet."""
    seen: list[dict[str, Any]] = []

    def script(box: BoxSide) -> None:
        answers = at_once(box, [(f"0.{n}", "put", {"number": n}) for n in (1, 2)])
        seen.extend(answer.get("error", {}) for answer in answers.values())
        if len(answers) == 2:
            box.result(10)

    async with waiting_harness(tmp_path, [put], script) as harness:
        paused = await harness.run(gated(["put"]), "return 1")
        harness.decide(signed(harness.approvals[0], {"1.1": False, "1.2": True}))
        result = await harness.resume(paused.run)
        assert (ended(result), DONE) == (("accepted", "contract_passed"), [2])
        assert [(error["kind"], error["code"]) for error in seen if error] == [
            ("ApprovalRejected", "approval_rejected")
        ]


@in_loop
async def test_a_malformed_document_of_an_approver_rejects_everything(tmp_path: Path) -> None:
    """From it nothing runs: every call comes back as rejected."""
    async with waiting_harness(tmp_path, [put], three_at_once) as harness:
        paused = await harness.run(gated(["put"]), "return 1")
        bundle = harness.approvals[0]
        document = decision_document(bundle, "bob", {ask.call: True for ask in bundle.asks})
        document["calls"].pop()
        assert harness.decide(sign(document, key_of("bob"))).code == "rejected_all"
        assert harness.decide(signed(bundle)).code == "closed"
        result = await harness.resume(paused.run)
        assert (ended(result), result.result, DONE) == (("accepted", "contract_passed"), 10, [])


@pytest.mark.parametrize("case", ["missing", "denied", "stale", "mismatched", "accepted"])
@in_loop
async def test_of_the_cases_of_one_approval_only_the_accepted_one_executes(tmp_path: Path, case: str) -> None:
    """F01: missing, denied, stale and mismatched approvals never reach the executor."""
    clock = FakeClock()
    number = [1]

    def script(box: BoxSide) -> None:
        answers = at_once(box, [("0", "put", {"number": number[0]})])
        if answers:
            box.result(10)

    async with waiting_harness(tmp_path, [put], script, clock) as harness:
        paused = await harness.run(gated(["put"], approval={"expires": "1h"}), "return 1")
        bundle = harness.approvals[0]
        if case == "stale":
            clock.advance(3600)
        if case == "mismatched":
            number[0] = 2
        if case != "missing":
            harness.decide(signed(bundle, case != "denied"))
        result = await harness.resume(paused.run)
        assert ([1] if case == "accepted" else []) == DONE
        expected = {"missing": "paused", "mismatched": "diverged"}.get(case, "contract_passed")
        assert result.reason.value == expected


@in_loop
async def test_a_box_is_held_and_goes_on_where_it_was_when_the_decision_comes_in_time(tmp_path: Path) -> None:
    """hold_seconds: the same box, no second start."""
    clock = None
    async with waiting_harness(tmp_path, [put], three_at_once, clock) as harness:

        async def approver() -> None:
            while not harness.approvals:
                await asyncio.sleep(0.01)
            harness.decide(signed(harness.approvals[0]))

        deciding = asyncio.ensure_future(approver())
        result = await harness.run(gated(["put"], approval={"hold_seconds": 10}), "return 1")
        await deciding
        assert (ended(result), DONE) == (("accepted", "contract_passed"), [1, 2, 3])
        assert harness.recorded(result.run).attempt == 1


@in_loop
async def test_a_run_that_is_resumed_too_early_pauses_again_under_the_same_reference(tmp_path: Path) -> None:
    """No decision is asked twice."""
    async with waiting_harness(tmp_path, [put], three_at_once) as harness:
        paused = await harness.run(gated(["put"]), "return 1")
        again = await harness.resume(paused.run)
        assert again.ending.detail == paused.ending.detail
        assert len(harness.approvals) == 1


@in_loop
async def test_decided_runs_are_resumed_by_a_host_that_is_up(tmp_path: Path) -> None:
    """Once: a second look finds nothing to do."""
    async with waiting_harness(tmp_path, [put], three_at_once) as harness:
        await harness.run(gated(["put"]), "return 1")
        assert await harness.resume_decided() == []
        harness.decide(signed(harness.approvals[0]))
        assert [ended(result) for result in await harness.resume_decided()] == [("accepted", "contract_passed")]
        assert await harness.resume_decided() == []


@in_loop
async def test_a_destructive_call_asks_once_for_each_digest(tmp_path: Path) -> None:
    """`before_execute`: the same call again in the run needs no second word; other arguments do."""

    def script(box: BoxSide) -> None:
        first = at_once(box, [("0", "remove", {"number": 1})])
        again = at_once(box, [("0", "remove", {"number": 1})]) if first else {}
        other = at_once(box, [("0", "remove", {"number": 2})]) if again else {}
        if other:
            box.result(10)

    async with waiting_harness(tmp_path, [remove], script) as harness:
        paused = await harness.run({**gated(["remove"]), "permissions": {"tools": [{"tool": "remove"}]}}, "return 1")
        harness.decide(signed(harness.approvals[0]))
        second = await harness.resume(paused.run)
        assert (second.reason.value, DONE) == ("paused", [-1, -1])
        harness.decide(signed(harness.approvals[1]))
        result = await harness.resume(paused.run)
        assert (ended(result), DONE) == (("accepted", "contract_passed"), [-1, -1, -2])


@in_loop
async def test_two_approvers_are_needed_where_the_policy_says_so(tmp_path: Path) -> None:
    """k of n for destructive calls."""

    def script(box: BoxSide) -> None:
        if at_once(box, [("0", "remove", {"number": 1})]):
            box.result(10)

    contract = {**gated(["remove"]), "permissions": {"tools": [{"tool": "remove"}]}}
    async with waiting_harness(tmp_path, [remove], script, approvals_needed=2) as harness:
        paused = await harness.run(contract, "return 1")
        bundle = harness.approvals[0]
        assert harness.decide(signed(bundle)).code == "counted"
        assert (await harness.resume(paused.run)).reason.value == "paused"
        assert harness.decide(signed(bundle, by="carol")).code == "taken"
        assert (await harness.resume(paused.run)).reason.value == "contract_passed"


@in_loop
async def test_a_cancelled_run_withdraws_what_it_asked(tmp_path: Path) -> None:
    """Nobody can approve it any more; a resume says that it has ended."""
    async with waiting_harness(tmp_path, [put], three_at_once) as harness:
        paused = await harness.run(gated(["put"]), "return 1")
        cancelled = harness.cancel(paused.run)
        assert (ended(cancelled), cancelled.exit_code) == (("unresolved", "cancelled"), 8)
        assert harness.decide(signed(harness.approvals[0])).code == "closed"
        assert harness.approvals[0].state is BundleState.WITHDRAWN
        assert harness.recorded(paused.run).status == "ended"


@in_loop
async def test_a_retry_with_the_callers_key_is_the_same_run(tmp_path: Path) -> None:
    """Paused: its paused result. Decided: it goes on. Ended: its stored result, equal in every line."""
    async with waiting_harness(tmp_path, [put], three_at_once) as harness:
        paused = await harness.run(gated(["put"]), "return 1", key="order-7")
        assert (await harness.run(gated(["put"]), "return 1", key="order-7")).run == paused.run
        harness.decide(signed(harness.approvals[0]))
        result = await harness.run(gated(["put"]), "return 1", key="order-7")
        again = await harness.run(gated(["put"]), "return 1", key="order-7")
        assert (result.run, ended(result), DONE) == (paused.run, ("accepted", "contract_passed"), [1, 2, 3])
        assert {**again.to_json(), "audit_head": ""} == {**result.to_json(), "audit_head": ""}


@in_loop
async def test_an_approval_does_not_reach_past_a_change_of_the_policy(tmp_path: Path) -> None:
    """F09: after the wait everything is decided again on today's facts: the tool is not allowed any more."""
    async with waiting_harness(tmp_path, [put], three_at_once) as harness:
        paused = await harness.run(gated(["put"]), "return 1")
        harness.decide(signed(harness.approvals[0]))
        harness.policy = harness.policy.model_copy(update={"tools": ()})
        with pytest.raises(Exception, match="put"):
            await harness.resume(paused.run)
        assert (DONE, harness.recorded(paused.run).status) == ([], "paused")


@tool(effect="write", approval="before_execute", preview="pay {amount}: {reason}", timeout_s=5)
def pay(amount: int, reason: str) -> int:
    """Pay an amount."""
    DONE.append(amount)
    return amount


def paying(*calls: tuple[int, str]):
    """Payments one after the other; the result counts them."""

    def script(box: BoxSide) -> None:
        for amount, reason in calls:
            if not at_once(box, [("0", "pay", {"amount": amount, "reason": reason})]):
                return
        box.result(10)

    return script


@in_loop
async def test_an_approval_covers_every_argument_unless_a_grant_says_otherwise(tmp_path: Path) -> None:
    """F03: by default every field counts, so another `reason` asks again; a bounded grant names what matters."""
    script = paying((5, "a"), (5, "b"), (50, "c"))
    contract = {**gated(["pay"]), "permissions": {"tools": [{"tool": "pay"}]}}
    async with waiting_harness(tmp_path, [pay], script, grants=True) as harness:
        paused = await harness.run(contract, "return 1")
        document = decision_document(harness.approvals[0], "bob", {"1.1": True})
        document["grants"] = [{"tool": "pay", "calls": 1, "while": "args.amount < 10", "seconds": 3600}]
        assert harness.decide(sign(document, key_of("bob"))).code == "taken"
        again = await harness.resume(paused.run)
        assert (again.reason.value, DONE) == ("paused", [5, 5])
        assert [ask.call for ask in harness.approvals[1].asks] == ["1.3"]


@in_loop
async def test_a_grant_that_the_policy_does_not_allow_rejects_the_bundle(tmp_path: Path) -> None:
    """It is a malformed document of an approver."""
    contract = {**gated(["pay"]), "permissions": {"tools": [{"tool": "pay"}]}}
    async with waiting_harness(tmp_path, [pay], paying((5, "a"))) as harness:
        paused = await harness.run(contract, "return 1")
        document = decision_document(harness.approvals[0], "bob", {"1.1": True})
        document["grants"] = [{"tool": "pay", "calls": 1, "while": "", "seconds": 3600}]
        assert harness.decide(sign(document, key_of("bob"))).code == "rejected_all"
        await harness.resume(paused.run)
        assert DONE == []


@in_loop
async def test_a_grant_for_one_call_lets_one_of_two_parallel_calls_through(tmp_path: Path) -> None:
    """The reservation is the lock: the slower one is put to a person, and the run goes on."""

    def script(box: BoxSide) -> None:
        if not at_once(box, [("0", "pay", {"amount": 1, "reason": "first"})]):
            return
        calls = [(f"0.{n}", "pay", {"amount": n, "reason": "both"}) for n in (2, 3)]
        if len(at_once(box, calls)) == 2:
            box.result(10)

    contract = {**gated(["pay"]), "permissions": {"tools": [{"tool": "pay"}]}}
    async with waiting_harness(tmp_path, [pay], script, grants=True) as harness:
        paused = await harness.run(contract, "return 1")
        document = decision_document(harness.approvals[0], "bob", {"1.1": True})
        document["grants"] = [{"tool": "pay", "calls": 1, "while": "", "seconds": 3600}]
        harness.decide(sign(document, key_of("bob")))
        again = await harness.resume(paused.run)
        assert (again.reason.value, DONE) == ("paused", [1, 2])
        harness.decide(signed(harness.approvals[1]))
        assert ended(await harness.resume(paused.run)) == ("accepted", "contract_passed")
        assert DONE == [1, 2, 3]
