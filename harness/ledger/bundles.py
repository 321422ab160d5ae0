"""Rows of waiting: bundles, their calls, votes and bounded grants, each move inside one transaction.

Not the judge of a signature or of a document's form: what comes here was verified by the approvals room.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from harness.core.budget import Amount
from harness.core.bundle import Ask, Bundle, BundleState, CallDecision, Decided, GrantRow, Taken, WaitState
from harness.core.call import Json
from harness.core.canonical import canonical
from harness.core.ports import Entry
from harness.ledger.tables import SQLValue

__all__ = [
    "GRANT_PREFIX",
    "Writes",
    "by_id",
    "by_reference",
    "consume",
    "decide",
    "expire",
    "insert",
    "insert_grant",
    "listed",
    "live_grants",
    "withdraw",
]

GRANT_PREFIX = "grant:"
"""An approval id that starts so names a bounded grant."""


class Writes(Protocol):
    """What a move here needs of the transaction that carries it."""

    now: float
    """The later of now and the high-water mark, seconds since the epoch."""

    def one(self, sql: str, values: Sequence[SQLValue]) -> tuple | None:  # type: ignore[type-arg]  # a row as it is
        """The first row, or None."""

    def rows(self, sql: str, values: Sequence[SQLValue]) -> list[tuple]:  # type: ignore[type-arg]  # rows as they are
        """All rows."""

    def change(self, sql: str, values: Sequence[SQLValue]) -> int:
        """The number of rows that a statement changed."""

    def attempt_of(self, run: str) -> int:
        """The attempt that owns a run now."""

    def write(self, entries: Sequence[Entry], used: Mapping[str, Amount] | None = None) -> None:
        """Journal lines with their audit lines."""


Query = Callable[[str, Sequence[SQLValue]], list[tuple]]  # type: ignore[type-arg]  # rows as the file has them

_BUNDLE = (
    "SELECT id, reference, run, lineage, iteration, attempt, kind, created_at, expires_at, document, state, "
    "decided_at, decided_by, decision FROM bundles"
)
_ASKS = (
    "SELECT id, call, origin, task, tool, content, occurrence, digest, document, state FROM asks "
    "WHERE bundle = ? ORDER BY place"
)
_GRANTS = "SELECT id, run, tool, calls, used, condition, until, approver, created_at FROM grants"


# --- reading -----------------------------------------------------------------------------------------------


def by_reference(query: Query, reference: str) -> Bundle | None:
    """A bundle by its public reference."""
    return _first(query, query(f"{_BUNDLE} WHERE reference = ?", (reference,)))


def by_id(query: Query, id_: str) -> Bundle | None:
    """A bundle by its unguessable id."""
    return _first(query, query(f"{_BUNDLE} WHERE id = ?", (id_,)))


def listed(query: Query, run: str, state: BundleState | None) -> list[Bundle]:
    """Bundles of a run (`""`: of all) in a state (None: in any), oldest first."""
    rows = query(
        f"{_BUNDLE} WHERE (? = '' OR run = ?) AND (? = '' OR state = ?) ORDER BY created_at, reference",
        (run, run, state or "", state or ""),
    )
    return [_bundle(query, row) for row in rows]


def live_grants(query: Query, run: str, tool: str, now: float) -> list[GrantRow]:
    """Grants with calls and time left."""
    rows = query(
        f"{_GRANTS} WHERE run = ? AND tool = ? AND used < calls AND until > ? ORDER BY created_at, id", (run, tool, now)
    )
    return [GrantRow(*row) for row in rows]


def _first(query: Query, rows: list[tuple]) -> Bundle | None:  # type: ignore[type-arg]  # rows as the file has them
    return _bundle(query, rows[0]) if rows else None


def _bundle(query: Query, row: tuple) -> Bundle:  # type: ignore[type-arg]  # a row as the file has it
    asks = tuple(replace(Ask(*ask[:9]), state=WaitState(ask[9])) for ask in query(_ASKS, (row[0],)))
    id_, reference, run, lineage, iteration, attempt, kind, created_at, expires_at = row[:9]
    document, state, decided_at, decided_by, decision = row[9:]
    return Bundle(
        id_,
        reference,
        run,
        lineage,
        iteration,
        attempt,
        kind,
        created_at,
        expires_at,
        asks,
        document,
        BundleState(state),
        decided_at,
        decided_by,
        decision,
    )


# --- writing -----------------------------------------------------------------------------------------------


def insert(tx: Writes, bundle: Bundle) -> None:
    """A new bundle with its calls."""
    if not bundle.asks:
        raise ValueError("a bundle holds at least one call")
    tx.change(
        "INSERT INTO bundles VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, '', x'')",
        (
            bundle.id,
            bundle.reference,
            bundle.run,
            bundle.lineage,
            bundle.iteration,
            bundle.attempt,
            bundle.kind,
            bundle.created_at,
            bundle.expires_at,
            bundle.document,
            bundle.state.value,
        ),
    )
    for place, ask in enumerate(bundle.asks):
        tx.change(
            "INSERT INTO asks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                ask.id,
                bundle.id,
                place,
                bundle.run,
                bundle.lineage,
                ask.call,
                ask.origin,
                ask.task,
                ask.tool,
                ask.content,
                ask.occurrence,
                ask.digest,
                ask.document,
                ask.state.value,
            ),
        )


def insert_grant(tx: Writes, grant: GrantRow) -> None:
    """A new bounded grant."""
    tx.change(
        "INSERT INTO grants VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            grant.id,
            grant.run,
            grant.tool,
            grant.calls,
            grant.used,
            grant.condition,
            grant.until,
            grant.by,
            grant.created_at,
        ),
    )


def consume(tx: Writes, approval: str, entry: Entry) -> bool:
    """Use an approval for the call of `entry`, once; False where it does not bind exactly this call."""
    if approval.startswith(GRANT_PREFIX):
        return bool(
            tx.change(
                "UPDATE grants SET used = used + 1 "
                "WHERE id = ? AND run = ? AND tool = ? AND used < calls AND until > ?",
                (approval, entry.run, entry.tool, tx.now),
            )
        )
    return bool(
        tx.change(
            "UPDATE asks SET state = 'used' WHERE id = ? AND state = 'approved' AND run = ? AND lineage = ? "
            "AND tool = ? AND occurrence = ? AND digest = ?",
            (approval, entry.run, entry.lineage, entry.tool, entry.occurrence, entry.digest),
        )
    )


def decide(tx: Writes, decided: Decided) -> Taken:
    """Take a decision: the first valid one closes the bundle, later ones change nothing."""
    bundle = by_id(tx.rows, decided.bundle)
    if bundle is None:
        return Taken.UNKNOWN
    if bundle.state is not BundleState.OPEN:
        return Taken.CLOSED
    if tx.now >= bundle.expires_at:
        _close(tx, bundle, BundleState.EXPIRED, WaitState.EXPIRED, "time")
        return Taken.EXPIRED
    if decided.all_rejected:
        _record(tx, bundle, decided, dict.fromkeys((ask.id for ask in bundle.asks), False))
        return Taken.TAKEN
    if not _matches(bundle, decided.calls):
        return Taken.MISMATCHED
    return _vote(tx, bundle, decided)


def expire(tx: Writes, run: str) -> list[str]:
    """Close open bundles that are past their time; their references."""
    late = [found for found in listed(tx.rows, run, BundleState.OPEN) if tx.now >= found.expires_at]
    for bundle in late:
        _close(tx, bundle, BundleState.EXPIRED, WaitState.EXPIRED, "time")
    return [bundle.reference for bundle in late]


def withdraw(tx: Writes, run: str, by: str) -> list[str]:
    """Close the open bundles of a run; their references."""
    open_ = listed(tx.rows, run, BundleState.OPEN)
    for bundle in open_:
        _close(tx, bundle, BundleState.WITHDRAWN, WaitState.WITHDRAWN, by)
    return [bundle.reference for bundle in open_]


def _matches(bundle: Bundle, calls: Sequence[CallDecision]) -> bool:
    wanted = {ask.id: ask.digest for ask in bundle.asks}
    return len(calls) == len(wanted) and {call.ask: call.digest for call in calls} == wanted


def _vote(tx: Writes, bundle: Bundle, decided: Decided) -> Taken:
    """Count one approver's word; one rejection rejects a call, `approvals_needed` approvals approve it."""
    if tx.one("SELECT 1 FROM votes WHERE bundle = ? AND approver = ?", (bundle.id, decided.by)) is not None:
        return Taken.CLOSED
    for call in decided.calls:
        tx.change(
            "INSERT INTO votes VALUES (?, ?, ?, ?, ?, ?, ?)",
            (bundle.id, decided.by, call.ask, int(call.approved), tx.now, decided.source, decided.document),
        )
    needed = decided.approvals_needed or {}
    result: dict[str, bool] = {}
    for ask in bundle.asks:
        votes = [
            row[0] for row in tx.rows("SELECT approved FROM votes WHERE bundle = ? AND ask = ?", (bundle.id, ask.id))
        ]
        if not all(votes):
            result[ask.id] = False
        elif len(votes) >= needed.get(ask.id, 1):
            result[ask.id] = True
    if len(result) == len(bundle.asks):
        _record(tx, bundle, decided, result)
        return Taken.TAKEN
    _note(tx, bundle, "decision", {**_who(bundle, decided), "outcome": Taken.COUNTED.value})
    return Taken.COUNTED


