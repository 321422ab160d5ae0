"""The store on SQLite keeps what it was given, gives a key once, and lets a fenced attempt write nothing."""

import os
import sqlite3
import threading
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from harness.core.bundle import Bundle
from harness.core.errors import StoreError
from harness.core.ports import Fence, KeyTaken
from harness.core.state import Event, State
from harness.ledger.audit import verify
from harness.ledger.sqlite import SqliteStore
from tests.ledger.lines import NOW, Clock, dispatch, fact, line, receipt, reservation, run_row


@pytest.fixture
def store(tmp_path: Path):
    made = SqliteStore(tmp_path / "state" / "store.db", clock=Clock())
    made.create_run(run_row(), [fact()])
    yield made
    made.close()


def test_a_line_comes_back_as_it_was_written(store):
    """Every field of a journal line survives, and the store gives it its place."""
    store.append([line(1), dispatch(2)])
    assert list(store.entries("run-1")) == [
        replace(fact(), seq=1),
        replace(line(1), seq=2),
        replace(dispatch(2), seq=3),
    ]


def test_a_run_comes_back_as_it_was_made(store):
    """Every field of a run survives."""
    assert store.run("run-1") == run_row()
    assert store.run("run-2") is None


def test_runs_are_listed_newest_first(store):
    """`runs` is ordered by creation, and limited."""
    store.create_run(run_row("run-2"), [])
    assert [row.id for row in store.runs()] == ["run-2", "run-1"]
    assert [row.id for row in store.runs(limit=1)] == ["run-2"]


def test_a_callers_key_makes_its_retry_the_same_run(store):
    """F11: a second submission with the same principal and key is answered with the first run."""
    first = store.create_run(run_row("run-2", caller_key="order-7"), [])
    again = store.create_run(run_row("run-3", caller_key="order-7"), [])
    other = store.create_run(run_row("run-4", caller_key="order-7", principal="bob"), [])
    assert (first.id, again.id, other.id) == ("run-2", "run-2", "run-4")
    assert store.run("run-3") is None


def test_a_run_id_exists_once(store):
    """A second run of the same id is refused."""
    with pytest.raises(StoreError, match="the run `run-1` exists"):
        store.create_run(run_row(), [])


def test_handed_over_lines_ride_on_the_next_commit(store):
    """A reservation carries every answer that was released before it, in order."""
    store.note(line(1))
    assert store.pending == 1
    assert store.reserve(reservation(2)) is None
    assert store.pending == 0
    with sqlite3.connect(store.path) as other:
        assert other.execute("SELECT call FROM entries ORDER BY id").fetchall() == [("",), ("1.1",), ("1.2",)]
    other.close()


def test_a_receipt_is_seen_before_it_is_on_disk(store):
    """`receipt` includes what was handed over."""
    store.reserve(reservation())
    done = receipt(state=State.SUCCEEDED, value=b'{"version":9}')
    store.settle(line(1, tool="update_record"), done)
    assert store.receipt(done.key) == done
    store.flush()
    assert store.receipt(done.key) == done


@pytest.mark.parametrize(
    "state", [State.DISPATCHED, State.SUCCEEDED, State.PARTIAL, State.APPLIED_INVALID, State.UNKNOWN]
)
def test_a_key_is_taken_once(store, state):
    """F11: whatever the first use came to, unless nothing happened, a second one gets the receipt."""
    store.reserve(reservation())
    store.settle(line(1), receipt(state=state))
    assert store.reserve(reservation(2)) == KeyTaken(receipt(state=state))


def test_a_key_whose_call_did_nothing_is_free_for_the_same_arguments(store):
    """A declared failure without effect leaves the key; other arguments do not get it."""
    store.reserve(reservation())
    store.settle(line(1), receipt(state=State.FAILED))
    other = receipt(arguments="b" * 64)
    assert store.reserve(reservation(2, receipt=other)) == KeyTaken(receipt(state=State.FAILED))
    assert store.reserve(reservation(2)) is None


def test_an_unknown_outcome_is_taken_again_only_where_that_is_safe(store):
    """F10: in flight counts as unknown; only a reservation that says so may repeat it."""
    store.reserve(reservation())
    store.settle(line(1), receipt(state=State.UNKNOWN))
    assert store.reserve(reservation(2)) == KeyTaken(receipt(state=State.UNKNOWN))
    assert store.reserve(reservation(2, again=True)) is None


