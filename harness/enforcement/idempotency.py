"""Check 5: was this operation asked for before? Keys live inside tool and principal; reads have none.

| stored under the key      | same arguments                    | other arguments |
|---------------------------|-----------------------------------|-----------------|
| nothing                   | go on                             | go on           |
| in flight in this run     | join it                           | key conflict    |
| succeeded, partial, applied but invalid | its receipt         | key conflict    |
| failed without effect     | go on: the key was not used       | key conflict    |
| ending not known          | refuse; again only where declared safe | key conflict |
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from harness.core.call import Call, Effect, Idempotency, Json
from harness.core.canonical import canonical
from harness.core.ports import Receipt, ReceiptKey
from harness.core.state import State
from harness.core.verdict import Code, Decision, Verdict
from harness.enforcement.facts import ToolFacts, View
from harness.enforcement.words import shown

__all__ = ["Finding", "arguments_digest", "check", "key_of"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of the operation."""

    verdict: Verdict | None
    """None: go on."""
    joined: str = ""
    """Id of the call in flight whose ending answers this one."""
    receipt: Receipt | None = None
    """The stored outcome that answers this one."""
    again: bool = False
    """True where a call whose ending is unknown is made once more, under its old key."""


GO_ON = Finding(None)


def key_of(tool: ToolFacts, call: Call, values: Mapping[str, Json], text: bytes) -> str:
    """The key of a call with an effect: the caller's, or one derived from lineage, tool, arguments and occurrence.

    Empty for reads, and where the tool has no key or the caller gave none. `text` is the canonical form of `values`.
    """
    if tool.effect is Effect.READ:
        return ""
    if tool.idempotency is Idempotency.KEY:
        given = values.get(tool.key_argument)
        if given is None or isinstance(given, str):
            return given or ""
        return canonical(given).decode("utf-8")
    if tool.idempotency is Idempotency.DERIVED:
        state = tool.key_prefix.copy()
        for part in (canonical(call.lineage), text, canonical(call.ordinal or call.occurrence)):
            state.update(len(part).to_bytes(8, "big"))
            state.update(part)
        return str(state.hexdigest())
    return ""


def arguments_digest(text: bytes) -> str:
    """`harness.core.canonical.digest` of arguments whose canonical form is at hand: what a receipt keeps."""
    return hashlib.sha256(len(text).to_bytes(8, "big") + text).hexdigest()


def check(tool: ToolFacts, holder: str, call: Call, text: bytes, view: View) -> Finding:
    """What to do about a call whose key and merged arguments (canonical in `text`) are set."""
    if tool.effect is Effect.READ or tool.idempotency is Idempotency.NATURAL:
        return GO_ON
    if not call.key:
        return _unkeyed(tool, call, view)
    key = ReceiptKey(tool.name, holder, call.key)
    receipt = view.receipt(key)
    flying = view.in_flight(key)
    if receipt is None:
        return _unknown(tool, flying) if flying else _other_occurrence(tool, call, view)
    if receipt.arguments != arguments_digest(text):
        return _conflict(tool, call)
    if flying:
        return Finding(Verdict(Decision.REPLAY, Code.JOINED, (f"joined call {flying}, which is under way",)), flying)
    return _stored(tool, receipt)


def _unkeyed(tool: ToolFacts, call: Call, view: View) -> Finding:
    if tool.idempotency is Idempotency.NONE:
        return _other_occurrence(tool, call, view)
    name = tool.key_argument
    return Finding(
        Verdict(
            Decision.DENY,
            Code.BAD_ARGUMENTS,
            (f"`{tool.name}` needs `{name}`: it names the operation, so that it never happens twice",),
            f"pass a text of your own as `{name}`, the same one whenever you mean the same operation",
        )
    )


def _other_occurrence(tool: ToolFacts, call: Call, view: View) -> Finding:
    """While an equal call is unknown another occurrence gets its answer, and never a new key."""
    other = view.unknown(call)
    return _unknown(tool, other) if other else GO_ON


def _stored(tool: ToolFacts, receipt: Receipt) -> Finding:
    match receipt.state:
        case State.SUCCEEDED | State.PARTIAL | State.APPLIED_INVALID:
            reason = f"answered by the receipt of call {receipt.call}"
            return Finding(Verdict(Decision.REPLAY, Code.RECEIPT, (reason,)), receipt=receipt)
        case State.FAILED:
            return GO_ON
        case State.UNKNOWN if tool.repeatable:
            return Finding(None, again=True)
        case State.UNKNOWN | State.DISPATCHED:
            return _unknown(tool, receipt.call)
    raise ValueError(f"a receipt cannot stand in state {receipt.state.value}")


def _unknown(tool: ToolFacts, other: str) -> Finding:
    return Finding(
        Verdict(
            Decision.DENY,
            Code.OUTCOME_UNKNOWN,
            (f"an equal call of `{tool.name}` ({other}) was made, and whether it took effect is not known",),
            "do not retry; read the state that it would have changed, or let a person settle it",
        )
    )


def _conflict(tool: ToolFacts, call: Call) -> Finding:
    name = f"`{tool.key_argument}`" if tool.key_argument else "the key"
    return Finding(
        Verdict(
            Decision.DENY,
            Code.KEY_CONFLICT,
            (f"{name} {shown(call.key)} of `{tool.name}` was used before with other arguments",),
            "use a new one for a new operation, or the old arguments to get the stored outcome",
        )
    )
