"""The tables of the store, and how a journal line and a receipt become rows and come back.

Every table that a later version needs is here from the start; a change of it raises `SCHEMA_VERSION`.
"""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import TypeAlias

import msgspec

from harness.core.budget import Amount
from harness.core.call import Answer
from harness.core.ports import Entry, Receipt, ReceiptKey, RunRow
from harness.core.state import Event, State
from harness.core.verdict import Code, Decision, Verdict

__all__ = [
    "APPLICATION_ID",
    "CHAIN_COLUMNS",
    "ENTRY_COLUMNS",
    "INSERT_ENTRY",
    "RECEIPT_COLUMNS",
    "RUN_COLUMNS",
    "SCHEMA",
    "SCHEMA_VERSION",
    "SELECT_RUN",
    "SELECT_USED",
    "SEQ_BITS",
    "Row",
    "SQLValue",
    "encodable",
    "entry_from_row",
    "receipt_from_row",
    "receipt_row",
    "run_from_row",
    "used_from_json",
    "used_json",
    "verdict_json",
]

APPLICATION_ID = 0x48524E53
"""`HRNS`: tells our files from other databases."""
SCHEMA_VERSION = 1
SEQ_BITS = 32
"""A journal line's row id is the run's number shifted by so many bits, plus its place within the run: the lines of
a run lie together, in order, with no second index."""

SQLValue: TypeAlias = str | bytes | int | float | None
Row: TypeAlias = tuple[SQLValue, ...]

SCHEMA = """
CREATE TABLE runs (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  contract TEXT NOT NULL,
  version INTEGER NOT NULL,
  digest TEXT NOT NULL,
  principal TEXT NOT NULL,
  created_at REAL NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('running', 'paused', 'ended')),
  attempt INTEGER NOT NULL,
  owner TEXT NOT NULL,
  caller_key TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX runs_by_caller_key ON runs (principal, caller_key) WHERE caller_key <> '';
CREATE TABLE run_documents (
  number INTEGER PRIMARY KEY,
  document BLOB NOT NULL,
  ending BLOB NOT NULL
) STRICT;
CREATE TABLE entries (
  id INTEGER PRIMARY KEY,
  lineage TEXT NOT NULL,
  iteration INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  origin TEXT NOT NULL,
  task TEXT NOT NULL,
  call TEXT NOT NULL,
  tool TEXT NOT NULL,
  content TEXT NOT NULL,
  occurrence INTEGER NOT NULL,
  kind TEXT NOT NULL,
  event TEXT,
  state TEXT,
  at REAL NOT NULL,
  data BLOB,
  verdict BLOB NOT NULL,
  ok INTEGER,
  answer BLOB,
  released INTEGER NOT NULL,
  cost BLOB NOT NULL,
  digest TEXT NOT NULL,
  key TEXT NOT NULL,
  used BLOB,
  n INTEGER NOT NULL,
  body BLOB NOT NULL,
  mac BLOB NOT NULL
) STRICT;
CREATE TABLE receipts (
  tool TEXT NOT NULL,
  holder TEXT NOT NULL,
  key TEXT NOT NULL,
  arguments TEXT NOT NULL,
  run TEXT NOT NULL,
  call TEXT NOT NULL,
  state TEXT NOT NULL,
  value BLOB NOT NULL,
  error BLOB NOT NULL,
  at REAL NOT NULL,
  PRIMARY KEY (tool, holder, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE bundles (
  id TEXT PRIMARY KEY,
  reference TEXT NOT NULL UNIQUE,
  run TEXT NOT NULL,
  lineage TEXT NOT NULL,
  iteration INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('approval', 'question', 'outcome')),
  created_at REAL NOT NULL,
  expires_at REAL NOT NULL,
  document BLOB NOT NULL,
  state TEXT NOT NULL,
  decided_at REAL NOT NULL,
  decided_by TEXT NOT NULL,
  decision BLOB NOT NULL
) STRICT;
CREATE INDEX bundles_by_run ON bundles (run);
CREATE TABLE asks (
  id TEXT PRIMARY KEY,
  bundle TEXT NOT NULL,
  place INTEGER NOT NULL,
  run TEXT NOT NULL,
  lineage TEXT NOT NULL,
  call TEXT NOT NULL,
  origin TEXT NOT NULL,
  task TEXT NOT NULL,
  tool TEXT NOT NULL,
  content TEXT NOT NULL,
  occurrence INTEGER NOT NULL,
  digest TEXT NOT NULL,
  document BLOB NOT NULL,
  state TEXT NOT NULL,
  UNIQUE (bundle, place)
) STRICT;
CREATE INDEX asks_by_digest ON asks (run, lineage, digest);
CREATE TABLE votes (
  bundle TEXT NOT NULL,
  approver TEXT NOT NULL,
  ask TEXT NOT NULL,
  approved INTEGER NOT NULL,
  at REAL NOT NULL,
  source TEXT NOT NULL,
  document BLOB NOT NULL,
  PRIMARY KEY (bundle, ask, approver)
) STRICT, WITHOUT ROWID;
CREATE TABLE grants (
  id TEXT PRIMARY KEY,
  run TEXT NOT NULL,
  tool TEXT NOT NULL,
  calls INTEGER NOT NULL,
  used INTEGER NOT NULL CHECK (used <= calls),
  condition TEXT NOT NULL,
  until REAL NOT NULL,
  approver TEXT NOT NULL,
  created_at REAL NOT NULL
) STRICT;
CREATE INDEX grants_by_run ON grants (run, tool);
CREATE TABLE head (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  seq INTEGER NOT NULL,
  mac BLOB NOT NULL,
  high REAL NOT NULL,
  seal BLOB NOT NULL
) STRICT;
"""

