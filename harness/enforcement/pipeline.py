"""The pipeline: the checks in their order over one call, and what a refusal looks like on the wire.

listed → arguments → scope → precondition → idempotency → budget → approval. Pure: facts in, verdict out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from harness.core.budget import Amount
from harness.core.call import Call, Json
from harness.core.ports import Receipt
from harness.core.verdict import ALLOW, Code, Decision, Verdict
from harness.enforcement import access, approval, arguments, budget, idempotency, precondition, scope
from harness.enforcement.facts import Compiled, ToolFacts, View
from harness.enforcement.words import SHOWN_CHARS

__all__ = ["Decided", "decide", "refusal"]

NOTHING: Mapping[str, Amount] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision, with the call as it now stands."""

    call: Call
    """Effect set once the tool is known; arguments merged, digest and key set once they fit."""
    verdict: Verdict
    request: Mapping[str, Amount] = field(default_factory=lambda: NOTHING)
    """What to reserve before the act."""
    joined: str = ""
    """Id of the call in flight whose ending answers this one (code `joined`)."""
    receipt: Receipt | None = None
    """The stored outcome that answers this one (code `receipt`); masks are still to be laid over it."""
    approval: str = ""
    """Id of the approval or grant that the reservation consumes."""
    text: bytes = b""
    """The canonical arguments, merged; empty where they did not fit."""
    again: bool = False
    """True where a call whose ending is unknown is made once more, under its old key."""


class _Stage:
    """Where the pipeline stands, for the sentence of an internal refusal."""

    __slots__ = ("call", "name")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.name = "access"


def decide(compiled: Compiled, call: Call, view: View) -> Decided:
    """Decide one call on the facts of now. Never raises: an exception inside a check is a denial (`internal`)."""
    stage = _Stage(call)
    try:
        return _decide(compiled, stage, view)
    except Exception as error:  # noqa: BLE001 - fail closed: whatever a check raises, the call does not pass
        reason = f"the check `{stage.name}` failed inside the harness ({type(error).__name__})"
        hint = "nothing of it has run; tell whoever runs the harness"
        return Decided(stage.call, Verdict(Decision.DENY, Code.INTERNAL, (reason,), hint))


def _decide(compiled: Compiled, stage: _Stage, view: View) -> Decided:
    tool = access.check(compiled, stage.call.tool)
    if isinstance(tool, Verdict):
        return Decided(stage.call, tool)
    stage.name = "arguments"
    merged = arguments.check(tool, stage.call)
    if isinstance(merged, Verdict):
        stage.call = replace(stage.call, effect=tool.effect)
        return Decided(stage.call, merged)
    stage.call = call = _identified(tool, stage.call, merged)
    stage.name = "scope"
    if tool.limits and (verdict := scope.check(tool, merged.values)):
        return Decided(call, verdict)
    stage.name = "precondition"
    if tool.precondition is not None and (verdict := precondition.check(tool, merged.values)):
        return Decided(call, verdict)
    stage.name = "idempotency"
    known = idempotency.check(tool, compiled.holder, call, merged.canonical, view)
    if known.verdict is not None:
        return Decided(call, known.verdict, joined=known.joined, receipt=known.receipt)
    stage.name = "budget"
    if verdict := budget.check(tool, view):
        return Decided(call, verdict, tool.request)
    stage.name = "approval"
    granted = approval.check(tool, call, view)
    if isinstance(granted, Verdict):
        return Decided(call, granted, tool.request)
    return Decided(call, ALLOW, tool.request, "", None, granted, merged.canonical, known.again)


def _identified(tool: ToolFacts, call: Call, merged: arguments.Merged) -> Call:
    """The call with what it takes to recognise it. Built in one go: `replace` costs twice as much."""
    text = merged.canonical
    state = tool.prefix.copy()
    state.update(len(text).to_bytes(8, "big"))
    state.update(text)
    return Call(
        call.id,
        call.run,
        call.lineage,
        call.iteration,
        call.attempt,
        call.origin,
        call.task,
        call.tool,
        merged.values,
        call.content,
        call.occurrence,
        call.received_at,
        state.hexdigest(),
        idempotency.key_of(tool, call, merged.values, text),
        tool.effect,
        call.state,
        call.ordinal,
    )


# --- the wire ------------------------------------------------------------------------------------------------

_KINDS: Mapping[Code, str] = MappingProxyType(
    {
        Code.BUDGET_EXHAUSTED: "BudgetExhausted",
        Code.APPROVAL_REJECTED: "ApprovalRejected",
        Code.OUTCOME_UNKNOWN: "OutcomeUnknown",
    }
)
"""Every other code is a `ToolDenied`."""

_SENTENCES: Mapping[Code, str] = MappingProxyType(
    {
        Code.ABANDONED: "the snippet ended before the call was dispatched",
        Code.CANCELLED: "the run was cancelled before the call was dispatched",
        Code.RUN_CLOSED: "the run has ended",
    }
)


def refusal(call: Call, verdict: Verdict) -> dict[str, Json]:
    """The error object of the wire for a verdict that is not an allowance."""
    message = "; ".join(verdict.reasons) or _SENTENCES.get(verdict.code, "the call was refused")
    return {
        "kind": _KINDS.get(verdict.code, "ToolDenied"),
        "code": verdict.code.value,
        "tool": call.tool[:SHOWN_CHARS],
        "message": message,
        "hint": verdict.hint,
        "data": {},
    }
