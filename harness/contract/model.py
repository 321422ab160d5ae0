"""The contract: the versioned, digested document that binds a run. The five bindings, and the checks around them.

Build one from a file or a mapping with `load_contract`, or from these models in Python.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from harness.contract.amounts import Positive
from harness.contract.sections import (
    ApprovalTerms,
    BudgetTerms,
    Checks,
    Completion,
    Destination,
    Escalation,
    Name,
    NonGoal,
    Output,
    Owner,
    Permissions,
    Sandbox,
    Text,
    Whole,
)
from harness.core.call import Json
from harness.core.canonical import digest

__all__ = ["BINDINGS", "Contract", "contract_digest"]

BINDINGS: Mapping[str, str] = {
    "output": "what must come back",
    "budget": "how much it may spend",
    "permissions": "what it may touch",
    "completion": "when it stops",
    "destination": "where the result goes",
}
"""The five keys that every contract has, with the question that each answers."""


def _several(value: Any) -> Any:
    return [value] if isinstance(value, Mapping) else value


class Contract(Whole):
    """A contract as it was written: nothing filled in, nothing narrowed by a policy."""

    contract: Name
    """Its id."""
    version: Positive
    """Rises with each change; one version has one digest."""
    goal: Text = ""
    owner: Owner | None = None
    inputs: Mapping[str, Any] | None = None
    """JSON Schema of what the caller passes; None where nothing may be passed."""
    params: Mapping[str, Json] = Field(default_factory=dict)
    """Thresholds and set-up as data."""
    non_goals: tuple[NonGoal, ...] = ()
    models: tuple[Text, ...] = ()
    """Names of the models whose use may be charged; none where any known one may."""
    output: Output
    budget: BudgetTerms
    permissions: Permissions
    approval: ApprovalTerms | None = None
    completion: Completion
    destination: Annotated[tuple[Destination, ...], BeforeValidator(_several), Field(min_length=1)]
    checks: Checks = Checks()
    escalate: tuple[Escalation, ...] = ()
    sandbox: Sandbox = Sandbox()


def contract_digest(contract: Contract) -> str:
    """SHA-256 hex over the canonical form. A value that equals its default counts as unstated."""
    return digest(contract.stated())
