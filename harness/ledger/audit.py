"""Reading the audit back: is every line there, in order, unchanged, and does it still fit the journal?

`verify` names the exact place of a change, a gap, a cut or a fork. It writes nothing.
"""

import hmac
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from harness.core.call import Json
from harness.ledger.anchors import Anchor, anchor_path, read_anchors
from harness.ledger.chain import GENESIS, Chain, Head
from harness.ledger.keys import key_path, read_key
from harness.ledger.opening import explain, read_only
from harness.ledger.tables import ENTRY_COLUMNS, SEQ_BITS, entry_from_row, verdict_json

__all__ = ["Problem", "ProblemKind", "audit_lines", "verify"]


class ProblemKind(StrEnum):
    """What is wrong with the record."""

    CHANGED = "changed"
    """A line is not the one that was written, or does not follow the line before it."""
    GAP = "gap"
    """Lines are missing in the middle."""
    CUT = "cut"
    """Lines are missing at the end."""
    FORK = "fork"
    """An anchor has seen another line at this place: the store was set back and written on."""
    HEAD = "head"
    """The stored head was not made by the holder of the key."""
    JOURNAL = "journal"
    """The journal line that an audit line covers was changed or is missing, or has no audit line."""
    KEY = "key"
    """The key is missing: nothing can be verified."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, at one place."""

    kind: ProblemKind
    line: int
    """Number of the audit line; 0 where the problem is no line's."""
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
        db.execute("BEGIN")
        anchors = read_anchors(anchor_path(store))
        return _Verifier(db, Chain(key), anchors).problems()
    except sqlite3.Error as error:
        raise explain(error, store) from error
    finally:
        db.close()


def audit_lines(path: str | Path, run: str = "") -> Iterator[dict[str, Json]]:
    """The lines as people read them, of one run or of all, oldest first. Raises StoreError."""
    store = Path(path)
    db = read_only(store)
    try:
        for (text,) in db.execute("SELECT line FROM audit ORDER BY seq"):
            line = json.loads(text)
            if not run or line.get("run") == run:
                yield line
    except sqlite3.Error as error:
        raise explain(error, store) from error
    finally:
        db.close()


class _Verifier:
    """One walk along the chain."""

    def __init__(self, db: sqlite3.Connection, chain: Chain, anchors: list[Anchor]) -> None:
        self._db = db
        self._chain = chain
        self._anchors = anchors
        self._anchors_at: dict[int, list[Anchor]] = {}
        for anchor in anchors:
            self._anchors_at.setdefault(anchor.seq, []).append(anchor)
        self._found: list[Problem] = []
        self._numbers: dict[str, int] = dict(db.execute("SELECT id, number FROM runs"))
        self._covered: dict[int, int] = dict.fromkeys(self._numbers.values(), 0)
        self._last = 0
        self._mac = GENESIS

    def problems(self) -> list[Problem]:
        """The walk itself."""
        for seq, line, mac in self._db.execute("SELECT seq, line, mac FROM audit ORDER BY seq"):
            if seq != self._last + 1:
                self._add(ProblemKind.GAP, self._last + 1, _missing(self._last + 1, seq - 1))
                self._mac = b""
            self._line(seq, line, mac)
            self._last, self._mac = seq, mac
        self._head()
        self._uncovered()
        return sorted(self._found, key=lambda problem: problem.line or self._last + 1)

    def _line(self, seq: int, line: str, mac: bytes) -> None:
        """One line: its link to the one before (where that is there), its number, its journal line, its anchor."""
        if self._mac and not hmac.compare_digest(self._chain.mac(self._mac, line), mac):
            self._add(ProblemKind.CHANGED, seq, "the line was changed, or does not follow the one before it")
            self._cover(line)
            return
        for anchor in self._anchors_at.get(seq, ()):
            if hmac.compare_digest(anchor.mac, mac):
                continue
            self._add(ProblemKind.FORK, seq, f"an anchor of {anchor.at} has seen another line here")
        self._journal(seq, line)

    def _journal(self, seq: int, text: str) -> None:
        line = json.loads(text)
        run, place = line["run"], line["seq"]
        number = self._cover(text)
        row = None
        if number is not None:
            row = self._db.execute(
                f"SELECT {ENTRY_COLUMNS} FROM entries WHERE id = ?", ((number << SEQ_BITS) + place,)
            ).fetchone()
        if row is None:
            self._add(ProblemKind.JOURNAL, seq, f"journal line {place} of run `{run}` is missing", run, place)
            return
        try:
            entry = replace(entry_from_row(run, row), seq=place)
            same = self._chain.body(entry, verdict_json(entry.verdict)) == line["body"]
        except (ValueError, TypeError):
            same = False
        if not same:
            self._add(ProblemKind.JOURNAL, seq, f"journal line {place} of run `{run}` was changed", run, place)

    def _cover(self, text: str) -> int | None:
        """Count the journal line that an audit line, perhaps a forged one, speaks of; the number of its run."""
        try:
            number = self._numbers.get(json.loads(text)["run"])
        except (ValueError, KeyError, TypeError):
            return None
        if number is not None:
            self._covered[number] += 1
        return number

    def _head(self) -> None:
        seq, mac, high, seal = self._db.execute("SELECT seq, mac, high, seal FROM head").fetchone()
        known = max([seq, *(anchor.seq for anchor in self._anchors)])
        if self._last < known:
            self._add(ProblemKind.CUT, self._last + 1, _missing(self._last + 1, known) + " at the end")
        if seq == 0 and self._last == 0 and not seal:
            return
        if not hmac.compare_digest(self._chain.seal(Head(seq, mac, high)), seal):
            self._add(ProblemKind.HEAD, 0, "the stored head was not written by the harness")
        elif seq < self._last:
            self._add(ProblemKind.CHANGED, seq + 1, f"lines {seq + 1} to {self._last} stand behind the stored head")
        elif seq == self._last and not hmac.compare_digest(self._mac, mac):
            self._add(ProblemKind.CHANGED, seq, "the last line is not the one that the stored head has seen")
        ours = self._chain.anchor_ok
        if not all(ours(anchor.seq, anchor.mac, anchor.at, anchor.seal) for anchor in self._anchors):
            self._add(ProblemKind.HEAD, 0, "an anchor was not written by the harness")

    def _uncovered(self) -> None:
        """Journal lines that no audit line speaks of."""
        for run, number in self._numbers.items():
            low = number << SEQ_BITS
            (count,) = self._db.execute(
                "SELECT count(*) FROM entries WHERE id > ? AND id < ?", (low, low + (1 << SEQ_BITS))
            ).fetchone()
            if count > self._covered[number]:
                extra = count - self._covered[number]
                self._add(ProblemKind.JOURNAL, 0, f"{extra} journal line(s) of run `{run}` have no audit line", run)

    def _add(self, kind: ProblemKind, line: int, message: str, run: str = "", seq: int = 0) -> None:
        self._found.append(Problem(kind, line, message, run, seq))


def _missing(first: int, last: int) -> str:
    return f"line {first} is missing" if first == last else f"lines {first} to {last} are missing"
