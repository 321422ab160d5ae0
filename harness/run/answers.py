"""Answers: how an outcome becomes the exact bytes that the box is given."""

import msgspec

from harness.core.call import Answer, Call, Json
from harness.core.ports import Outcome
from harness.core.state import State

__all__ = ["DO_NOT_RETRY", "error_answer", "outcome_answer", "value_answer"]

DO_NOT_RETRY = (
    "do not repeat the call: whether it happened is not known; look at the state first, or let a person decide"
)
_STANDS = "the effect stands and must not be repeated; only its result did not fit the tool's schema"

_KINDS = {
    State.FAILED: ("ToolFailed", "tool_failed"),
    State.UNKNOWN: ("OutcomeUnknown", "outcome_unknown"),
    State.APPLIED_INVALID: ("ToolFailed", "applied_invalid"),
    State.PARTIAL: ("PartialResult", "partial"),
}

_encode = msgspec.json.Encoder().encode


def value_answer(value: Json) -> Answer:
    """A successful answer."""
    return Answer(True, _encode(value))


def error_answer(error: dict[str, Json]) -> Answer:
    """A refusal or failure: the wire's error object."""
    return Answer(False, _encode(error))


def outcome_answer(call: Call, outcome: Outcome) -> Answer:
    """What the box is told of `outcome`; `call` already stands in the state after it."""
    if call.state is State.SUCCEEDED:
        return value_answer(outcome.value)
    kind, code = _KINDS[call.state]
    hint = outcome.hint
    if call.state is State.UNKNOWN:
        hint = DO_NOT_RETRY
    elif call.state is State.APPLIED_INVALID:
        hint = _STANDS
    data: dict[str, Json] = {"error_type": outcome.error_type} if outcome.error_type else {}
    if call.state is State.PARTIAL:
        data["value"] = outcome.value
    return error_answer(
        {"kind": kind, "code": code, "tool": call.tool, "message": outcome.message, "hint": hint, "data": data}
    )
