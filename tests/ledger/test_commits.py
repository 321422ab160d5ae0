"""Commits beside the loop: shared by who asks meanwhile, read past, and told where they fail."""

import asyncio
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from harness.core.errors import StoreError
from harness.ledger.audit import verify
from harness.ledger.commits import Commits
from harness.ledger.journal import Journal
from harness.ledger.sqlite import SqliteStore
from tests.ledger.lines import Clock, fact, line, receipt, run_row


@pytest.fixture
def store(tmp_path: Path):
    made = SqliteStore(tmp_path / "store.db", clock=Clock())
    made.create_run(run_row(), [fact()])
    yield made
    made.close()


def test_who_asks_while_one_is_under_way_shares_the_next():
    """However many ask, one more commit carries them all."""
    begun, go, made = threading.Event(), threading.Event(), []

    def flush() -> None:
        begun.set()
        assert go.wait(20)
        made.append(1)

    commits = Commits(flush)
    first = commits.soon()
    assert begun.wait(20)
    later = [commits.soon() for _ in range(50)]
    assert (len(set(map(id, later))), later[0] is first) == (1, False)
    go.set()
    for each in (first, *later):
        each.result(20)
    assert len(made) == 2
    commits.close()


def test_a_read_does_not_wait_for_a_commit(store):
    """A connection of its own sees what is on disk while another transaction is open."""
    store._db.execute("BEGIN IMMEDIATE")
    with store._lock:
        seen = []
        reading = threading.Thread(target=lambda: seen.append((store.attempt("run-1"), store.audit_head()[:2])))
        reading.start()
        reading.join(20)
    store._db.execute("ROLLBACK")
    assert seen == [(1, "1:")]


def test_what_is_handed_over_during_a_commit_waits_for_the_next(store):
    """It is neither lost nor said to be on disk; its receipt is found all the same."""
    inside, go = threading.Event(), threading.Event()

    def slowly(tx: object) -> None:
        inside.set()
        assert go.wait(20)

    writing = threading.Thread(target=lambda: store._write(slowly))
    writing.start()
    assert inside.wait(20)
    store.settle(line(1), receipt("op-1"))
    assert (store.pending, store.receipt(receipt("op-1").key)) == (1, receipt("op-1"))
    go.set()
    writing.join(20)
    assert store.pending == 1
    store.flush_soon().result(20)
    assert (store.pending, store.receipt(receipt("op-1").key)) == (0, receipt("op-1"))
    assert list(store.entries("run-1"))[1:] == [replace(line(1), seq=2)]
    assert verify(store.path) == []


def test_a_commit_that_fails_says_so_to_who_asked_and_keeps_what_waits(store):
    """The disk is full for a while: nothing is lost by it."""
    journal = Journal(store, "run-1", 1)
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages + 1}")
    large = replace(line(1), data=b'"' + b"x" * 100_000 + b'"')
    with pytest.raises(StoreError, match="full"):
        asyncio.run(journal.commit_aside(large))
    assert store.pending == 1
    store._db.execute("PRAGMA max_page_count = 1000000")
    asyncio.run(journal.commit_aside(line(2)))
    assert [entry.call for entry in store.entries("run-1")] == ["", "1.1", "1.2"]


def test_a_fenced_attempt_learns_of_it(store):
    """Its line is not written, and its run must not deliver."""
    other = SqliteStore(store.path, clock=Clock())
    other.take_over("run-1", "other", 1)
    other.close()
    with pytest.raises(StoreError, match="a later attempt owns the run"):
        asyncio.run(Journal(store, "run-1", 1).commit_aside(line(1)))
    assert [entry.kind for entry in store.entries("run-1")] == ["run_created", "taken_over"]


def test_who_gives_up_waiting_does_not_take_the_commit_along(store):
    """A run that is cancelled in its last commit has that commit."""

    async def cancelled() -> None:
        with store._lock:
            waiting = asyncio.ensure_future(Journal(store, "run-1", 1).commit_aside(line(1)))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    asyncio.run(cancelled())
    store.close()
    db = sqlite3.connect(store.path)
    assert db.execute("SELECT count(*) FROM entries").fetchone() == (2,)
    db.close()
