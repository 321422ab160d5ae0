"""The contract: the versioned, digested document that binds a run. The five bindings, and the checks around them.

Build one from a file or a mapping with `load_contract`, or from these models in Python.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PrivateAttr

from harness.contract.amounts import Positive
from harness.contract.document import NO_PLACES, Places
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
    Section,
    Text,
)
from harness.core.call import Json
from harness.core.canonical import digest
from harness.core.errors import Place

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


class Contract(Section):
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

    _places: Places = PrivateAttr(default=NO_PLACES)

    def place(self, key: str) -> Place:
        """Where a key stands: file and line where the contract came from a file."""
        return self._places.of(key)

    def with_places(self, places: Places) -> "Contract":
        """The same contract, which now knows where its keys stand."""
        self._places = places
        return self


def contract_digest(contract: Contract) -> str:
    """SHA-256 hex over the canonical form. A value that equals its default counts as unstated."""
    return digest(contract.stated())
