"""How a run ends: success and stopping as two facts, and the one table from reason to exit code."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["EXIT_CODES", "Ending", "Outcome", "ReasonCode", "exit_code"]


class Outcome(StrEnum):
    """Whether the result counts. Only `accepted` with `contract_passed` delivers."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNRESOLVED = "unresolved"


class ReasonCode(StrEnum):
    """Why the run stopped."""

    CONTRACT_PASSED = "contract_passed"
    CONTRACT_FAILED = "contract_failed"
    OUTPUT_INVALID = "output_invalid"
    OUTPUT_MISSING = "output_missing"
    BUDGET_EXHAUSTED = "budget_exhausted"
    ITERATION_LIMIT = "iteration_limit"
    STUCK = "stuck"
    STOP_CONDITION = "stop_condition"
    PREDICATE_ERROR = "predicate_error"
    PAUSED = "paused"
    ESCALATED = "escalated"
    DIVERGED = "diverged"
    STALE = "stale"
    CANCELLED = "cancelled"
    POLICY_REFUSED = "policy_refused"
    SNIPPET_FAILED = "snippet_failed"
    BOX_LOST = "box_lost"
    KILLED = "killed"
    ENVIRONMENT_UNAVAILABLE = "environment_unavailable"
    INTERNAL = "internal"


EXIT_CODES: dict[ReasonCode, int] = {
    ReasonCode.CONTRACT_PASSED: 0,
    ReasonCode.INTERNAL: 1,
    ReasonCode.POLICY_REFUSED: 3,
    ReasonCode.CONTRACT_FAILED: 4,
    ReasonCode.OUTPUT_INVALID: 4,
    ReasonCode.OUTPUT_MISSING: 4,
    ReasonCode.SNIPPET_FAILED: 4,
    ReasonCode.ITERATION_LIMIT: 4,
    ReasonCode.STUCK: 4,
    ReasonCode.PREDICATE_ERROR: 4,
    ReasonCode.DIVERGED: 4,
    ReasonCode.STALE: 4,
    ReasonCode.BOX_LOST: 4,
    ReasonCode.KILLED: 4,
    ReasonCode.BUDGET_EXHAUSTED: 5,
    ReasonCode.PAUSED: 6,
    ReasonCode.ESCALATED: 6,
    ReasonCode.ENVIRONMENT_UNAVAILABLE: 7,
    ReasonCode.CANCELLED: 8,
    ReasonCode.STOP_CONDITION: 8,
}
"""Exit 2 is usage: it never reaches a run. Exit 0 needs `accepted` as well."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The two terminal facts of a run."""

    outcome: Outcome
    reason: ReasonCode
    detail: str = ""
    """One sentence; for a budget the dimension, the limit and the amount."""
    data: tuple[tuple[str, str], ...] = ()
    """Machine-readable parts of the detail, for example `(("dimension", "calls"),)`."""

    def __post_init__(self) -> None:
        if (self.outcome is Outcome.ACCEPTED) != (self.reason is ReasonCode.CONTRACT_PASSED):
            raise ValueError("`accepted` and `contract_passed` only come together")


def exit_code(ending: Ending) -> int:
    """The process exit status of a run that ended so."""
    return EXIT_CODES[ending.reason]
