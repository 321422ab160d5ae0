"""What the processes of the race tests do; each waits for a line on its standard input."""

import sys
from dataclasses import replace
from pathlib import Path

from harness.core.bundle import CallDecision, Decided, Taken
from harness.core.errors import StoreError
from harness.ledger.sqlite import SqliteStore
from tests.ledger.lines import dispatch, receipt, reservation, run_row

ROUNDS = 100


def _ready() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


def _store() -> SqliteStore:
    return SqliteStore(Path(sys.argv[1]))


def take_keys() -> None:
    """Print every key that this process got."""
    store = _store()
    _ready()
    for number in range(ROUNDS):
        if store.reserve(reservation(number, f"key-{number}", receipt=receipt(f"key-{number}"))) is None:
            print(number)
    store.close()


def take_runs() -> None:
    """Print every run that this process got."""
    store = _store()
    _ready()
    for number in range(ROUNDS):
        try:
            store.take_over(f"run-{number}-r", sys.argv[2], 1)
            print(number)
        except StoreError:
            continue
    store.close()


def decide_all() -> None:
    """Print every bundle that this process decided."""
    store = _store()
    _ready()
    for number in range(ROUNDS):
        bundle = store.bundle(f"B-{number}")
        assert bundle is not None
        calls = tuple(CallDecision(ask.id, sys.argv[2] == "approve", ask.digest) for ask in bundle.asks)
        if store.decide(Decided(bundle.id, calls, sys.argv[2], "cli", b"{}")) is Taken.TAKEN:
            print(number)
    store.close()


def use_approvals() -> None:
    """Print every approval that this process used."""
    store = _store()
    _ready()
    for number in range(ROUNDS):
        entry = replace(dispatch(1), occurrence=number + 1)
        if store.reserve(reservation(entry=entry, receipt=None, approval=f"ask-1-{number}")) is None:
            print(number)
    store.close()


def submit() -> None:
    """Print the run that each submission got."""
    store = _store()
    _ready()
    for number in range(ROUNDS):
        print(store.create_run(run_row(f"run-{sys.argv[2]}-{number}", caller_key=f"key-{number}"), []).id)
    store.close()


def write_effects_for_ever() -> None:
    """Reserve keys until killed; print each one that was confirmed."""
    store = _store()
    _ready()
    number = 0
    while True:
        number += 1
        key = f"key-{number}"
        store.reserve(reservation(number, key, receipt=receipt(key)))
        sys.stdout.write(key + "\n")
        sys.stdout.flush()


def open_new() -> None:
    """Make the store, or find it made."""
    _ready()
    store = _store()
    store.create_run(run_row(f"run-{sys.argv[2]}"), [])
    store.close()
    print("done")
