"""One transaction: fences checked, places given, journal lines written with their audit lines, the head moved.

It lives between BEGIN IMMEDIATE and COMMIT, both of which its owner speaks.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.core.budget import Amount
from harness.core.clock import Clock
from harness.core.errors import StoreError
from harness.core.ports import Entry, Fence, KeyTaken, Receipt, Reservation, RunRow
from harness.core.state import State
from harness.ledger import bundles
from harness.ledger.chain import Chain, Head, Header
from harness.ledger.tables import (
    INSERT_ENTRY,
    RECEIPT_COLUMNS,
    SEQ_BITS,
    SQLValue,
    encodable,
    entry_row,
    receipt_from_row,
    receipt_row,
    used_json,
    verdict_json,
)

__all__ = ["Fenced", "Transaction"]


class Fenced(StoreError):
    """A write from an attempt that a later one has fenced; nothing of it was written."""


@dataclass(slots=True)
class _Run:
    """What this transaction knows of one run."""

    number: int
    attempt: int
    next_seq: int
    header: Header
    used: bytes | None = None
    dirty: bool = False


class Transaction:
    """Everything that one commit carries. Methods raise sqlite3.Error; the owner translates."""

    def __init__(self, db: sqlite3.Connection, chain: Chain, clock: Clock) -> None:
        self._db = db
        self._chain = chain
        seq, mac, high = db.execute("SELECT seq, mac, high FROM head").fetchone()
        self._seq: int = seq
        self._mac: bytes = mac
        self.now = max(clock.now(), high)
        """The later of now and the high-water mark, seconds since the epoch."""
        self._stored_high: float = high
        self._runs: dict[str, _Run] = {}

    @property
    def lines(self) -> int:
        """Lines in the audit chain, with those of this transaction."""
        return self._seq

    # --- SQL -----------------------------------------------------------------------------------------------

    def one(self, sql: str, values: Sequence[SQLValue]) -> tuple | None:  # type: ignore[type-arg]  # a row as the file has it
        """The first row, or None."""
        row: tuple | None = self._db.execute(sql, values).fetchone()  # type: ignore[type-arg]
        return row

    def rows(self, sql: str, values: Sequence[SQLValue]) -> list[tuple]:  # type: ignore[type-arg]  # rows as the file has them
        """All rows."""
        return self._db.execute(sql, values).fetchall()

    def change(self, sql: str, values: Sequence[SQLValue]) -> int:
        """The number of rows that a statement changed."""
        return self._db.execute(sql, values).rowcount

    # --- runs ----------------------------------------------------------------------------------------------

    def insert_run(self, row: RunRow) -> None:
        """A new run at its first attempt. Raises StoreError where the id exists."""
        if self.one("SELECT 1 FROM runs WHERE id = ?", (row.id,)) is not None:
            raise StoreError(f"the run `{row.id}` exists", hint="run ids are made by the harness: ask for a new one")
        cursor = self._db.execute(
            "INSERT INTO runs (id, contract, version, digest, principal, created_at, status, attempt, owner, "
            "caller_key, next_seq, used) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, x'')",
            (
                row.id,
                row.contract,
                row.version,
                row.digest,
                row.principal,
                row.created_at,
                row.status,
                row.attempt,
                row.owner,
                row.caller_key,
            ),
        )
        self._db.execute("INSERT INTO run_documents VALUES (?, ?, ?)", (cursor.lastrowid, row.document, row.ending))

    def finish_run(self, row: RunRow) -> None:
        """Status, owner, document and ending of a run, from its own attempt only."""
        run = self._owned(row.id, row.attempt)
        self._db.execute("UPDATE runs SET status = ?, owner = ? WHERE number = ?", (row.status, row.owner, run.number))
        self._db.execute(
            "UPDATE run_documents SET document = ?, ending = ? WHERE number = ?",
            (row.document, row.ending, run.number),
        )

    def attempt_of(self, run: str) -> int:
        """The attempt that owns a run now. Raises StoreError where there is no such run."""
        return self._run(run).attempt

    # --- journal -------------------------------------------------------------------------------------------

    def write(self, entries: Sequence[Entry], used: Mapping[str, Amount] | None = None) -> None:
        """Journal lines with their audit lines, and the budget snapshot of their run. Raises Fenced."""
        for entry in entries:
            run = self._owned(entry.run, entry.attempt)
            try:
                self._line(run, entry)
            except UnicodeEncodeError:
                self._line(run, encodable(entry))
            run.next_seq += 1
            run.dirty = True
            if entry.at > self.now:
                self.now = entry.at
        if used is not None and entries:
            self._runs[entries[-1].run].used = used_json(used)

    def _line(self, run: _Run, entry: Entry) -> None:
        """One journal line and its audit line. Raises UnicodeEncodeError before anything is written."""
        verdict = verdict_json(entry.verdict)
        placed = replace(entry, seq=run.next_seq)
        row = entry_row(placed, (run.number << SEQ_BITS) + placed.seq, verdict)
        line = self._chain.line(self._seq + 1, run.header, placed, verdict)
        self._db.execute(INSERT_ENTRY, row)
        self._seq += 1
        self._mac = self._chain.mac(self._mac, line)
        self._db.execute("INSERT INTO audit VALUES (?, ?, ?)", (self._seq, line, self._mac))

    def reserve(self, reservation: Reservation) -> KeyTaken | Fence | None:
        """Key, approval and line, all of them or none; None where they were taken."""
        entry = reservation.entry
        try:
            self._owned(entry.run, entry.attempt)
        except Fenced as fence:
            return Fence(fence.message)
        receipt = reservation.receipt
        if receipt is not None and (held := self._held(receipt, reservation.again)) is not None:
            return KeyTaken(held)
        if reservation.approval and not bundles.consume(self, reservation.approval, entry):
            return Fence(f"the approval of call {entry.call} was used, withdrawn or has expired")
        if receipt is not None:
            self.put_receipt(receipt)
        self.write((entry,), reservation.used)
        return None

    def _held(self, wanted: Receipt, again: bool) -> Receipt | None:
        """The receipt that stands in the way; one that says `nothing happened` does not."""
        key = wanted.key
        row = self.one(
            f"SELECT {RECEIPT_COLUMNS} FROM receipts WHERE tool = ? AND holder = ? AND key = ?",
            (key.tool, key.holder, key.key),
        )
        if row is None:
            return None
        found = receipt_from_row(row)
        free = found.state is State.FAILED or (again and found.state is State.UNKNOWN)
        return None if free and found.arguments == wanted.arguments else found

    def put_receipt(self, receipt: Receipt) -> None:
        """Store the outcome under a key, over what stood there."""
        self._db.execute(
            f"INSERT OR REPLACE INTO receipts ({RECEIPT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            receipt_row(receipt),
        )

    # --- end -----------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Store what moved: the runs' next places and snapshots, the head of the chain, the high-water mark."""
        for run in self._runs.values():
            if not run.dirty:
                continue
            if run.used is None:
                self._db.execute("UPDATE runs SET next_seq = ? WHERE number = ?", (run.next_seq, run.number))
            else:
                self._db.execute(
                    "UPDATE runs SET next_seq = ?, used = ? WHERE number = ?", (run.next_seq, run.used, run.number)
                )
        head = Head(self._seq, self._mac, self.now)
        self._db.execute(
            "UPDATE head SET seq = ?, mac = ?, high = ?, seal = ?",
            (head.seq, head.mac, head.high, self._chain.seal(head)),
        )

    def _run(self, run: str) -> _Run:
        known = self._runs.get(run)
        if known is None:
            row = self.one(
                "SELECT number, attempt, next_seq, principal, contract, version, digest FROM runs WHERE id = ?", (run,)
            )
            if row is None:
                raise StoreError(f"there is no run `{run}`", hint="see `harness runs list`")
            known = _Run(row[0], row[1], row[2], Header(run, row[3], row[4], row[5], row[6]))
            self._runs[run] = known
        return known

    def _owned(self, run: str, attempt: int) -> _Run:
        known = self._run(run)
        if known.attempt != attempt:
            raise Fenced(
                f"the run `{run}` belongs to attempt {known.attempt}, this is attempt {attempt}",
                hint="stop this one: another process has taken the run over",
            )
        return known
