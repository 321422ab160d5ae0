"""What two processes do that share a run, a grant or the chain; each waits for a line on its standard input."""

import sys
from dataclasses import replace

from harness.core.budget import Budget
from harness.core.errors import StoreError
from harness.core.ports import Fence
from harness.ledger.sqlite import SqliteStore
from tests.ledger.lines import dispatch, fact, reservation
from tests.ledger.racers import ROUNDS, _ready, _store

BUDGET_CALLS = 6
GRANT_CALLS = 3


def spend_budgets() -> None:
    """Print the run of every effect that this process was let do, as it takes each from the other."""
    store = _store()
    _ready()
    for number in range(ROUNDS):
        run = f"run-{number}-r"
        while not _spend(store, run):
            continue
    store.close()


def _spend(store: SqliteStore, run: str) -> bool:
    """One attempt at a run; whether its budget is used up now."""
    row = store.run(run)
    assert row is not None
    try:
        attempt = store.take_over(run, sys.argv[2], row.attempt)
    except StoreError:
        return False
    budget = Budget({"calls": BUDGET_CALLS})
    budget.restore(store.used(run))
    while budget.charge({"calls": 1}) is None:
        entry = dispatch(int(budget.snapshot()["calls"]), run=run, attempt=attempt)
        lost = store.reserve(reservation(entry=entry, receipt=None, used=budget.snapshot()))
        if isinstance(lost, Fence):
            return False
        print(run)
    return True


def use_grants() -> None:
    """Print the grant of every call that this process was let make."""
    store = _store()
    _ready()
    for number in range(ROUNDS):
        for _ in range(GRANT_CALLS):
            entry = replace(dispatch(1), occurrence=number + 1)
            if store.reserve(reservation(entry=entry, receipt=None, approval=f"grant:{number}")) is None:
                print(number)
    store.close()


def append_lines() -> None:
    """Lines that ride on later commits, and lines that are committed at once, in turn."""
    store = _store()
    _ready()
    for number in range(ROUNDS):
        kind = f"{sys.argv[2]}-{number}"
        store.note(fact(f"{kind}-ridden"))
        store.append([fact(f"{kind}-first"), fact(f"{kind}-second")])
    store.close()
