"""What a run holds while it lives: its calls, its iterations, its counters."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field

from harness.core.budget import Amount
from harness.core.call import Answer, Call, Json, Provenance
from harness.core.ending import Ending
from harness.core.ports import BoxExit, BoxUsage
from harness.core.ports import Outcome as ToolOutcome
from harness.core.verdict import Verdict

__all__ = ["CallRecord", "IterationRecord"]


@dataclass(slots=True)
class CallRecord:
    """One call on its way: the frozen record as it stands now, and what became of it."""

    call: Call
    wire_id: int
    """The number that the box gave; the answer goes back under it."""
    verdict: Verdict | None = None
    text: bytes = b""
    """Its canonical arguments, once they were found to fit."""
    request: Mapping[str, Amount] = field(default_factory=dict)
    """What is reserved for it."""
    cost: dict[str, Amount] = field(default_factory=dict)
    """What it came to."""
    provenance: Provenance = Provenance.CODE
    answer: Answer | None = None
    """The exact answer, once it was given."""
    released: int = 0
    """Order of release within the iteration, from 1."""
    ended_at: float = 0.0
    """Seconds since the epoch; 0 while it is open."""
    durable: bool = False
    """True once a journal line stands before the act (effects)."""
    guarded: bool = False
    """True once the invariants around it held: it has its turn."""
    pending: ToolOutcome | Awaitable[ToolOutcome] | None = None
    """Of a guarded call: what its tool comes to."""


@dataclass(slots=True)
class IterationRecord:
    """One snippet executed in one box."""

    number: int
    """1-based."""
    snippet: str
    """SHA-256 hex of the normalised source."""
    lineage: str
    started_at: float
    ended_at: float = 0.0
    returned: bool = False
    """True where the snippet proposed a result (something other than nothing)."""
    output: Json = None
    failure: dict[str, Json] | None = None
    """`type`, `message`, `traceback`, `line` of an exception that left the snippet."""
    printed: str = ""
    """What it printed, head and tail kept."""
    printed_bytes: int = 0
    ending: Ending | None = None
    """Set where the iteration did not end by itself: a limit, a pause, a broken wire, a lost box."""
    exit: BoxExit | None = None
    """How its box ended; None where its last word says all there is to know."""
    usage: BoxUsage | None = None
    calls: list[CallRecord] = field(default_factory=list)
