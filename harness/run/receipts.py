"""Receipts: what is stored under an idempotency key, and what a second use of the key is told."""

import msgspec

from harness.contract.effective import Grant
from harness.core.call import Answer, Call
from harness.core.canonical import canonical, digest
from harness.core.ports import Outcome, Receipt, ReceiptKey
from harness.core.state import State
from harness.output.mask import mask
from harness.run.answers import outcome_answer, value_answer

__all__ = ["receipt_answer", "receipt_for"]


def receipt_for(call: Call, holder: str, state: State, at: float, outcome: Outcome | None = None) -> Receipt | None:
    """The receipt of `call` in `state`; None for a call without a key."""
    if not call.key:
        return None
    value = error = b""
    if outcome is not None:
        if state in (State.SUCCEEDED, State.PARTIAL):
            value = canonical(outcome.value)
        if state is not State.SUCCEEDED:
            error = outcome_answer(call, outcome).body
    return Receipt(
        key=ReceiptKey(call.tool, holder, call.key),
        arguments=digest(call.arguments),
        run=call.run,
        call=call.id,
        state=state,
        value=value,
        error=error,
        at=at,
    )


def receipt_answer(receipt: Receipt, grant: Grant, allowed: frozenset[str]) -> Answer:
    """The stored outcome, seen through today's masks."""
    if receipt.state is not State.SUCCEEDED:
        return Answer(False, receipt.error)
    value = msgspec.json.decode(receipt.value)
    if grant.masks:
        value = mask(value, grant.tool.data, allowed)
    return value_answer(value)
