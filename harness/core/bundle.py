"""Words of waiting for a person: the bundle, its calls, the decision, the bounded grant.

Not the rules of a decision: those live in the approvals room; the ledger keeps these rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from harness.core.ports import Entry, Store

__all__ = [
    "Ask",
    "Bundle",
    "BundleState",
    "BundleStore",
    "CallDecision",
    "Decided",
    "GrantRow",
    "Ledger",
    "Taken",
    "WaitState",
]


class BundleState(StrEnum):
    """Where a bundle stands; only `open` can be decided."""

    OPEN = "open"
    DECIDED = "decided"
    REJECTED = "rejected"
    """A malformed document of an approver named it: all its calls are rejected."""
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    """The run was cancelled, or ended, before anyone decided."""


class WaitState(StrEnum):
    """Where one call of a bundle stands."""

    PENDING = "pending"
    APPROVED = "approved"
    """Approved and not used yet: a reservation consumes it."""
    USED = "used"
    REJECTED = "rejected"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Ask:
    """One call of a bundle, as it is put to a person."""

    id: str
    """Id of the approval; what a reservation consumes."""
    call: str
    """Call id within the run."""
    origin: str
    task: str
    tool: str
    content: str
    """SHA-256 hex, what a replay matches by."""
    occurrence: int
    digest: str
    """SHA-256 hex that the approval binds."""
    document: bytes = b""
    """Canonical JSON: preview, raw arguments, effect, age of the reads behind it."""
    state: WaitState = WaitState.PENDING


@dataclass(frozen=True, slots=True)
class Bundle:
    """The gated calls of one turn, put to a person as one decision."""

    id: str
    """Unguessable; the agent never sees it."""
    reference: str
    """Public; what the agent and the announcements get."""
    run: str
    lineage: str
    iteration: int
    attempt: int
    kind: str
    """`approval`, `question` (an escalation) or `outcome` (did this call happen?)."""
    created_at: float
    """Seconds since the epoch."""
    expires_at: float
    """Seconds since the epoch; judged against the later of now and the store's high-water mark."""
    asks: tuple[Ask, ...]
    """In the order of submission; at least one."""
    document: bytes = b""
    """Canonical JSON: what else the approver is shown."""
    state: BundleState = BundleState.OPEN
    decided_at: float = 0.0
    decided_by: str = ""
    """Name of the approver, or of what closed it."""
    decision: bytes = b""
    """The signed document that decided it, as it came."""


@dataclass(frozen=True, slots=True)
class CallDecision:
    """What was decided about one call."""

    ask: str
    """Id of the approval."""
    approved: bool
    digest: str
    """The digest that the approver saw."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision that was found valid and wants to be taken."""

    bundle: str
    """The unguessable id."""
    calls: tuple[CallDecision, ...]
    by: str
    """Name of the approver in the policy."""
    source: str
    """Where from: `cli`, `http`, `python`."""
    document: bytes
    """The signed document, as it came."""
    all_rejected: bool = False
    """An approver's malformed document: closes the bundle as rejected, whatever `calls` holds."""
    approvals_needed: Mapping[str, int] | None = None
    """k of n: how many different approvers each ask (by id) needs; 1 where it is not named."""


class Taken(StrEnum):
    """What became of a decision: it is taken once, by whoever comes first."""

    TAKEN = "taken"
    COUNTED = "counted"
    """Stored as one of several approvals that the bundle needs."""
    UNKNOWN = "unknown"
    CLOSED = "closed"
    """Decided, rejected or withdrawn before."""
    EXPIRED = "expired"
    MISMATCHED = "mismatched"
    """Wrong set of calls or a wrong digest: nothing changed."""


@dataclass(frozen=True, slots=True)
class GrantRow:
    """A bounded grant: this tool, this run, at most N calls, while a condition holds, until then."""

    id: str
    run: str
    tool: str
    calls: int
    """At most so many."""
    used: int
    condition: str
    """CEL over the arguments; empty for none. Judged by the enforcer, never by the store."""
    until: float
    """Seconds since the epoch."""
    by: str
    created_at: float


class BundleStore(Protocol):
    """What waiting for a person asks of the store. Each method is one transaction, durable on return."""

    def store_bundle(self, bundle: Bundle, entries: Sequence[Entry]) -> None:
        """Store a bundle with its journal lines, before anyone hears of it."""

    def bundle(self, reference: str) -> Bundle | None:
        """A bundle by its public reference."""

    def bundle_by_id(self, id_: str) -> Bundle | None:
        """A bundle by its unguessable id."""

    def list_bundles(self, run: str = "", state: BundleState | None = None) -> Sequence[Bundle]:
        """Bundles of a run (`""`: of all) in a state (None: in any), oldest first."""

    def decide(self, decided: Decided) -> Taken:
        """Take a decision, once, by whoever comes first."""

    def expire(self, run: str = "") -> Sequence[str]:
        """Close what is past its time; the references of the bundles that expired now."""

    def withdraw(self, run: str, by: str) -> Sequence[str]:
        """Close the open bundles of a run that was cancelled or ended; their references."""

    def add_grant(self, grant: GrantRow, entries: Sequence[Entry]) -> None:
        """Store a bounded grant with its journal lines."""

    def grants(self, run: str, tool: str) -> Sequence[GrantRow]:
        """Grants that could still cover a call of `tool`, oldest first."""

    def judged_now(self) -> float:
        """The later of now and the high-water mark, seconds since the epoch."""


class Ledger(Store, BundleStore, Protocol):
    """The whole store: runs, journal and receipts, and waiting for a person."""
