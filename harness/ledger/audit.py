"""Reading the record back: is every line there, in order, unchanged, and does the head still fit?

`verify` names the exact place of a change, a gap, a cut or a fork. It writes nothing.
"""

import hmac
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from harness.core.call import Json
from harness.ledger.anchors import Anchor, anchor_path, read_anchors
from harness.ledger.chain import GENESIS, Chain, Head, Header
from harness.ledger.keys import key_path, read_key
from harness.ledger.opening import explain, read_only
from harness.ledger.tables import CHAIN_COLUMNS, ENTRY_COLUMNS, SEQ_BITS, entry_from_row

__all__ = ["Problem", "ProblemKind", "audit_lines", "verify"]

_LINES = f"SELECT {ENTRY_COLUMNS}, {CHAIN_COLUMNS} FROM entries ORDER BY n, id"
_HEADERS = "SELECT number, id, principal, contract, version, digest FROM runs"
_DATA, _ANSWER, _USED, _N, _BODY, _MAC = 14, 17, 22, 23, 24, 25
"""Columns of `_LINES`."""
_SEQ_MASK = (1 << SEQ_BITS) - 1


class ProblemKind(StrEnum):
    """What is wrong with the record."""

    CHANGED = "changed"
    """A line is not the one that was written, or does not follow the line before it."""
    GAP = "gap"
    """Lines are missing in the middle."""
    CUT = "cut"
    """Lines are missing at the end."""
    ADDED = "added"
    """A line that the harness did not write."""
    FORK = "fork"
    """An anchor has seen another line at this place: the store was set back and written on."""
    ERASED = "erased"
    """Arguments or answers were taken out, and no line says who did it."""
    HEAD = "head"
    """The stored head, or an anchor, was not made by the holder of the key."""
    KEY = "key"
    """The key is missing: nothing can be verified."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, at one place."""

    kind: ProblemKind
    line: int
    """Number of the line in the chain; 0 where the problem is no line's."""
    message: str
    run: str = ""
    seq: int = 0
    """Place within the run's journal; 0 where unknown."""

    def __str__(self) -> str:
        return f"{f'line {self.line}: ' if self.line else ''}{self.message}"


def verify(path: str | Path, *, key: bytes | None = None) -> list[Problem]:
    """Every problem of the record in the store at `path`, in order of place; empty where it is whole.

    Looks at one moment of the store, beside running writers. Raises StoreError where it cannot be read at all.
    """
    store = Path(path)
    db = read_only(store)
    try:
        if key is None:
            try:
                key = read_key(key_path(store))
            except FileNotFoundError:
                return [Problem(ProblemKind.KEY, 0, f"the key `{key_path(store)}` is missing: nothing can be verified")]
        anchors = read_anchors(anchor_path(store))
        db.execute("BEGIN")
        return _Walk(db, Chain(key), anchors).problems()
    except sqlite3.Error as error:
        raise explain(error, store) from error
    finally:
        db.close()


def audit_lines(path: str | Path, run: str = "") -> Iterator[dict[str, Json]]:
    """The lines as an auditor may read them, of one run or of all: no argument, no value. Raises StoreError."""
    store = Path(path)
    db = read_only(store)
    try:
        try:
            chain = Chain(read_key(key_path(store)))
        except FileNotFoundError:
            chain = Chain(bytes(32))
        headers = _headers(db)
        for row in db.execute(_LINES):
            header = headers.get(row[0] >> SEQ_BITS)
            if header is not None and run in ("", header.run):
                yield chain.audit_view(row[_N], header, entry_from_row(header.run, row))
    except sqlite3.Error as error:
        raise explain(error, store) from error
    finally:
        db.close()


def _headers(db: sqlite3.Connection) -> dict[int, Header]:
    return {number: Header(*fields) for number, *fields in db.execute(_HEADERS)}


