"""The curve of the journal: what an append, a run and a resume cost in a store of up to ten million lines.

The lines are copies of those of one run, under new run numbers: they fill the tables, and their chain does not verify.
"""

import sqlite3
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.curve import Curve, rss_mb
from harness.api import Harness
from harness.contract.policy import Policy
from harness.core.ports import Entry
from harness.ledger.sqlite import SqliteStore
from harness.ledger.tables import SEQ_BITS
from harness.registry.from_function import from_function
from harness.registry.registry import Registry
from harness.registry.settings import Settings
from harness.testing import BoxSide, ScriptBackend

__all__ = ["journal_curves"]

LINES = (0, 10_000, 100_000, 1_000_000, 10_000_000)
RUN_LINES = 1_000
"""Of one run that fills the journal."""
CALLS = 100
"""Of the run that is paused and resumed."""
APPENDS, ROUNDS = 50, 3


def read(number: int) -> int:
    """Read a number."""
    return number


def put(number: int) -> int:
    """Put a number down, with a person's word."""
    return number


def _script(box: BoxSide) -> None:
    """As many reads, then a call that waits for a person; after that word a result."""
    box.hello()
    box.open()
    for number in range(CALLS):
        box.call("read", number=number)
    waiting = box.send_call("put", {"number": 1})
    box.send({"t": "idle", "waiting": [waiting]})
    if box.receive() is not None:
        box.result(1)
        box.receive()


async def journal_curves() -> list[Curve]:
    """One store that is filled further and further."""
    append = Curve("journal, append", "lines", "commit", f"the fastest of {APPENDS}, one line each")
    pause = Curve("journal, pause", "lines", "run", f"a run of {CALLS} reads that waits for a person")
    resume = Curve("journal, resume", "lines", "run", "the same, resumed: its reads come from the journal")
    start = Curve("journal, open", "lines", "opening", "of the store, by a new process")
    tools = Registry()
    tools.add(from_function(read, Settings(effect="read", inline=True)))
    tools.add(from_function(put, Settings(effect="write", approval="always", preview="put {number}")))
    policy = Policy(policy="bench", version=1)
    with tempfile.TemporaryDirectory() as folder:
        async with Harness(tools, folder=folder, policy=policy, backend=ScriptBackend(_script)) as host:
            store = host.store()
            await host.run(_CONTRACT, "return 1")
            for lines in LINES:
                _fill(store.path, lines)
                began = time.perf_counter()
                SqliteStore(store.path).close()
                start.add(lines, (time.perf_counter() - began) * 1e6, 0.0)
                pauses, resumes, before = [], [], rss_mb()
                for _ in range(ROUNDS):
                    began = time.perf_counter()
                    paused = await host.run(_CONTRACT, "return 1")
                    pauses.append(time.perf_counter() - began)
                    began = time.perf_counter()
                    await host.resume(paused.run)
                    resumes.append(time.perf_counter() - began)
                pause.add(lines, min(pauses) * 1e6, 0.0)
                resume.add(lines, min(resumes) * 1e6, rss_mb() - before)
                waits = await host.run(_CONTRACT, "return 1")
                append.add(lines, _append(store, next(iter(store.entries(waits.run)))) * 1e6, 0.0)
    return [start, append, pause, resume]


def _append(store: SqliteStore, pattern: Entry) -> float:
    """Seconds of a commit of one line, the fastest."""
    samples = []
    for _ in range(APPENDS):
        began = time.perf_counter()
        store.append([replace(pattern, kind="note", data=b"{}")])
        samples.append(time.perf_counter() - began)
    return min(samples)


def _fill(path: Path, lines: int) -> None:
    """Bring the journal to so many lines: whole runs of `RUN_LINES` copies of one line that is there."""
    db = sqlite3.connect(path, isolation_level=None, timeout=60)
    columns = [row[1] for row in db.execute("PRAGMA table_info(entries)")][1:]
    names, first = ", ".join(columns), "(SELECT min(id) FROM entries)"
    have = db.execute("SELECT count(*) FROM entries WHERE id & 1073741824").fetchone()[0]
    number = db.execute("SELECT max(number) FROM runs").fetchone()[0]
    run = [row[1] for row in db.execute("PRAGMA table_info(runs)")][2:]
    kept = ", ".join(run)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN IMMEDIATE")
    for filled in range((lines - have) // RUN_LINES):
        number += 1
        if filled % 100 == 99:
            db.execute("COMMIT")
            db.execute("BEGIN IMMEDIATE")
        db.execute(
            f"INSERT INTO runs (number, id, {kept}) SELECT ?, 'filler-' || ?, {kept} FROM runs WHERE number = 1",
            (number, number),
        )
        db.execute(
            "WITH RECURSIVE place(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM place WHERE k < ?) "
            f"INSERT INTO entries (id, {names}) SELECT (? << {SEQ_BITS}) + 1073741824 + place.k, {names} "
            f"FROM place, entries WHERE entries.id = {first}",
            (RUN_LINES, number),
        )
    db.execute("COMMIT")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


_CONTRACT = {
    "contract": "growth",
    "version": 1,
    "output": {"schema": {"type": "integer"}},
    "budget": {"tokens": 0, "cost_usd": "0", "wall_seconds": 600, "retries": 0, "iterations": 1, "calls": 2 * CALLS},
    "permissions": {"tools": [{"tool": "read"}, {"tool": "put"}]},
    "completion": {"success": "true"},
    "destination": [{"to": "file:results/${run.id}.json"}],
}
