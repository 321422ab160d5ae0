"""The pipeline: the order of the checks, what identifies a call, and that nothing passes by accident."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.budget import Budget
from harness.core.call import Approval, Effect, Idempotency
from harness.core.canonical import digest
from harness.core.state import State
from harness.core.verdict import ALLOW, Code, Decision, Verdict
from harness.enforcement.pipeline import decide, refusal
from tests.enforcement.making import (
    Facts,
    compiled,
    granted,
    key,
    limit,
    make_call,
    make_receipt,
    rule,
)

EVERYTHING = {
    "limits": [limit("record_id", "one_of", [42])],
    "precondition": "args.record_id != 42",
    "idempotency": key(),
    "approval": Approval.ALWAYS,
}


def test_the_cheapest_and_least_telling_check_speaks_first() -> None:
    """listed, arguments, scope, precondition, idempotency, budget, approval: each hides all that come after it."""
    spent = Budget({"calls": 0})
    seen = []
    base = {"record_id": 42, "operation_id": "op-1"}

    def verdict(arguments: dict, tool: str = "update_record", facts: Facts | None = None, **mended) -> None:
        surface = compiled(granted(**{**EVERYTHING, **mended}))
        decided = decide(surface, make_call(tool, **arguments), facts or Facts(budget=spent))
        seen.append(decided.verdict.code)

    verdict({"record_id": "x"}, "nothing")
    verdict({"record_id": "x"})
    verdict({"record_id": 43})
    verdict(base)
    surface = compiled(granted(**{**EVERYTHING, "precondition": ""}))
    earlier = decide(surface, make_call(**base), Facts()).call
    receipt = make_receipt(earlier, surface.holder, State.UNKNOWN)
    verdict(base, facts=Facts(budget=spent, receipts={receipt.key: receipt}), precondition="")
    verdict(base, precondition="")
    verdict(base, facts=Facts(), precondition="")
    verdict(base, facts=Facts(), precondition="", approval=Approval.NONE)
    assert seen == [
        Code.UNLISTED,
        Code.BAD_ARGUMENTS,
        Code.OUT_OF_SCOPE,
        Code.PRECONDITION_FAILED,
        Code.OUTCOME_UNKNOWN,
        Code.BUDGET_EXHAUSTED,
        Code.APPROVAL_REQUIRED,
        Code.OK,
    ]


def test_nobody_is_asked_about_a_call_that_could_not_be_paid_for() -> None:
    """The approval is not even looked at."""
    facts = Facts(budget=Budget({"calls": 0}))
    decide(compiled(granted(approval=Approval.ALWAYS)), make_call(record_id=1), facts)
    assert "approval" not in facts.asked


def test_an_allowed_call_carries_all_that_identifies_it() -> None:
    """Arguments as the tool gets them, digest, key and effect; everything else as it came."""
    surface = compiled(granted(effect=Effect.DESTRUCTIVE, idempotency=key()))
    call = make_call(record_id=42, operation_id="op-1")
    after = decide(surface, call, Facts()).call
    changed = {name for name in type(call).__slots__ if getattr(call, name) != getattr(after, name)}
    assert changed == {"arguments", "digest", "key", "effect"}
    assert (len(after.digest), after.key, after.effect) == (64, "op-1", Effect.DESTRUCTIVE)


def test_the_digest_is_the_canonical_one_over_all_that_an_approval_binds() -> None:
    """Tool, its version, contract, principal, scope, arguments; framed as every digest of ours is."""
    grant = granted(limits=[limit("record_id", "one_of", [42, 43])])
    after = decide(compiled(grant), make_call(record_id=42), Facts()).call
    scope = {"bound": {"tenant": "acme"}, "limits": [["record_id", "one_of", [42, 43]]]}
    principal = ["ann", compiled(grant).holder]
    expected = digest(
        "update_record", grant.tool.digest, "c" * 64, principal, scope, {"tenant": "acme", "record_id": 42}
    )
    assert after.digest == expected


def test_whatever_an_approval_binds_changes_the_digest() -> None:
    """F01, F09: another argument, scope, principal, contract or tool definition is another digest."""

    def one(call=None, principal="ann", contract="c" * 64, **grant) -> str:
        surface = compiled(granted(**grant), principal=principal, contract_digest=contract)
        return decide(surface, call or make_call(record_id=42), Facts()).call.digest

    same = one()
    assert one(make_call(record_id=42, task="0.5", occurrence=3)) == same
    assert one(make_call(record_id=42.0)) == same
    assert one(calls=7, approval=Approval.NONE) == same
    others = [
        one(make_call(record_id=43)),
        one(make_call(record_id=42, text="")),
        one(bound={"tenant": "other"}),
        one(limits=[limit("record_id", "max", 50)]),
        one(principal="bob"),
        one(contract="d" * 64),
        one(description="another"),
    ]
    assert len({same, *others}) == len(others) + 1


@pytest.mark.parametrize("asked", ["receipt", "in_flight", "unknown", "shortage", "approval"])
@pytest.mark.parametrize("error", [RuntimeError("secret text"), KeyError("x"), RecursionError(), MemoryError()])
def test_an_exception_inside_a_check_is_a_denial(asked: str, error: Exception) -> None:
    """An error never allows; its text stays inside."""

    class Broken(Facts):
        pass

    def raises(self: Facts, *_: object) -> None:
        raise error

    setattr(Broken, asked, raises)
    kind = rule(Idempotency.NONE) if asked == "unknown" else key()
    surface = compiled(granted(idempotency=kind, approval=Approval.ALWAYS))
    verdict = decide(surface, make_call(record_id=1, operation_id="op"), Broken()).verdict
    check = {"shortage": "budget", "approval": "approval"}.get(asked, "idempotency")
    assert verdict == Verdict(
        Decision.DENY,
        Code.INTERNAL,
        (f"the check `{check}` failed inside the harness ({type(error).__name__})",),
        "nothing of it has run; tell whoever runs the harness",
    )


def test_deciding_changes_nothing() -> None:
    """Asked twice, the same answer; the call, the surface and the facts are as they were."""
    surface = compiled(granted(idempotency=key(), calls=3))
    call, facts = make_call(record_id=42, operation_id="op"), Facts()
    before = copy.deepcopy((call, facts.budget.report(), facts.receipts))
    first, second = decide(surface, call, facts), decide(surface, call, facts)
    assert first == second
    assert (call, facts.budget.report(), facts.receipts) == before


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.text(max_size=10) | st.just("update_record"),
    st.dictionaries(st.text(max_size=8) | st.sampled_from(["record_id", "text", "tenant"]), json_values, max_size=4),
)
def test_nothing_that_a_box_can_send_raises_or_passes_unfit(tool: str, arguments: dict) -> None:
    """Any name and any arguments: a verdict, and an allowance only for what the schema and the scope hold."""
    surface = compiled(granted(limits=[limit("record_id", "max", 10)]))
    call = make_call("t", record_id=0)
    call = type(call)(
        **{**{name: getattr(call, name) for name in call.__slots__}, "tool": tool, "arguments": arguments}
    )
    decided = decide(surface, call, Facts())
    if decided.verdict == ALLOW:
        assert tool == "update_record"
        assert set(arguments) <= {"record_id", "text", "operation_id"}
        assert arguments["record_id"] <= 10
        assert not isinstance(arguments["record_id"], bool)
    else:
        assert decided.verdict.decision is Decision.DENY
        assert decided.verdict.code in (Code.UNLISTED, Code.BAD_ARGUMENTS, Code.OUT_OF_SCOPE)
        assert refusal(decided.call, decided.verdict)["message"]


@pytest.mark.parametrize("code", list(Code))
def test_every_refusal_has_the_shape_of_the_wire(code: Code) -> None:
    """Kind, code, tool, message, hint, data; a budget, a rejection and an unknown ending have kinds of their own."""
    kinds = {
        Code.BUDGET_EXHAUSTED: "BudgetExhausted",
        Code.APPROVAL_REJECTED: "ApprovalRejected",
        Code.OUTCOME_UNKNOWN: "OutcomeUnknown",
    }
    error = refusal(make_call(), Verdict(Decision.DENY, code, ("one", "two"), "a hint"))
    assert error == {
        "kind": kinds.get(code, "ToolDenied"),
        "code": code.value,
        "tool": "update_record",
        "message": "one; two",
        "hint": "a hint",
        "data": {},
    }


def test_a_verdict_without_a_reason_still_has_a_sentence() -> None:
    """No empty message reaches a snippet."""
    for code in Code:
        assert refusal(make_call(), Verdict(Decision.DENY, code))["message"]
