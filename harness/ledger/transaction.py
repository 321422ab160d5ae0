"""One transaction: fences checked, places given, journal lines chained and written, the head moved.

It lives between BEGIN IMMEDIATE and COMMIT, both of which its owner speaks.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.core.budget import Amount
from harness.core.canonical import canonical
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
    receipt_from_row,
    receipt_row,
    used_json,
    verdict_json,
)

__all__ = ["Fenced", "Known", "Transaction"]

KNOWN_RUNS = 10_000
"""Runs that a store remembers between transactions, at about 1 kB each."""

_REPLACE_RECEIPT = f"INSERT OR REPLACE INTO receipts ({RECEIPT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_RECEIPT = f"SELECT {RECEIPT_COLUMNS} FROM receipts WHERE tool = ? AND holder = ? AND key = ?"
_HEAD = "SELECT seq, mac, high FROM head"
_MOVE_HEAD = "UPDATE head SET seq = ?, mac = ?, high = ?, seal = ?"


class Fenced(StoreError):
    """A write from an attempt that a later one has fenced; nothing of it was written."""


@dataclass(slots=True)
class _Run:
    """What is known of one run."""

    number: int
    attempt: int
    next_seq: int
    header: Header


@dataclass(slots=True)
class Known:
    """What one transaction leaves to the next: true as long as nobody else has moved the head.

    Whatever changes an attempt or a place in a run writes a line, and a line moves the head.
    """

    mac: bytes = b""
    runs: dict[str, _Run] = field(default_factory=dict)

    def forget(self) -> None:
        """Start afresh: another process wrote, or a transaction was rolled back."""
        self.mac = b""
        self.runs.clear()


class Transaction:
    """Everything that one commit carries. Methods raise sqlite3.Error; the owner translates."""

    def __init__(self, db: sqlite3.Connection, chain: Chain, clock: Clock, known: Known) -> None:
        self._db = db
        self._chain = chain
        self._known = known
        seq, mac, high = db.execute(_HEAD).fetchone()
        if mac != known.mac or len(known.runs) > KNOWN_RUNS:
            known.forget()
        self._seq: int = seq
        self._mac: bytes = mac
        self.now = max(clock.now(), high)
        """The later of now and the high-water mark, seconds since the epoch."""

    @property
    def lines(self) -> int:
        """Lines in the chain, with those of this transaction."""
        return self._seq

    # --- SQL -----------------------------------------------------------------------------------------------

    def one(self, sql: str, values: Sequence[SQLValue]) -> tuple | None:  # type: ignore[type-arg]  # a row as it is
        """The first row, or None."""
        row: tuple | None = self._db.execute(sql, values).fetchone()  # type: ignore[type-arg]
        return row

    def rows(self, sql: str, values: Sequence[SQLValue]) -> list[tuple]:  # type: ignore[type-arg]  # rows as they are
        """All rows."""
        return self._db.execute(sql, values).fetchall()

    def change(self, sql: str, values: Sequence[SQLValue]) -> int:
        """The number of rows that a statement changed."""
        return self._db.execute(sql, values).rowcount

    # --- runs ----------------------------------------------------------------------------------------------

    def insert_run(self, row: RunRow) -> None:
        """A new run. Raises StoreError where the id exists."""
        if self.one("SELECT 1 FROM runs WHERE id = ?", (row.id,)) is not None:
            raise StoreError(f"the run `{row.id}` exists", hint="run ids are made by the harness: ask for a new one")
        cursor = self._db.execute(
            "INSERT INTO runs (id, contract, version, digest, principal, created_at, status, attempt, owner, "
            "caller_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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

    def finish_run(self, row: RunRow, entries: Sequence[Entry]) -> None:
        """The last lines, then status, owner, document and ending, from the run's own attempt only. Raises Fenced."""
        self.write(entries)
        number = self._owned(row.id, row.attempt).number
        self._db.execute("UPDATE runs SET status = ?, owner = ? WHERE number = ?", (row.status, row.owner, number))
        self._db.execute(
            "UPDATE run_documents SET document = ?, ending = ? WHERE number = ?", (row.document, row.ending, number)
        )

    def take_over(self, run: str, owner: str, expected_attempt: int) -> int:
        """Make `owner` the next attempt of a run that has not ended, with a line that says so. Raises StoreError."""
        attempt = expected_attempt + 1
        taken = self.change(
            "UPDATE runs SET attempt = ?, owner = ?, status = 'running' "
            "WHERE id = ? AND attempt = ? AND status <> 'ended'",
            (attempt, owner, run, expected_attempt),
        )
        if not taken:
            raise StoreError(
                f"the run `{run}` was taken over or ended by another process",
                hint=f"look at it with `harness runs show {run}`",
            )
        self._known.runs.pop(run, None)
        data = canonical({"owner": owner})
        self.write((Entry(run, "", 0, attempt, "", "", "", "", "", 0, "taken_over", None, None, self.now, data),))
        return attempt

    def attempt_of(self, run: str) -> int:
        """The attempt that owns a run now. Raises StoreError where there is no such run."""
        return self._run(run).attempt

    # --- journal -------------------------------------------------------------------------------------------

    def write(self, entries: Sequence[Entry], used: Mapping[str, Amount] | None = None) -> None:
        """Journal lines, the last of them with the budget snapshot. Raises Fenced, having written none."""
        for entry in entries:
            self._owned(entry.run, entry.attempt)
        last = len(entries) - 1
        for index, entry in enumerate(entries):
            snapshot = used_json(used) if used is not None and index == last else None
            try:
                self._line(entry, snapshot)
            except UnicodeEncodeError:
                self._line(encodable(entry), snapshot)

    def _line(self, entry: Entry, used: bytes | None) -> None:
        """One line at its place in run and chain. Raises UnicodeEncodeError before anything is written."""
        run = self._known.runs[entry.run]
        answer = entry.answer
        verdict = verdict_json(entry.verdict)
        ok = None if answer is None else int(answer.ok)
        event, state = entry.event, entry.state
        head = (
            entry.lineage,
            entry.iteration,
            entry.attempt,
            entry.origin,
            entry.task,
            entry.call,
            entry.tool,
            entry.content,
            entry.occurrence,
            entry.kind,
            None if event is None else event.value,
            None if state is None else state.value,
            entry.at,
        )
        tail = (entry.released, entry.cost, entry.digest, entry.key)
        body = self._chain.body(entry)
        seq, number = run.next_seq, self._seq + 1
        mac = self._chain.mac(self._mac, run.header, (number, seq), (*head, verdict, ok, *tail, used, body))
        row_id = (run.number << SEQ_BITS) + seq
        blob = b"" if answer is None else answer.body
        self._db.execute(INSERT_ENTRY, (row_id, *head, entry.data, verdict, ok, blob, *tail, used, number, body, mac))
        self._seq, self._mac, run.next_seq = number, mac, seq + 1
        if entry.at > self.now:
            self.now = entry.at

    def reserve(self, reservation: Reservation) -> KeyTaken | Fence | None:
        """Key, approval and line, all of them or none; None where they were taken."""
        entry, receipt = reservation.entry, reservation.receipt
        try:
            self._owned(entry.run, entry.attempt)
        except Fenced as fence:
            return Fence(fence.message)
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
        row = self.one(_RECEIPT, (key.tool, key.holder, key.key))
        if row is None:
            return None
        found = receipt_from_row(row)
        free = found.state is State.FAILED or (again and found.state is State.UNKNOWN)
        return None if free and found.arguments == wanted.arguments else found

    def put_receipt(self, receipt: Receipt) -> None:
        """Store the outcome under a key, over what stood there."""
        self._db.execute(_REPLACE_RECEIPT, receipt_row(receipt))

    # --- end -----------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Move the head of the chain and the high-water mark: the last statement before COMMIT."""
        head = Head(self._seq, self._mac, self.now)
        self._db.execute(_MOVE_HEAD, (head.seq, head.mac, head.high, self._chain.seal(head)))
        self._known.mac = head.mac

    def _run(self, run: str) -> _Run:
        known = self._known.runs.get(run)
        if known is None:
            row = self.one(
                "SELECT number, attempt, principal, contract, version, digest FROM runs WHERE id = ?", (run,)
            )
            if row is None:
                raise StoreError(f"there is no run `{run}`", hint="see `harness runs list`")
            low = row[0] << SEQ_BITS
            last = self.one("SELECT max(id) FROM entries WHERE id > ? AND id < ?", (low, low + (1 << SEQ_BITS)))
            seq = 1 if last is None or last[0] is None else last[0] - low + 1
            known = self._known.runs[run] = _Run(row[0], row[1], seq, Header(run, row[2], row[3], row[4], row[5]))
        return known

    def _owned(self, run: str, attempt: int) -> _Run:
        known = self._run(run)
        if known.attempt != attempt:
            raise Fenced(
                f"the run `{run}` belongs to attempt {known.attempt}, this is attempt {attempt}",
                hint="stop this one: another process has taken the run over",
            )
        return known
