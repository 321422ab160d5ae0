"""What a run may use: one grant for each listed tool, with what the contract binds and limits.

Plain values: binding makes them (`effective`), enforcement reads them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from harness.contract.tool import ToolContract
from harness.core.budget import Amount
from harness.core.call import Approval, Json

__all__ = ["Constraint", "ConstraintKind", "DestinationTerms", "Grant", "NotifyTerms"]


class ConstraintKind(StrEnum):
    """How a contract limits an argument; all of them are looked at on every call."""

    EQUALS = "equals"
    """This very JSON value, a list included."""
    ONE_OF = "one_of"
    UNDER = "under"
    """A path below a folder, by whole segments."""
    MAX = "max"
    MATCH = "match"
    """A pattern that the whole text fits."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """One limit of one argument, its references filled in."""

    argument: str
    kind: ConstraintKind
    value: Json
    """ONE_OF: a list. UNDER and MATCH: text. MAX: a number. EQUALS: any value."""


@dataclass(frozen=True, slots=True)
class Grant:
    """One tool as this run may use it."""

    tool: ToolContract
    bound: Mapping[str, Json]
    """Arguments that the host sets; they are gone from the signature."""
    limits: tuple[Constraint, ...]
    """All must hold."""
    calls: int | None
    """Most calls of this tool in the run; None where only the total limits them."""
    approval: Approval
    """The strictest of policy, tool and contract."""
    visible_schema: dict[str, Any]
    """The input schema without the bound arguments."""
    masks: frozenset[str]
    """Data classes of the tool's labelled fields that the contract may not see."""
    share: Mapping[str, Amount] = field(default_factory=dict)
    """Of a contract that is used as a tool: what each call takes out of the run's budget."""


@dataclass(frozen=True, slots=True)
class NotifyTerms:
    """Who hears of an ending."""

    url: str
    """References filled in, secrets still as `${secret:NAME}`."""
    kind: str
    """`webhook` or `bus`."""
    on: frozenset[str]
    """Names of outcomes and reasons."""


@dataclass(frozen=True, slots=True)
class DestinationTerms:
    """Where the accepted result of this run goes."""

    url: str
    """References filled in, secrets still as `${secret:NAME}`: the destination resolves those."""
    format: str
    """`json`, `jsonl`, `csv`, `parquet` or `row`."""
    retention_s: float | None
    """Seconds until it may be swept; None keeps it."""
    notify: tuple[NotifyTerms, ...]
