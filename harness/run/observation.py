"""What an agent sees after an iteration: structured, bounded, nothing of the host's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.contract.expression import Judged
from harness.core.budget import Usage
from harness.core.call import Json
from harness.core.ending import Ending
from harness.core.errors import Fault
from harness.core.verdict import Decision
from harness.report import CallLine, IterationLine, amount_json

__all__ = ["Observation"]


@dataclass(frozen=True, slots=True)
class Observation:
    """The answer to one proposed snippet."""

    iteration: IterationLine | None
    """None where the run had ended before the snippet could run."""
    calls: Sequence[CallLine]
    budget: Mapping[str, Usage]
    ending: Ending | None
    """Set where no further iteration can start."""
    checks: Sequence[Mapping[str, Json]] = ()
    """Every check of the contract as it stands, with its evidence."""
    success: Judged | None = None
    """What the success predicate said of this iteration's proposal; None where it was not asked."""
    refused: Sequence[Fault] = ()
    """Why the snippet was not run at all."""

    @property
    def output(self) -> Json:
        """What the snippet returned; None where it returned nothing."""
        return self.iteration.output if self.iteration is not None else None

    def to_json(self) -> dict[str, Json]:
        """The observation as JSON, for an agent's transcript."""
        return {
            "iteration": self.iteration.to_json() if self.iteration is not None else None,
            "calls": [line.to_json() for line in self.calls],
            "committed": [
                line.id for line in self.calls if line.effect != "read" and line.state in ("SUCCEEDED", "PARTIAL")
            ],
            "refusals": [
                {
                    "call": line.id,
                    "tool": line.tool,
                    "code": line.code,
                    "reasons": list(line.reasons),
                    "hint": line.hint,
                }
                for line in self.calls
                if line.decision == Decision.DENY.value
            ],
            "refused": [str(fault) for fault in self.refused],
            "checks": [
                {"id": check["id"], "kind": check["kind"], "status": check["status"], "detail": check["detail"]}
                for check in self.checks
            ],
            "success": None if self.success is None else {"holds": self.success.value, "error": self.success.error},
            "budget_left": {
                name: amount_json(max(usage.limit - usage.used - usage.reserved, 0))  # type: ignore[operator, arg-type]
                for name, usage in self.budget.items()
                if usage.limit is not None
            },
            "ended": None
            if self.ending is None
            else {
                "outcome": self.ending.outcome.value,
                "reason": self.ending.reason.value,
                "detail": self.ending.detail,
            },
        }