def _record(tx: Writes, bundle: Bundle, decided: Decided, result: dict[str, bool]) -> None:
    state = BundleState.REJECTED if decided.all_rejected else BundleState.DECIDED
    tx.change(
        "UPDATE bundles SET state = ?, decided_at = ?, decided_by = ?, decision = ? WHERE id = ?",
        (state.value, tx.now, decided.by, decided.document, bundle.id),
    )
    for ask in bundle.asks:
        one = WaitState.APPROVED if result[ask.id] else WaitState.REJECTED
        tx.change("UPDATE asks SET state = ? WHERE id = ?", (one.value, ask.id))
    calls: dict[str, Json] = {ask.call: result[ask.id] for ask in bundle.asks}
    _note(
        tx,
        bundle,
        "decision",
        {**_who(bundle, decided), **_count(result.values()), "outcome": state.value, "of": calls},
    )


def _who(bundle: Bundle, decided: Decided) -> dict[str, Json]:
    return {"reference": bundle.reference, "by": decided.by, "source": decided.source}


def _count(result: Iterable[bool]) -> dict[str, Json]:
    approved = list(result)
    return {"approved": sum(approved), "rejected": len(approved) - sum(approved)}


def _close(tx: Writes, bundle: Bundle, state: BundleState, each: WaitState, by: str) -> None:
    tx.change(
        "UPDATE bundles SET state = ?, decided_at = ?, decided_by = ? WHERE id = ?",
        (state.value, tx.now, by, bundle.id),
    )
    tx.change("UPDATE asks SET state = ? WHERE bundle = ?", (each.value, bundle.id))
    _note(tx, bundle, "decision", {"reference": bundle.reference, "by": by, "outcome": state.value})


def _note(tx: Writes, bundle: Bundle, kind: str, detail: dict[str, Json]) -> None:
    """A line in the run's journal, under the attempt that owns the run now."""
    tx.write(
        (
            replace(
                _BLANK,
                run=bundle.run,
                lineage=bundle.lineage,
                iteration=bundle.iteration,
                attempt=tx.attempt_of(bundle.run),
                kind=kind,
                at=tx.now,
                data=canonical(detail),
            ),
        )
    )


_BLANK = Entry("", "", 0, 0, "", "", "", "", "", 0, "", None, None, 0.0)