ENTRY_COLUMNS = (
    "id, lineage, iteration, attempt, origin, task, call, tool, content, occurrence, kind, event, state, at, data, "
    "verdict, ok, answer, released, cost, digest, key"
)
CHAIN_COLUMNS = "used, n, body, mac"
INSERT_ENTRY = f"INSERT INTO entries ({ENTRY_COLUMNS}, {CHAIN_COLUMNS}) VALUES ({', '.join('?' * 26)})"
RECEIPT_COLUMNS = "tool, holder, key, arguments, run, call, state, value, error, at"
RUN_COLUMNS = (
    "id, contract, version, digest, principal, created_at, status, attempt, owner, document, ending, caller_key"
)

_encode = msgspec.json.Encoder().encode
_SEQ_MASK = (1 << SEQ_BITS) - 1
_EVENTS = {event.value: event for event in Event}
_STATES = {state.value: state for state in State}

SELECT_RUN = (
    "SELECT id, contract, version, digest, principal, created_at, status, attempt, owner, document, ending, caller_key"
    " FROM runs JOIN run_documents USING (number)"
)

SELECT_USED = (
    "SELECT used FROM entries, (SELECT number FROM runs WHERE id = ?) "
    f"WHERE entries.id > number << {SEQ_BITS} AND entries.id < (number + 1) << {SEQ_BITS} AND used IS NOT NULL "
    "ORDER BY entries.id DESC LIMIT 1"
)


def verdict_json(verdict: Verdict | None) -> bytes:
    """`[decision, code, [reasons], hint]`; empty for none."""
    if verdict is None:
        return b""
    return _encode((verdict.decision.value, verdict.code.value, verdict.reasons, verdict.hint))


@lru_cache(maxsize=1024)
def _verdict(text: bytes) -> Verdict | None:
    """The verdict in `text`; most lines share a few."""
    if not text:
        return None
    decision, code, reasons, hint = msgspec.json.decode(text)
    return Verdict(Decision(decision), Code(code), tuple(reasons), hint)


def encodable(entry: Entry) -> Entry:
    """The line with lone surrogates (names and sentences from outside) written as escapes: a journal never refuses."""
    verdict = entry.verdict
    if verdict is not None:
        reasons = tuple(map(_escaped, verdict.reasons))
        verdict = replace(verdict, reasons=reasons, hint=_escaped(verdict.hint))
    return replace(
        entry,
        task=_escaped(entry.task),
        call=_escaped(entry.call),
        tool=_escaped(entry.tool),
        content=_escaped(entry.content),
        digest=_escaped(entry.digest),
        key=_escaped(entry.key),
        verdict=verdict,
    )


def _escaped(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def entry_from_row(run: str, row: tuple) -> Entry:  # type: ignore[type-arg]  # one row of the table above
    """The journal line in a row; its text may come from an edited file, so enums raise ValueError."""
    ok = row[16]
    return Entry(
        run,
        row[1],
        row[2],
        row[3],
        row[4],
        row[5],
        row[6],
        row[7],
        row[8],
        row[9],
        row[10],
        None if row[11] is None else _EVENTS.get(row[11]) or Event(row[11]),
        None if row[12] is None else _STATES.get(row[12]) or State(row[12]),
        row[13],
        row[14] or b"",
        _verdict(row[15]),
        None if ok is None else Answer(bool(ok), row[17] or b""),
        row[18],
        row[19],
        row[20],
        row[21],
        row[0] & _SEQ_MASK,
    )


def receipt_row(receipt: Receipt) -> Row:
    """The row of a receipt, in the order of `RECEIPT_COLUMNS`."""
    key = receipt.key
    return (
        key.tool,
        key.holder,
        key.key,
        receipt.arguments,
        receipt.run,
        receipt.call,
        receipt.state.value,
        receipt.value,
        receipt.error,
        receipt.at,
    )


def receipt_from_row(row: tuple) -> Receipt:  # type: ignore[type-arg]  # one row of the table above
    """The receipt in a row."""
    return Receipt(ReceiptKey(row[0], row[1], row[2]), row[3], row[4], row[5], State(row[6]), row[7], row[8], row[9])


def run_from_row(row: tuple) -> RunRow:  # type: ignore[type-arg]  # one row of the two tables above, joined
    """The run in a row of `RUN_COLUMNS`."""
    return RunRow(*row)


def used_json(used: Mapping[str, Amount]) -> bytes:
    """A budget snapshot: numbers as numbers, exact decimals as text."""
    return _encode(used)


def used_from_json(text: bytes) -> dict[str, Amount]:
    """The snapshot in `text`, which `used_json` wrote."""
    if not text:
        return {}
    return {name: Decimal(amount) if isinstance(amount, str) else amount for name, amount in _used(text).items()}


def _used(text: bytes) -> dict[str, int | float | str]:
    return msgspec.json.decode(text, type=dict[str, int | float | str])