def test_a_lost_reservation_writes_no_line(store):
    """Key and line are taken together or not at all."""
    store.reserve(reservation())
    store.reserve(reservation(2))
    assert [entry.call for entry in store.entries("run-1")] == ["", "1.1"]


def test_many_reservations_share_a_commit_and_lose_alone(store):
    """One commit, each for itself."""
    outcome = store.reserve_all([reservation(1, "a"), reservation(2, "a"), reservation(3, "b")])
    assert outcome == [None, KeyTaken(receipt("a")), None]


def test_a_later_attempt_fences_the_former(store):
    """After `take_over` the former attempt can neither append, note, reserve nor finish."""
    assert store.take_over("run-1", "host:2", expected_attempt=1) == 2
    with pytest.raises(StoreError, match="belongs to attempt 2, this is attempt 1"):
        store.append([line(1)])
    with pytest.raises(StoreError, match="belongs to attempt 2"):
        store.finish(run_row(status="ended"), [])
    assert store.reserve(reservation()) == Fence("the run `run-1` belongs to attempt 2, this is attempt 1")
    assert store.receipt(receipt().key) is None
    store.append([replace(line(1), attempt=2)])


def test_lines_of_a_fenced_attempt_are_dropped_and_others_kept(store):
    """What a fenced attempt had handed over does not reach the disk, and the next line of it is refused."""
    store.create_run(run_row("run-2"), [])
    other = SqliteStore(store.path, clock=Clock())
    store.note(line(1))
    store.note(line(1, run="run-2"))
    other.take_over("run-1", "host:2", 1)
    store.flush()
    assert store.is_fenced("run-1", 1)
    with pytest.raises(StoreError, match="a later attempt owns the run `run-1`"):
        store.note(line(2))
    assert [entry.kind for entry in other.entries("run-1")] == ["run_created", "taken_over"]
    assert [entry.call for entry in other.entries("run-2")] == ["1.1"]
    other.close()


def test_a_run_is_taken_over_once(store):
    """Two that saw the same attempt: one gets it."""
    store.take_over("run-1", "host:2", 1)
    with pytest.raises(StoreError, match="taken over or ended by another process"):
        store.take_over("run-1", "host:3", 1)


def test_an_ended_run_is_not_taken_over(store):
    """The end of a run is final."""
    store.finish(run_row(status="ended", ending=b'{"outcome":"accepted"}', owner=""), [fact("ended")])
    assert store.run("run-1").ending == b'{"outcome":"accepted"}'
    with pytest.raises(StoreError, match="taken over or ended"):
        store.take_over("run-1", "host:2", 1)


def test_the_budget_snapshot_is_exact(store):
    """Money comes back as exact decimals, counts as they were; the last snapshot counts."""
    store.append([line(1)], {"calls": 1, "cost_usd": Decimal("0.1"), "wall_seconds": 0.25})
    store.note(line(2), {"calls": 2, "cost_usd": Decimal("0.30"), "wall_seconds": 0.5})
    store.flush()
    assert store.used("run-1") == {"calls": 2, "cost_usd": Decimal("0.30"), "wall_seconds": 0.5}


def test_the_high_water_mark_never_goes_back(store):
    """F06: expiry is judged against the later of now and the latest time that the store has seen."""
    store.append([line(1, at=NOW + 100)])
    again = SqliteStore(store.path, clock=Clock(NOW - 1000))
    assert again.judged_now() == NOW + 100
    again.close()


def test_the_file_is_closed_to_others(store):
    """Database, log, key and folder are the owner's alone."""
    store.append([line(1)])
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in store.path.parent.iterdir()}
    assert modes == dict.fromkeys(["store.db", "store.db-wal", "store.db-shm", "store.db.key"], "0o600")
    assert store.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_file_that_others_can_read_is_refused(store, tmp_path):
    """A store that stood open may have been written by anyone."""
    os.chmod(store.path, 0o644)
    with pytest.raises(StoreError, match="is open to other users"):
        SqliteStore(store.path)


