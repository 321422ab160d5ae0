"""The interfaces at which rooms meet: few methods, no logic.

The corridor (`harness.run`) is handed real parts behind these; tests hand it fakes that pass the same batteries.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from harness.core.budget import Amount
from harness.core.call import Answer
from harness.core.state import Event, State
from harness.core.verdict import Verdict

__all__ = [
    "Backend",
    "Box",
    "BoxExit",
    "BoxUsage",
    "Entry",
    "ExitKind",
    "Fence",
    "KeyTaken",
    "Outcome",
    "Receipt",
    "ReceiptKey",
    "Reservation",
    "RunRow",
    "Store",
]


# --- box ---------------------------------------------------------------------------------------------------


class ExitKind(StrEnum):
    """How a box ended, as the host saw it."""

    EXITED = "exited"
    OUT_OF_MEMORY = "out_of_memory"
    KILLED_BY_US = "killed_by_us"
    KILLED_BY_OTHERS = "killed_by_others"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class BoxExit:
    """The end of a box."""

    kind: ExitKind
    detail: str = ""
    """One sentence, for people: signal, exit status, counters."""


@dataclass(frozen=True, slots=True)
class BoxUsage:
    """What a box has used so far; a number that cannot be measured is None, never 0."""

    cpu_seconds: float | None
    memory_mb: float | None
    """Highest seen, in MiB."""
    pids: int | None
    """Highest number of processes and threads seen."""


class Box(Protocol):
    """A live, confined process tree that waits for one snippet."""

    @property
    def id(self) -> str:
        """Name for logs; unique on this host."""

    @property
    def channel(self) -> Any:
        """The connected `socket.socket` (stream, non-blocking) to the runner, nothing read from it yet."""

    async def verify(self) -> None:
        """Read the confinement back from /proc. Raises EnvironmentUnavailable where one line does not hold."""

    def usage(self) -> BoxUsage:
        """A reading now; cheap enough for every 50 ms."""

    async def kill(self) -> None:
        """End the whole tree from outside, now. Idempotent."""

    async def freeze(self) -> None:
        """Stop the tree in place, using no cpu."""

    async def thaw(self) -> None:
        """Undo `freeze`."""

    async def close(self) -> BoxExit:
        """Kill what is left, collect the exit, remove every trace (socket, directory, cgroup, container)."""


class Backend(Protocol):
    """A way of making boxes."""

    @property
    def name(self) -> str:
        """`docker` or `bubblewrap`."""

    async def start(self, spec: Any) -> Box:
        """A box that has confined itself and is about to say hello.

        `spec` is a `harness.sandbox.spec.SandboxSpec`.
        Raises EnvironmentUnavailable where it cannot be made or a limit in `spec` cannot be held.
        """

    async def close(self) -> None:
        """Remove everything that this backend made."""

    def kill_now(self) -> None:
        """As `close`, without an event loop, from a signal's handler: for a process that ends in the next moment."""


# --- executor ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    """What executing a call came to; `event` moves the call."""

    event: Event
    value: Any = None
    """The tool's result in JSON form (RETURN_* only)."""
    error_type: str = ""
    """Class name of a raise, or `Timeout`."""
    message: str = ""
    """For the snippet: only the text of declared errors, scrubbed; else a sentence of the harness."""
    hint: str = ""
    cost: Mapping[str, Amount] | None = None
    """Use that the tool reported: `tokens`, `cost_usd`."""
    retries: int = 0
    """Repeats that were made, each already charged."""
    settled: bool = True
    """False where the tool's thread or process may still be running."""


# --- ledger --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal: a transition of a call, or a fact of the run (`call` empty, `kind` says which)."""

    run: str
    lineage: str
    iteration: int
    attempt: int
    origin: str
    task: str
    call: str
    tool: str
    content: str
    occurrence: int
    kind: str
    """`call`, or a run fact: `run_created`, `taken_over`, `iteration_started`, `iteration_ended`, `clock`, `bundle`,
    `decision`, `grant`, `check`, `charge`, `escalation`, `ended`, `delivery`, `erased`."""
    event: Event | None
    state: State | None
    """After the event."""
    at: float
    data: bytes = b""
    """Canonical JSON: arguments on a call's first entry, details of a run fact."""
    verdict: Verdict | None = None
    answer: Answer | None = None
    """The exact answer given, on the entry that released it."""
    released: int = 0
    """Order of release of the answer within the iteration, from 1; 0 where none was released."""
    cost: bytes = b""
    """Canonical JSON of what the call used."""
    digest: str = ""
    key: str = ""
    seq: int = 0
    """Position within the run, given by the store, from 1."""