class _Walk:
    """One walk along the chain."""

    def __init__(self, db: sqlite3.Connection, chain: Chain, anchors: list[Anchor]) -> None:
        self._db = db
        self._chain = chain
        self._anchors = anchors
        self._anchors_at: dict[int, list[Anchor]] = {}
        for anchor in anchors:
            self._anchors_at.setdefault(anchor.seq, []).append(anchor)
        self._headers = _headers(db)
        self._found: list[Problem] = []
        self._erased: dict[str, int] = {}
        """First erased line by run, until a line says who erased it."""
        self._last = 0
        self._mac: bytes | None = GENESIS
        """What the next line follows; None where the line before it is missing."""

    def problems(self) -> list[Problem]:
        """The walk itself."""
        seq, mac, high, seal = self._db.execute("SELECT seq, mac, high, seal FROM head").fetchone()
        for row in self._db.execute(_LINES):
            self._line(row)
        self._end(Head(seq, mac, high), seal)
        for run, line in self._erased.items():
            self._add(ProblemKind.ERASED, line, f"arguments of run `{run}` were erased, and no line says by whom", run)
        return sorted(self._found, key=lambda problem: problem.line or self._last + 1)

    def _line(self, row: tuple) -> None:  # type: ignore[type-arg]  # a row as it is, perhaps forged
        number, mac, place = row[_N], row[_MAC], row[0] & _SEQ_MASK
        header = self._headers.get(row[0] >> SEQ_BITS)
        run = header.run if header is not None else ""
        if number <= self._last:
            self._add(ProblemKind.ADDED, number, f"a second line has the number {number}", run, place)
            return
        if number > self._last + 1:
            self._add(ProblemKind.GAP, self._last + 1, _missing(self._last + 1, number - 1))
            self._mac = None
        if header is None:
            self._add(ProblemKind.CHANGED, number, "the run of the line is missing", "", place)
        elif not self._fits(row, header):
            message = "the line was changed, or does not follow the one before it"
            self._add(ProblemKind.CHANGED, number, message, run, place)
        else:
            self._anchor(number, mac)
        self._last, self._mac = number, mac

    def _fits(self, row: tuple, header: Header) -> bool:  # type: ignore[type-arg]  # a row as it is, perhaps forged
        """The line's link to the one before (where that is there), and its arguments and answer (where those are)."""
        try:
            entry = entry_from_row(header.run, row)
            small = (*row[1:_DATA], *row[_DATA + 1 : _ANSWER], *row[_ANSWER + 1 : _N], row[_BODY])
            if self._mac is not None:
                wanted = self._chain.mac(self._mac, header, (row[_N], entry.seq), small)
                if not hmac.compare_digest(wanted, row[_MAC]):
                    return False
        except (ValueError, TypeError):
            return False
        if row[_DATA] is None or row[_ANSWER] is None:
            self._erased.setdefault(header.run, row[_N])
            return True
        if entry.kind == "erased":
            self._erased.pop(header.run, None)
        return hmac.compare_digest(self._chain.body(entry), row[_BODY])

    def _anchor(self, number: int, mac: bytes) -> None:
        for anchor in self._anchors_at.get(number, ()):
            if not hmac.compare_digest(anchor.mac, mac):
                self._add(ProblemKind.FORK, number, f"an anchor of {anchor.at} has seen another line here")

    def _end(self, head: Head, seal: bytes) -> None:
        known = max([head.seq, *(anchor.seq for anchor in self._anchors)])
        if self._last < known:
            self._add(ProblemKind.CUT, self._last + 1, _missing(self._last + 1, known) + " at the end")
        ours = self._chain.anchor_ok
        if not all(ours(anchor.seq, anchor.mac, anchor.at, anchor.seal) for anchor in self._anchors):
            self._add(ProblemKind.HEAD, 0, "an anchor was not written by the harness")
        if head.seq == 0 and self._last == 0 and not seal:
            return
        if not hmac.compare_digest(self._chain.seal(head), seal):
            self._add(ProblemKind.HEAD, 0, "the stored head was not written by the harness")
        elif head.seq < self._last:
            self._add(ProblemKind.ADDED, head.seq + 1, f"lines {head.seq + 1} to {self._last} stand behind the head")
        elif head.seq == self._last and self._mac != head.mac:
            self._add(ProblemKind.CHANGED, head.seq, "the last line is not the one that the head has seen")

    def _add(self, kind: ProblemKind, line: int, message: str, run: str = "", seq: int = 0) -> None:
        self._found.append(Problem(kind, line, message, run, seq))


def _missing(first: int, last: int) -> str:
    return f"line {first} is missing" if first == last else f"lines {first} to {last} are missing"
