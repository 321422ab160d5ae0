"""Two processes that share one run, one grant, one chain, a hundred times each: nothing is spent or written twice."""

from collections import Counter
from pathlib import Path

import pytest

from harness.core.bundle import GrantRow
from harness.ledger.audit import verify
from harness.ledger.sqlite import SqliteStore
from tests.ledger.lines import NOW, run_row
from tests.ledger.sharers import BUDGET_CALLS, GRANT_CALLS
from tests.ledger.test_processes import ROUNDS, race

HEAD = "from tests.ledger.sharers import *; "


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with one run, and one more for each round."""
    where = tmp_path / "store.db"
    store = SqliteStore(where)
    store.create_run(run_row(), [])
    for number in range(ROUNDS):
        store.create_run(run_row(f"run-{number}-r"), [])
    store.close()
    return where


def test_one_budget_is_spent_once(path):
    """F05: two hosts take a run from one another while it spends: each goes on from what the other made durable, and
    together they spend what one may."""
    first, second = race(HEAD + "spend_budgets()", path, "a", "b")
    assert Counter(first + second) == {f"run-{number}-r": BUDGET_CALLS for number in range(ROUNDS)}
    store = SqliteStore(path)
    for number in range(ROUNDS):
        run = f"run-{number}-r"
        spent = [entry.occurrence for entry in store.entries(run) if entry.event is not None]
        assert spent == list(range(1, BUDGET_CALLS + 1))
        assert store.used(run)["calls"] == BUDGET_CALLS
    store.close()
    assert verify(path) == []


def test_one_grant_is_used_as_often_as_it_says(path):
    """F09: two processes that use a bounded grant to its end: together they make as many calls as it allows."""
    store = SqliteStore(path)
    for number in range(ROUNDS):
        grant = GrantRow(f"grant:{number}", "run-1", "update_record", GRANT_CALLS, 0, "", NOW * 2, "bob", NOW)
        store.add_grant(grant, [])
    store.close()
    first, second = race(HEAD + "use_grants()", path, "a", "b")
    assert Counter(first + second) == {str(number): GRANT_CALLS for number in range(ROUNDS)}
    assert verify(path) == []


def test_one_chain_is_written_by_two(path):
    """F15: lines that ride and lines that are committed, from both at once: every one stands once, in the order of its
    writer, and the chain verifies."""
    race(HEAD + "append_lines()", path, "a", "b")
    store = SqliteStore(path)
    kinds = [entry.kind for entry in store.entries("run-1")]
    store.close()
    for writer in ("a", "b"):
        own = [kind for kind in kinds if kind.startswith(writer)]
        assert own == [f"{writer}-{n}-{what}" for n in range(ROUNDS) for what in ("ridden", "first", "second")]
    assert len(kinds) == 6 * ROUNDS
    assert verify(path) == []