@dataclass(frozen=True, slots=True)
class ReceiptKey:
    """Idempotency keys live inside tool and holder (principal, with its tenant)."""

    tool: str
    holder: str
    key: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """The stored outcome of a call that had an effect."""

    key: ReceiptKey
    arguments: str
    """SHA-256 hex of the canonical arguments: the same key with others is refused."""
    run: str
    call: str
    state: State
    value: bytes = b""
    """The tool's full result as canonical JSON, before masks; empty until the outcome is known."""
    error: bytes = b""
    """The wire's error object as canonical JSON, for FAILED."""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Reservation:
    """What one effect takes in one transaction, before it is dispatched."""

    entry: Entry
    """The DISPATCH entry (durable before the act)."""
    receipt: Receipt | None = None
    """The key to take, in state DISPATCHED; None where the call has no key."""
    approval: str = ""
    """Id of the approval to consume; empty where none is needed."""
    used: Mapping[str, Amount] | None = None
    """The budget's snapshot, reservation included."""
    again: bool = False
    """True where a receipt that says UNKNOWN may be taken again: `natural`, or keyed and declared safe."""


@dataclass(frozen=True, slots=True)
class KeyTaken:
    """The reservation lost: another call holds the key."""

    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Fence:
    """The reservation lost: a later attempt owns the run, or the approval was already used."""

    why: str


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as the store lists it."""

    id: str
    contract: str
    version: int
    digest: str
    principal: str
    created_at: float
    status: str
    """`running`, `paused`, `ended`."""
    attempt: int
    owner: str
    """Host, process id and start time of the process that runs it; empty where none does."""
    document: bytes = b""
    """Canonical JSON: contract, policy and host digests, inputs, snippets by iteration, claims, pins."""
    ending: bytes = b""
    """Canonical JSON of the run's result document, once ended or paused."""
    caller_key: str = ""
    """The caller's own key: a second submission with it is the same run."""


class Store(Protocol):
    """The durable record. Every method is one transaction; none returns before it is on disk unless it says so."""

    def create_run(self, row: RunRow, entries: Sequence[Entry]) -> RunRow:
        """Store a new run, or return the one that holds the same (principal, caller_key)."""

    def note_run(self, row: RunRow, entries: Sequence[Entry]) -> None:
        """Hand over a new run, of an id that was made for it and without a caller's key; rides on the next commit."""

    def run(self, run: str) -> RunRow | None:
        """One run."""

    def attempt(self, run: str) -> int:
        """The attempt that owns a run now; 0 where its row is not on disk yet."""

    def runs(self, limit: int = 100) -> Sequence[RunRow]:
        """The newest runs first."""

    def take_over(self, run: str, owner: str, expected_attempt: int) -> int:
        """Fence earlier attempts: the new attempt number. Raises StoreError where another was faster."""

    def finish(self, row: RunRow, entries: Sequence[Entry]) -> None:
        """Set status and ending, with the last entries."""

    def note_finish(self, row: RunRow, entries: Sequence[Entry]) -> None:
        """As `finish`; rides on the next commit."""

    def append(self, entries: Sequence[Entry], used: Mapping[str, Amount] | None = None) -> None:
        """Add journal lines, with the budget's snapshot. Raises StoreError from a fenced attempt."""

    def note(self, entry: Entry, used: Mapping[str, Amount] | None = None) -> None:
        """Hand over a line that rides on the next commit, see `flush`. Raises StoreError from a fenced attempt."""

    def is_fenced(self, run: str, attempt: int) -> bool:
        """True once a line of this attempt was refused because a later one owns the run."""

    @property
    def pending(self) -> int:
        """Lines handed over and not yet durable, of all runs of this process."""

    def reserve(self, reservation: Reservation) -> KeyTaken | Fence | None:
        """Take key, approval and journal line together; None where it was taken."""

    def reserve_all(self, reservations: Sequence[Reservation]) -> Sequence[KeyTaken | Fence | None]:
        """Several reservations in one commit, each for itself: one that loses does not harm the others."""

    def settle(self, entry: Entry, receipt: Receipt | None, used: Mapping[str, Amount] | None = None) -> None:
        """Record an outcome, and the receipt with it. May ride on the next commit; see `flush`."""

    def flush(self) -> None:
        """Make everything handed over so far durable."""

    def flush_soon(self) -> "Future[None]":
        """As `flush`, in a thread of the store: the commit that begins next, shared with all who ask meanwhile."""

    def receipt(self, key: ReceiptKey) -> Receipt | None:
        """The outcome under a key; includes what was handed over and is not yet on disk."""

    def entries(self, run: str) -> Iterable[Entry]:
        """The journal of a run in order."""

    def used(self, run: str) -> Mapping[str, Amount]:
        """The last stored budget snapshot of a run."""

    def audit_head(self) -> str:
        """The end of the audit chain, for reports and anchors."""

    def close(self) -> None:
        """Flush and let go."""
