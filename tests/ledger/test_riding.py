"""How a run begins and ends rides on the commits around it, and whoever reads it sees it."""

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.core.call import Call, Origin
from harness.core.canonical import digest
from harness.core.errors import IllegalTransition, StoreError
from harness.core.state import Event, State
from harness.ledger.audit import verify
from harness.ledger.journal import GROUP_SECONDS, Journal
from harness.ledger.sqlite import SqliteStore
from harness.ledger.unsettled import UNSETTLED
from tests.ledger.lines import Clock, fact, line, reservation, run_row


@pytest.fixture
def store(tmp_path: Path):
    made = SqliteStore(tmp_path / "store.db", clock=Clock())
    yield made
    made.close()


def on_disk(store: SqliteStore) -> int:
    """Lines that another process sees."""
    return int(store.audit_head().partition(":")[0])


def test_a_new_run_goes_with_the_first_commit(store):
    """Nothing is on disk before it; its row and its lines come together, before the line that asked for the commit."""
    store.note_run(run_row(), [fact()])
    assert (on_disk(store), store.attempt("run-1")) == (0, 0)
    store.append([line(1)])
    assert list(store.entries("run-1")) == [replace(fact(), seq=1), replace(line(1), seq=2)]
    assert (on_disk(store), store.attempt("run-1")) == (2, 1)


def test_an_effect_stands_behind_the_run_that_it_belongs_to(store):
    """The reservation of a run that was only handed over is taken, with the row before it."""
    store.note_run(run_row(), [fact()])
    assert store.reserve(reservation(1, "a")) is None
    assert store.run("run-1") == run_row()
    assert verify(store.path) == []


def test_who_reads_a_run_sees_what_was_handed_over(store):
    """`run` and `runs` write it first."""
    store.note_run(run_row(), [fact()])
    assert store.run("run-1") == run_row()
    closed = run_row(status="ended", owner="", ending=b"{}")
    store.note_finish(closed, [fact("delivery")])
    assert store.runs() == [closed]
    assert on_disk(store) == 2


def test_a_fenced_attempt_closes_nothing(store):
    """Another process took the run over in between: what was handed over is dropped, and told from then on."""
    store.note_run(run_row(), [fact()])
    store.flush()
    store.note_finish(run_row(status="ended"), [])
    other = SqliteStore(store.path, clock=Clock())
    assert other.take_over("run-1", "other", 1) == 2
    other.close()
    store.flush()
    assert store.is_fenced("run-1", 1)
    found = store.run("run-1")
    assert (found.status, found.attempt, found.owner) == ("running", 2, "other")
    with pytest.raises(StoreError):
        store.note_finish(run_row(status="ended"), [])


def test_a_journal_writes_them_with_its_group(store):
    """Within the time of a group, without a further call."""

    async def whole() -> list[int]:
        journal = Journal(store, "run-1", 1)
        journal.begin(run_row(), [fact()])
        seen = [on_disk(store)]
        await asyncio.sleep(4 * GROUP_SECONDS)
        seen.append(on_disk(store))
        journal.end(run_row(status="ended"), [])
        await asyncio.sleep(4 * GROUP_SECONDS)
        assert store not in UNSETTLED
        return seen

    assert asyncio.run(whole()) == [0, 1]
    assert store.run("run-1") == run_row(status="ended")


def test_a_program_that_ends_without_closing_leaves_nothing_unwritten(tmp_path: Path):
    """Also where it has let go of the store."""
    path = tmp_path / "store.db"
    text = (
        "from pathlib import Path\n"
        "from harness.ledger.sqlite import SqliteStore\n"
        "from tests.ledger.lines import Clock, fact, run_row\n"
        "def work():\n"
        f"    store = SqliteStore({str(path)!r}, clock=Clock())\n"
        "    store.note_run(run_row(), [fact()])\n"
        "    store.note_finish(run_row(status='ended'), [])\n"
        "work()\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True, cwd=Path(__file__).parents[2])
    store = SqliteStore(path, clock=Clock())
    assert store.run("run-1") == run_row(status="ended")
    store.close()


def test_nothing_to_withdraw_writes_nothing(store):
    """A run without open bundles ends without a transaction of its own."""
    store.create_run(run_row(), [fact()])
    store.note(line(1))
    assert store.withdraw("run-1", "the run has ended") == ()
    assert store.pending == 1


def test_a_call_may_move_several_times_at_once():
    """As one move after the other; a move that the table lacks leaves the call as it was."""
    call = Call(
        "1.1", "run-1", "run-1.1", 1, 1, Origin.SNIPPET, "0", "read", {"n": 1}, digest("read"), 1, 2.5, ordinal=3
    )
    assert call.moved(Event.RESERVE, Event.DISPATCH) == replace(call, state=State.DISPATCHED)
    with pytest.raises(IllegalTransition):
        call.moved(Event.RESERVE, Event.RETURN_VALID)
    assert call.state is State.RECEIVED
