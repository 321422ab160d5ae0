"""What the enforcer says of a call: a decision with its code, its reasons and a way out."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["ALLOW", "Code", "Decision", "Verdict"]


class Decision(StrEnum):
    """The four things that can be said of a call; deny beats everything, an error never allows."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"
    REPLAY = "replay"


class Code(StrEnum):
    """Why; stable, shown to the snippet, listed in docs/errors.md."""

    OK = "ok"
    UNLISTED = "unlisted"
    BAD_ARGUMENTS = "bad_arguments"
    OUT_OF_SCOPE = "out_of_scope"
    PRECONDITION_FAILED = "precondition_failed"
    KEY_CONFLICT = "key_conflict"
    RECEIPT = "receipt"
    JOINED = "joined"
    OUTCOME_UNKNOWN = "outcome_unknown"
    BUDGET_EXHAUSTED = "budget_exhausted"
    APPROVAL_REQUIRED = "approval_required"
    APPROVAL_REJECTED = "approval_rejected"
    APPROVAL_EXPIRED = "approval_expired"
    INVARIANT_BROKEN = "invariant_broken"
    ABANDONED = "abandoned"
    CANCELLED = "cancelled"
    RUN_CLOSED = "run_closed"
    JOURNAL = "journal"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One decision about one call."""

    decision: Decision
    code: Code
    reasons: tuple[str, ...] = ()
    """Sentences, most telling first; may name limits and allowed values, never secrets."""
    hint: str = ""
    """What the snippet's author can do about it."""


ALLOW = Verdict(Decision.ALLOW, Code.OK)