def test_a_foreign_database_is_refused(tmp_path):
    """Another program's file is not taken over."""
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (a)")
    db.close()
    os.chmod(path, 0o600)
    with pytest.raises(StoreError, match="is a database of something else"):
        SqliteStore(path)


def test_a_newer_store_is_refused(store):
    """A file of a later version is left alone."""
    store.close()
    with sqlite3.connect(store.path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError, match="has version 99, this harness reads 1"):
        SqliteStore(store.path)


@pytest.mark.parametrize("text", [b"", b"not a database at all, but long enough to look like one" * 40])
def test_a_damaged_file_is_refused_with_a_way_out(tmp_path, text):
    """Garbage is named; an empty file of ours becomes a store."""
    path = tmp_path / "store.db"
    path.write_bytes(text)
    os.chmod(path, 0o600)
    if not text:
        SqliteStore(path).close()
        return
    with pytest.raises(StoreError, match="the file is no store of the harness"):
        SqliteStore(path)


def test_text_without_an_encoding_is_written_down_escaped(store):
    """C12: a lone surrogate in a name from outside never stops the journal or the audit."""
    store.append([line(1, tool="\ud83d")])
    assert next(entry.tool for entry in store.entries("run-1") if entry.call) == "\\ud83d"


def test_closing_twice_is_nothing(tmp_path):
    """`close` flushes, and may be called again."""
    made = SqliteStore(tmp_path / "store.db", clock=Clock())
    made.create_run(run_row(), [])
    made.note(line(1))
    made.close()
    made.close()
    again = SqliteStore(tmp_path / "store.db", clock=Clock())
    assert [entry.event for entry in again.entries("run-1")] == [Event.RETURN_VALID]
    again.close()


def test_a_full_disk_loses_nothing(store):
    """The sentence says what to do; once there is room the lines that were handed over are written, in order."""
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages + 2}")
    store.note(line(1, data=b"x" * 100_000))
    with pytest.raises(StoreError, match="the disk is full: make room and try again"):
        store.flush()
    assert store.pending == 1
    with pytest.raises(StoreError, match="the disk is full"):
        store.reserve(reservation(2))
    store._db.execute("PRAGMA max_page_count = 1000000")
    assert store.reserve(reservation(2)) is None
    assert [entry.call for entry in store.entries("run-1")] == ["", "1.1", "1.2"]
    assert verify(store.path) == []


def test_a_store_that_another_holds_is_said(store):
    """A writer that does not let go: a sentence after the wait, and the next write works."""
    store._db.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="another process holds the store"):
        store.append([line(1)])
    other.execute("ROLLBACK")
    other.close()
    store.append([line(1)])


def test_threads_share_a_store(store):
    """Several threads of one process: every line is there once, each key goes to one."""
    won: list[int] = []

    def work(thread: int) -> None:
        for number in range(50):
            store.note(line(number, task=str(thread)))
            if store.reserve(reservation(number, f"k{number}", receipt=receipt(f"k{number}"))) is None:
                won.append(number)

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == list(range(50))
    assert len(list(store.entries("run-1"))) == 1 + 200 + 50
    assert verify(store.path) == []


def test_a_transaction_that_fails_half_way_leaves_nothing(store):
    """A bundle that cannot be stored takes its journal line with it, and the chain goes on."""
    with pytest.raises(ValueError, match="at least one call"):
        store.store_bundle(Bundle("n", "B", "run-1", "L1", 1, 1, "approval", NOW, NOW, ()), [fact("bundle")])
    with pytest.raises(StoreError, match="there is no run `run-9`"):
        store.append([line(1), line(1, run="run-9")])
    store.append([line(1)])
    assert [entry.call or entry.kind for entry in store.entries("run-1")] == ["run_created", "1.1"]
    assert verify(store.path) == []


def test_many_lines_of_many_runs_share_a_commit(store):
    """Group commits are the process's, not the run's; each run keeps its own order and its last snapshot."""
    for run in ("run-2", "run-3"):
        store.create_run(run_row(run), [])
    for number in range(1, 4):
        for run in ("run-1", "run-2", "run-3"):
            store.note(line(number, run=run), {"calls": number})
    assert store.pending == 9
    store.flush()
    for run in ("run-2", "run-3"):
        assert [entry.seq for entry in store.entries(run)] == [1, 2, 3]
        assert store.used(run) == {"calls": 3}
