"""The journal of a run: groups for reads, a commit before effects, and every commit carries what came before it."""

import asyncio
from pathlib import Path

import pytest

from harness.core.call import Answer
from harness.core.errors import StoreError
from harness.core.ports import Fence
from harness.core.state import State
from harness.ledger.journal import GROUP_BYTES, GROUP_LINES, GROUP_SECONDS, Journal, entry_bytes
from harness.ledger.sqlite import SqliteStore
from tests.ledger.lines import Clock, fact, line, receipt, reservation, run_row


@pytest.fixture
def store(tmp_path: Path):
    made = SqliteStore(tmp_path / "store.db", clock=Clock())
    made.create_run(run_row(), [])
    yield made
    made.close()


def on_disk(store: SqliteStore) -> int:
    """Lines that another process sees."""
    return int(store.audit_head().partition(":")[0])


def test_reads_share_a_commit(store):
    """Lines wait until the group is full."""
    journal = Journal(store, "run-1", 1)
    for number in range(1, GROUP_LINES):
        journal.note(line(number))
    assert (on_disk(store), journal.pending) == (0, GROUP_LINES - 1)
    journal.note(line(GROUP_LINES))
    assert (on_disk(store), journal.pending) == (GROUP_LINES, 0)


def test_large_answers_do_not_pile_up(store):
    """Bytes make a group as well as lines: memory stays bounded."""
    journal = Journal(store, "run-1", 1)
    big = line(1, answer=Answer(True, b"x" * (GROUP_BYTES // 2)))
    journal.note(big)
    assert journal.pending == 1
    journal.note(big)
    assert journal.pending == 0
    assert journal.bytes == 2 * entry_bytes(big)


def test_an_effect_commits_what_was_released_before_it(store):
    """A dispatch carries every answer that came before: no replay can know the effect and not the reads behind it."""
    journal = Journal(store, "run-1", 1)
    journal.note(line(1))
    assert journal.reserve(reservation(2)) is None
    assert on_disk(store) == 2


def test_facts_that_count_are_committed_at_once(store):
    """A bundle, a decision, a result."""
    journal = Journal(store, "run-1", 1)
    journal.note(line(1))
    journal.commit([fact("bundle")])
    assert on_disk(store) == 2


def test_an_outcome_rides_on_the_next_commit(store):
    """Settled at once for readers of the receipt, on disk with the group."""
    journal = Journal(store, "run-1", 1)
    journal.reserve(reservation(1))
    journal.settle(line(1), receipt(state=State.SUCCEEDED))
    assert (on_disk(store), store.receipt(receipt().key).state) == (1, State.SUCCEEDED)
    journal.flush()
    assert on_disk(store) == 2


def test_a_group_does_not_wait_for_ever(store):
    """On a loop a lone read is durable within `GROUP_SECONDS`."""

    async def one_read() -> tuple[int, int]:
        journal = Journal(store, "run-1", 1)
        journal.note(line(1))
        before = on_disk(store)
        await asyncio.sleep(4 * GROUP_SECONDS)
        return before, on_disk(store)

    assert asyncio.run(one_read()) == (0, 1)


def test_the_budget_goes_with_the_lines(store):
    """The snapshot of the moment of the last line is what a resume restores."""
    used = {"calls": 0}
    journal = Journal(store, "run-1", 1, lambda: dict(used))
    for number in (1, 2):
        used["calls"] = number
        journal.note(line(number))
    used["calls"] = 99
    store.flush()
    assert store.used("run-1") == {"calls": 2}


def test_a_fenced_journal_says_so(store):
    """Each way of writing tells the host that another one has the run."""
    journal = Journal(store, "run-1", 1)
    journal.note(line(1))
    store.take_over("run-1", "other", 1)
    assert journal.reserve(reservation(2)) == Fence("the run `run-1` belongs to attempt 2, this is attempt 1")
    other = Journal(store, "run-1", 1)
    with pytest.raises(StoreError, match="belongs to attempt 2"):
        other.commit([fact("ended")])
    other = Journal(store, "run-1", 2)
    other.note(line(2, attempt=2))
    other.flush()
    assert [entry.call or entry.kind for entry in store.entries("run-1")] == ["1.1", "taken_over", "1.2"]


def test_a_flush_that_dropped_lines_raises(store, tmp_path):
    """Lines of a fenced attempt are never half there: the flush says that they are lost."""
    journal = Journal(store, "run-1", 1)
    journal.note(line(1))
    other = SqliteStore(store.path)
    other.take_over("run-1", "other", 1)
    other.close()
    with pytest.raises(StoreError, match="a later attempt owns the run `run-1`"):
        journal.flush()
