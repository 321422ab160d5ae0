"""Success and stopping as two questions: what the predicates see, and what their answers and errors mean.

An expression that errors is never true. Where it is a stop condition, the error itself stops the run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from harness.completion.terminal import Judged
from harness.core.call import Json
from harness.core.ending import Ending, Outcome, ReasonCode

__all__ = ["Predicate", "PredicateFacts", "StopRule", "first_stop"]


class Predicate(Protocol):
    """A compiled expression: `harness.contract.expression.Predicate` is one."""

    def evaluate(self, facts: Mapping[str, Json]) -> Judged:
        """Its value over `facts`; never raises."""


@dataclass(frozen=True, slots=True)
class PredicateFacts:
    """What success and stop predicates may read."""

    output: Json
    """The last proposal; None where there is none."""
    inputs: Mapping[str, Json]
    params: Mapping[str, Json]
    run: str
    iteration: int
    """1-based number of the last iteration; 0 before the first."""
    principal: Mapping[str, Json]
    checks: Mapping[str, Json]
    """Status by check id."""
    checks_passed: bool
    budget: Mapping[str, Json]
    """What is left, by dimension."""

    def to_cel(self) -> dict[str, Json]:
        """The variables by name. `checks.passed` is a reserved id, so no check hides it."""
        return {
            "output": self.output,
            "inputs": dict(self.inputs),
            "params": dict(self.params),
            "run": {"id": self.run, "iteration": self.iteration},
            "principal": dict(self.principal),
            "checks": {**self.checks, "passed": self.checks_passed},
            "budget": dict(self.budget),
        }


@dataclass(frozen=True, slots=True)
class StopRule:
    """One stop condition of a contract."""

    text: str
    """As the contract has it, for the reason."""
    predicate: Predicate


def first_stop(rules: Sequence[StopRule], facts: Mapping[str, Json]) -> Ending | None:
    """The ending that the first stop condition makes, in the contract's order; None where none does."""
    for rule in rules:
        judged = rule.predicate.evaluate(facts)
        if judged.error:
            detail = f"the stop condition `{rule.text}` failed: {' '.join(judged.error.split())}"
            return Ending(Outcome.REJECTED, ReasonCode.PREDICATE_ERROR, detail, (("when", rule.text),))
        if judged.value is True:
            detail = f"the stop condition `{rule.text}` holds"
            return Ending(Outcome.REJECTED, ReasonCode.STOP_CONDITION, detail, (("when", rule.text),))
    return None
