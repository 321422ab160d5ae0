"""Check 7: must a person say yes, and did one? Nothing but a fact that fits this call counts as a yes."""

from collections.abc import Mapping

from harness.core.call import Approval, Call, Json
from harness.core.verdict import Code, Decision, Verdict
from harness.enforcement.facts import ApprovalFact, ApprovalStatus, CoveredBy, ToolFacts, View

__all__ = ["Granted", "check"]

Granted = str
"""Id of the approval or grant that the reservation consumes; empty where none is needed, or it was consumed before."""


def check(tool: ToolFacts, call: Call, view: View) -> Granted | Verdict:
    """The id to consume with the reservation, or the refusal, or the wish to ask."""
    rule = tool.grant.approval
    if rule is Approval.NONE:
        return ""
    fact = view.approval(call)
    if fact.status is ApprovalStatus.REJECTED and fact.digest == call.digest:
        return _rejected(tool, fact)
    if fact.status is ApprovalStatus.EXPIRED and fact.digest == call.digest:
        return _expired(tool, fact)
    if fact.status is ApprovalStatus.APPROVED and fact.id and _covers(rule, fact, call):
        return "" if fact.covered_by is CoveredBy.DIGEST else fact.id
    return _ask(tool, rule, fact)


def _covers(rule: Approval, fact: ApprovalFact, call: Call) -> bool:
    """Whether an approval reaches this call under `rule`; `always` takes only one that was given to the call itself."""
    if fact.covered_by is CoveredBy.CALL:
        return bool(call.digest) and fact.digest == call.digest
    if rule is not Approval.BEFORE_EXECUTE:
        return False
    if fact.covered_by is CoveredBy.DIGEST:
        return bool(call.digest) and fact.digest == call.digest
    return _condition_holds(fact, call.arguments)


def _condition_holds(fact: ApprovalFact, arguments: Mapping[str, Json]) -> bool:
    if fact.condition is None:
        return True
    judged = fact.condition.evaluate({"args": arguments})
    return judged.value is True and not judged.error


def _ask(tool: ToolFacts, rule: Approval, fact: ApprovalFact) -> Verdict:
    how = "every call" if rule is Approval.ALWAYS else "each new call"
    where = f"; it is put to a person under `{fact.reference}`" if fact.reference else ""
    return Verdict(
        Decision.ASK,
        Code.APPROVAL_REQUIRED,
        (f"a person must approve {how} of `{tool.name}`{where}",),
        "nothing of it has run; the run goes on when a person has decided",
    )


def _rejected(tool: ToolFacts, fact: ApprovalFact) -> Verdict:
    reason = f": {fact.reason}" if fact.reason else ""
    return Verdict(
        Decision.DENY,
        Code.APPROVAL_REJECTED,
        (f"a person said no to this call of `{tool.name}`{_reference(fact)}{reason}",),
        "do not make the call again as it is; go on without it, or end with what there is",
    )


def _expired(tool: ToolFacts, fact: ApprovalFact) -> Verdict:
    return Verdict(
        Decision.DENY,
        Code.APPROVAL_EXPIRED,
        (f"nobody decided in time about this call of `{tool.name}`{_reference(fact)}",),
        "nothing of it has run; a new run can ask again",
    )


def _reference(fact: ApprovalFact) -> str:
    return f" ({fact.reference})" if fact.reference else ""
