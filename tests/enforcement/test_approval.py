"""Check 7: nothing but a yes that fits this very call counts as a yes."""

import pytest

from harness.contract.expression import compile_predicate
from harness.core.call import Approval
from harness.core.verdict import ALLOW, Code, Decision, Verdict
from harness.enforcement.facts import NO_APPROVAL, ApprovalFact, ApprovalStatus, CoveredBy
from harness.enforcement.pipeline import Decided, decide
from tests.enforcement.making import SCHEMA, Facts, compiled, granted, make_call

CALL = make_call(record_id=42)


def _decide(rule: Approval, said: ApprovalFact) -> Decided:
    return decide(compiled(granted(approval=rule)), CALL, Facts(said=said))


def _digest(rule: Approval = Approval.ALWAYS) -> str:
    return _decide(rule, NO_APPROVAL).call.digest


@pytest.mark.parametrize("rule", [Approval.BEFORE_EXECUTE, Approval.ALWAYS])
def test_where_nobody_has_said_anything_a_person_is_asked(rule: Approval) -> None:
    """A35: missing is never a yes."""
    verdict = _decide(rule, NO_APPROVAL).verdict
    assert (verdict.decision, verdict.code) == (Decision.ASK, Code.APPROVAL_REQUIRED)
    assert verdict.hint == "nothing of it has run; the run goes on when a person has decided"


def test_the_public_reference_is_told() -> None:
    """The agent can say where the question lies; it is no key to it."""
    verdict = _decide(Approval.ALWAYS, ApprovalFact(ApprovalStatus.NONE, reference="apr-7f3")).verdict
    assert verdict.reasons == (
        "a person must approve every call of `update_record`; it is put to a person under `apr-7f3`",
    )


def test_a_tool_that_needs_no_approval_asks_nobody() -> None:
    """And consumes nothing, whatever is on record."""
    decided = _decide(Approval.NONE, ApprovalFact(ApprovalStatus.REJECTED, "a1", _digest()))
    assert (decided.verdict, decided.approval) == (ALLOW, "")


@pytest.mark.parametrize("rule", [Approval.BEFORE_EXECUTE, Approval.ALWAYS])
def test_an_approval_of_this_call_is_consumed(rule: Approval) -> None:
    """Its id goes with the reservation."""
    decided = _decide(rule, ApprovalFact(ApprovalStatus.APPROVED, "a1", _digest()))
    assert (decided.verdict, decided.approval) == (ALLOW, "a1")


@pytest.mark.parametrize("digest", ["", "0" * 64])
@pytest.mark.parametrize("rule", [Approval.BEFORE_EXECUTE, Approval.ALWAYS])
def test_an_approval_of_another_digest_is_asked_again(rule: Approval, digest: str) -> None:
    """F01: the name of the tool approves nothing; other arguments, a changed policy or tool make another digest."""
    decided = _decide(rule, ApprovalFact(ApprovalStatus.APPROVED, "a1", digest))
    assert (decided.verdict.decision, decided.approval) == (Decision.ASK, "")


def test_an_approval_without_an_id_is_none() -> None:
    """There would be nothing to consume."""
    assert _decide(Approval.ALWAYS, ApprovalFact(ApprovalStatus.APPROVED, "", _digest())).verdict.decision is (
        Decision.ASK
    )


@pytest.mark.parametrize(
    ("rule", "covered_by", "allowed", "consumed"),
    [
        (Approval.BEFORE_EXECUTE, CoveredBy.DIGEST, True, ""),
        (Approval.BEFORE_EXECUTE, CoveredBy.GRANT, True, "g1"),
        (Approval.ALWAYS, CoveredBy.DIGEST, False, ""),
        (Approval.ALWAYS, CoveredBy.GRANT, False, ""),
    ],
)
def test_only_before_execute_is_covered_once_per_digest_or_by_a_grant(
    rule: Approval, covered_by: CoveredBy, allowed: bool, consumed: str
) -> None:
    """`always` is every call, and nothing grants it."""
    digest = _digest() if covered_by is CoveredBy.DIGEST else ""
    decided = _decide(rule, ApprovalFact(ApprovalStatus.APPROVED, "g1", digest, covered_by))
    assert (decided.verdict.decision is Decision.ALLOW, decided.approval) == (allowed, consumed)


@pytest.mark.parametrize(
    ("condition", "allowed"), [("args.record_id == 42", True), ("args.record_id == 43", False), ("1 / 0 == 1", False)]
)
def test_a_grant_holds_only_while_its_condition_does(condition: str, allowed: bool) -> None:
    """Over the arguments that the tool gets; an error is not true."""
    said = ApprovalFact(
        ApprovalStatus.APPROVED,
        "g1",
        covered_by=CoveredBy.GRANT,
        condition=compile_predicate(condition, {"args": SCHEMA}),
    )
    decided = _decide(Approval.BEFORE_EXECUTE, said)
    assert decided.verdict.decision is (Decision.ALLOW if allowed else Decision.ASK)


def test_a_rejection_is_told_with_its_reason() -> None:
    """F06: a no is a no, and not a timeout."""
    said = ApprovalFact(ApprovalStatus.REJECTED, "a1", _digest(), reference="apr-7f3", reason="wrong record")
    assert _decide(Approval.ALWAYS, said).verdict == Verdict(
        Decision.DENY,
        Code.APPROVAL_REJECTED,
        ("a person said no to this call of `update_record` (apr-7f3): wrong record",),
        "do not make the call again as it is; go on without it, or end with what there is",
    )


def test_an_expiry_is_told_as_one() -> None:
    """F06: nobody decided; that is its own word."""
    assert _decide(Approval.ALWAYS, ApprovalFact(ApprovalStatus.EXPIRED, "a1", _digest())).verdict == Verdict(
        Decision.DENY,
        Code.APPROVAL_EXPIRED,
        ("nobody decided in time about this call of `update_record`",),
        "nothing of it has run; a new run can ask again",
    )


@pytest.mark.parametrize("status", [ApprovalStatus.REJECTED, ApprovalStatus.EXPIRED])
def test_a_no_to_another_digest_does_not_bind_this_one(status: ApprovalStatus) -> None:
    """It is asked about, not refused."""
    assert _decide(Approval.ALWAYS, ApprovalFact(status, "a1", "0" * 64)).verdict.decision is Decision.ASK
