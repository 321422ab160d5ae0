"""The store on SQLite: journal, receipts, runs and audit in one file, one transaction for what belongs together.

The raw driver, because a call must not wait for more than the disk. Works from several processes and threads: every
write takes SQLite's write lock before it reads (BEGIN IMMEDIATE).
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from harness.core.budget import Amount
from harness.core.bundle import Bundle, BundleState, Decided, GrantRow, Taken
from harness.core.clock import Clock, SystemClock, utc_text
from harness.core.errors import StoreUnavailable
from harness.core.ports import Entry, Fence, KeyTaken, Receipt, ReceiptKey, Reservation, RunRow
from harness.ledger import bundles
from harness.ledger.anchors import Anchor, anchor_path, write_anchor
from harness.ledger.chain import Chain
from harness.ledger.commits import Commits
from harness.ledger.handed import Handed, Item, write_items
from harness.ledger.keys import key_path, load_or_create
from harness.ledger.opening import connect, explain, reader
from harness.ledger.tables import (
    ENTRY_COLUMNS,
    RECEIPT_COLUMNS,
    SELECT_RUN,
    SELECT_USED,
    SEQ_BITS,
    SQLValue,
    entry_from_row,
    receipt_from_row,
    run_from_row,
    used_from_json,
)
from harness.ledger.transaction import Known, Transaction
from harness.ledger.unsettled import UNSETTLED

__all__ = ["SqliteStore"]

T = TypeVar("T")

ANCHOR_LINES = 1000
"""Lines between two anchors: an anchor costs about one commit, so this adds a thousandth to each."""


class SqliteStore:
    """`harness.core.ports.Store` on one SQLite file.

    `path` is made with mode 0600 where it is missing, its folder with 0700; the audit's key lies beside it.
    Raises StoreUnavailable where the file is open to others, damaged, not ours or of a newer version; so does every
    method where it cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str], *, clock: Clock | None = None, key: bytes | None = None) -> None:
        self.path = Path(path)
        self._clock = clock or SystemClock()
        self._lock = threading.RLock()
        self._reading = threading.Lock()
        self._handed = Handed()
        self._commits = Commits(self.flush)
        self._db = connect(self.path, self._clock)
        self._reader = reader(self.path)
        self._chain = Chain(key if key is not None else load_or_create(key_path(self.path)))
        self._known = Known()
        self._closed = False
        self._lines = self._anchored = self._one("SELECT seq FROM head")[0]

    # --- runs ----------------------------------------------------------------------------------------------

    def create_run(self, row: RunRow, entries: Sequence[Entry]) -> RunRow:
        """Store a new run, or return the one that holds the same (principal, caller_key)."""

        def work(tx: Transaction) -> RunRow:
            if row.caller_key:
                found = tx.one(f"{SELECT_RUN} WHERE principal = ? AND caller_key = ?", (row.principal, row.caller_key))
                if found is not None:
                    return run_from_row(found)
            tx.insert_run(row)
            tx.write(entries)
            return row

        return self._write(work)

    def note_run(self, row: RunRow, entries: Sequence[Entry]) -> None:
        """Hand over a new run, of an id that was made for it and without a caller's key; rides on the next commit."""

        def work(tx: Transaction) -> None:
            tx.insert_run(row)
            tx.write(entries)

        self._hand_over_row(Item(row.id, row.attempt, work))

    def run(self, run: str) -> RunRow | None:
        """One run; None where there is none of that id."""
        self._settle_rows()
        found = self._one(f"{SELECT_RUN} WHERE id = ?", (run,))
        return None if found is None else run_from_row(found)

    def attempt(self, run: str) -> int:
        """The attempt that owns a run now; 0 where its row is not on disk yet."""
        return (self._one("SELECT attempt FROM runs WHERE id = ?", (run,)) or (0,))[0]

    def runs(self, limit: int = 100) -> Sequence[RunRow]:
        """The newest runs first."""
        self._settle_rows()
        return [run_from_row(row) for row in self._rows(f"{SELECT_RUN} ORDER BY number DESC LIMIT ?", (limit,))]

    def take_over(self, run: str, owner: str, expected_attempt: int) -> int:
        """Fence earlier attempts: the new attempt number. Raises StoreError where another was faster."""

        return self._write(lambda tx: tx.take_over(run, owner, expected_attempt))

    def finish(self, row: RunRow, entries: Sequence[Entry]) -> None:
        """Set status, owner and ending, with the last entries. Raises StoreError from a fenced attempt."""
        self._write(lambda tx: tx.finish_run(row, entries))

    def note_finish(self, row: RunRow, entries: Sequence[Entry]) -> None:
        """As `finish`; rides on the next commit. Raises StoreError from an attempt that is known to be fenced."""
        self._hand_over_row(Item(row.id, row.attempt, lambda tx: tx.finish_run(row, entries)))

    # --- journal -------------------------------------------------------------------------------------------

    def append(self, entries: Sequence[Entry], used: Mapping[str, Amount] | None = None) -> None:
        """Add journal lines, with the budget's snapshot, durable. Raises StoreError from a fenced attempt."""
        self._write(lambda tx: tx.write(entries, used))

    def note(self, entry: Entry, used: Mapping[str, Amount] | None = None) -> None:
        """Hand over a line that rides on the next commit, of whatever run. Raises StoreError from a fenced attempt."""
        self._handed.add(Item(entry.run, entry.attempt, lambda tx: tx.write((entry,), used)))

    def settle(self, entry: Entry, receipt: Receipt | None, used: Mapping[str, Amount] | None = None) -> None:
        """Record an outcome, and the receipt with it; rides on the next commit."""
        if receipt is None:
            self.note(entry, used)
            return

        def work(tx: Transaction) -> None:
            tx.write((entry,), used)
            tx.put_receipt(receipt)

        self._handed.add(Item(entry.run, entry.attempt, work, receipt))

    def _hand_over_row(self, item: Item) -> None:
        self._handed.add(item)
        UNSETTLED.add(self)

    def _settle_rows(self) -> None:
        """Let who reads a run's row see what was handed over."""
        if self in UNSETTLED:
            self.flush()

    def reserve(self, reservation: Reservation) -> KeyTaken | Fence | None:
        """Take key, approval and journal line together; None where it was taken. Commits what was handed over."""
        return self.reserve_all((reservation,))[0]

    def reserve_all(self, reservations: Sequence[Reservation]) -> list[KeyTaken | Fence | None]:
        """Several reservations in one commit, each for itself: one that loses does not harm the others."""
        return self._write(lambda tx: [tx.reserve(reservation) for reservation in reservations])

    def flush(self) -> None:
        """Make everything handed over so far durable."""
        with self._lock:  # and wait for a commit that another thread has begun
            if self._handed:
                self._write(lambda tx: None)

    def flush_soon(self) -> "Future[None]":
        """As `flush`, behind the caller's back: the commit that begins next, shared with whoever asks meanwhile."""
        return self._commits.soon()

    def is_fenced(self, run: str, attempt: int) -> bool:
        """True once a line of this attempt was refused because a later one owns the run."""
        return self._handed.is_fenced(run, attempt)

    @property
    def pending(self) -> int:
        """Lines handed over and not yet durable, of all runs of this process."""
        return len(self._handed)

    def receipt(self, key: ReceiptKey) -> Receipt | None:
        """The outcome under a key; includes what was handed over and is not yet on disk."""
        found = self._handed.receipt(key)
        if found is not None:
            return found
        row = self._one(
            f"SELECT {RECEIPT_COLUMNS} FROM receipts WHERE tool = ? AND holder = ? AND key = ?",
            (key.tool, key.holder, key.key),
        )
        return None if row is None else receipt_from_row(row)

    def entries(self, run: str) -> Iterator[Entry]:
        """The journal of a run in order: what is on disk, after a flush."""
        self.flush()
        found = self._one("SELECT number FROM runs WHERE id = ?", (run,))
        if found is None:
            return
        low, high = found[0] << SEQ_BITS, (found[0] + 1) << SEQ_BITS
        while rows := self._rows(
            f"SELECT {ENTRY_COLUMNS} FROM entries WHERE id > ? AND id < ? ORDER BY id LIMIT 1000", (low, high)
        ):
            low = rows[-1][0]
            for row in rows:
                yield entry_from_row(run, row)

    def used(self, run: str) -> Mapping[str, Amount]:
        """The last stored budget snapshot of a run."""
        found = self._one(SELECT_USED, (run,))
        return {} if found is None else used_from_json(found[0])

    # --- waiting for a person ------------------------------------------------------------------------------

    def store_bundle(self, bundle: Bundle, entries: Sequence[Entry]) -> None:
        """Store a bundle with its journal lines, before anyone hears of it."""

        def work(tx: Transaction) -> None:
            tx.write(entries)
            bundles.insert(tx, bundle)

        self._write(work)

    def bundle(self, reference: str) -> Bundle | None:
        """A bundle by its public reference."""
        return bundles.by_reference(self._rows, reference)

    def bundle_by_id(self, id_: str) -> Bundle | None:
        """A bundle by its unguessable id."""
        return bundles.by_id(self._rows, id_)

    def list_bundles(self, run: str = "", state: BundleState | None = None) -> Sequence[Bundle]:
        """Bundles of a run, or of all, oldest first."""
        return bundles.listed(self._rows, run, state)

    def decide(self, decided: Decided) -> Taken:
        """Take a decision, once, by whoever comes first; its journal line and audit line go with it."""
        return self._write(lambda tx: bundles.decide(tx, decided))

    def expire(self, run: str = "") -> Sequence[str]:
        """Close what is past its time, of one run or of all; the references of the bundles that expired now."""
        return self._write(lambda tx: bundles.expire(tx, run))

    def withdraw(self, run: str, by: str) -> Sequence[str]:
        """Close the open bundles of a run that was cancelled or ended; their references."""
        if not self.list_bundles(run, BundleState.OPEN):
            return ()
        return self._write(lambda tx: bundles.withdraw(tx, run, by))

    def add_grant(self, grant: GrantRow, entries: Sequence[Entry]) -> None:
        """Store a bounded grant with its journal lines."""

        def work(tx: Transaction) -> None:
            tx.write(entries)
            bundles.insert_grant(tx, grant)

        self._write(work)

    def grants(self, run: str, tool: str) -> Sequence[GrantRow]:
        """Grants that could still cover a call of `tool`, oldest first."""
        return bundles.live_grants(self._rows, run, tool, self.judged_now())

    # --- time, audit, end ----------------------------------------------------------------------------------

    def judged_now(self) -> float:
        """The later of now and the high-water mark: what expiry is judged against. Seconds since the epoch."""
        high: float = self._one("SELECT high FROM head")[0]
        return max(self._clock.now(), high)

    def audit_head(self) -> str:
        """The end of the audit chain as `LINES:DIGEST`, for reports and anchors."""
        seq, mac = self._one("SELECT seq, mac FROM head")
        return f"{seq}:{mac.hex()}"

    def anchor(self) -> None:
        """Write the end of the chain down outside the database. Raises StoreUnavailable."""
        seq, mac = self._one("SELECT seq, mac FROM head")
        at = utc_text(self._clock.now())
        write_anchor(anchor_path(self.path), Anchor(seq, mac, at, self._chain.anchor_seal(seq, mac, at)))
        self._anchored = seq

    def close(self) -> None:
        """Flush and let go. A second call does nothing."""
        self._commits.close()
        with self._lock:
            if self._closed:
                return
            try:
                self.flush()
                if self._lines > self._anchored:
                    self.anchor()
            finally:
                self._closed = True
                UNSETTLED.discard(self)
                self._reader.close()
                self._db.close()

    # --- the two ways to the file --------------------------------------------------------------------------

    def _one(self, sql: str, values: Sequence[SQLValue] = ()) -> Any:
        rows = self._rows(sql, values)
        return rows[0] if rows else None

    def _rows(self, sql: str, values: Sequence[SQLValue]) -> list[tuple]:  # type: ignore[type-arg]  # rows as they are
        """All rows at once: a statement that stays open would hold this connection at an old moment of the file."""
        try:
            with self._reading:
                return self._reader.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise explain(error, self.path) from error

    def _write(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` in one transaction, after what was handed over; all of it or nothing."""
        with self._lock:
            handed = self._handed.take()
            try:
                self._db.execute("BEGIN IMMEDIATE")
                tx = Transaction(self._db, self._chain, self._clock, self._known)
                fenced = write_items(tx, handed)
                result = work(tx)
                tx.finish()
                self._db.execute("COMMIT")
                self._lines = tx.lines
            except sqlite3.Error as error:
                self._roll_back(handed)
                raise explain(error, self.path) from error
            except BaseException:
                self._roll_back(handed)
                raise
            self._handed.written(handed, fenced)
            UNSETTLED.discard(self)
            if self._handed:  # while this one was under way
                UNSETTLED.add(self)
            if self._lines - self._anchored >= ANCHOR_LINES:
                with suppress(StoreUnavailable):  # what was committed counts: the next one tries again, `close` says it
                    self.anchor()
            return result

    def _roll_back(self, handed: Sequence[Item]) -> None:
        self._handed.put_back(handed)
        self._known.forget()
        if not self._closed and self._db.in_transaction:
            self._db.execute("ROLLBACK")
