"""Two processes on one database, and one that is killed: keys, attempts, decisions and the chain hold."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from harness.core.bundle import WaitState
from harness.ledger.audit import verify
from harness.ledger.sqlite import SqliteStore
from tests.ledger.lines import NOW, fact, run_row
from tests.ledger.test_bundles import BUNDLE

ROUNDS = 100
"""Times that each race is run: a race that one in twenty loses is then missed once in 170."""


def start(script: str, *arguments: str) -> "subprocess.Popen[str]":
    """A process of its own, which waits for `go`."""
    head = "import sys, json\nfrom tests.ledger.racers import *\n"
    racer = subprocess.Popen(
        [sys.executable, "-c", head + script, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert racer.stdout is not None
    assert racer.stdout.readline() == "ready\n"
    return racer


def race(script: str, path: Path, *names: str) -> list[list[str]]:
    """What each of the processes printed after both were let go."""
    racers = [start(script, str(path), name) for name in names]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    return [racer.communicate()[0].split() for racer in racers]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with one run."""
    where = tmp_path / "store.db"
    store = SqliteStore(where)
    store.create_run(run_row(), [])
    store.close()
    return where


def test_one_key_is_taken_by_one(path):
    """F11: a hundred keys, two processes that want each at the same time: every key is dispatched once."""
    first, second = race("take_keys()", path, "a", "b")
    taken = sorted(first + second, key=int)
    assert taken == [str(number) for number in range(ROUNDS)]
    store = SqliteStore(path)
    assert [entry.key for entry in store.entries("run-1")].count("key-0") == 1
    store.close()
    assert verify(path) == []


def test_one_run_is_resumed_by_one(path):
    """F05: two hosts see the same attempt a hundred times over: one gets it each time, the other is told."""
    store = SqliteStore(path)
    for number in range(ROUNDS):
        store.create_run(run_row(f"run-{number}-r"), [])
    store.close()
    first, second = race("take_runs()", path, "a", "b")
    assert sorted(first + second, key=int) == [str(number) for number in range(ROUNDS)]


def test_one_decision_is_taken(path):
    """F05: a hundred bundles, decided at once by one who approves and one who rejects: one word stands for each."""
    store = SqliteStore(path)
    for number in range(ROUNDS):
        asks = tuple(ask_of(ask, number) for ask in BUNDLE.asks)
        bundle = replace_bundle(number, asks)
        store.store_bundle(bundle, [fact("bundle")])
    store.close()
    approve, reject = race("decide_all()", path, "approve", "reject")
    assert sorted(approve + reject, key=int) == [str(number) for number in range(ROUNDS)]
    store = SqliteStore(path)
    for number in range(ROUNDS):
        expected = WaitState.APPROVED if str(number) in approve else WaitState.REJECTED
        assert [ask.state for ask in store.bundle(f"B-{number}").asks] == [expected, expected]
    store.close()
    assert verify(path) == []


def test_one_submission_makes_one_run(path):
    """F11: a hundred submissions with a caller's key, each sent twice at once: one run each."""
    first, second = race("submit()", path, "a", "b")
    assert first == second
    assert len(set(first)) == ROUNDS


def test_one_approval_is_used_once(path):
    """F09: two processes that reserve the same approved call: one dispatches it."""
    store = SqliteStore(path)
    for number in range(ROUNDS):
        store.store_bundle(replace_bundle(number, tuple(ask_of(ask, number) for ask in BUNDLE.asks)), [])
    store.close()
    race("decide_all()", path, "approve")
    first, second = race("use_approvals()", path, "a", "b")
    assert sorted(first + second, key=int) == [str(number) for number in range(ROUNDS)]


@pytest.mark.parametrize("delay_ms", [0, 3, 7, 15, 30, 60])
def test_a_writer_that_is_killed_leaves_whole_transactions(path, delay_ms):
    """F15: SIGKILL in mid-commit: line, key and audit are there together or not at all, and writing goes on."""
    racer = start("write_effects_for_ever()", str(path), "a")
    assert racer.stdin is not None
    racer.stdin.write("go\n")
    racer.stdin.flush()
    time.sleep(0.05 + delay_ms / 1000)
    os.kill(racer.pid, signal.SIGKILL)
    confirmed = racer.communicate()[0].split()
    assert verify(path) == []
    store = SqliteStore(path)
    on_disk = [entry.key for entry in store.entries("run-1") if entry.event is not None]
    keys = {row[0] for row in store._rows("SELECT key FROM receipts", ())}
    assert keys == set(on_disk)
    assert set(confirmed) <= keys
    store.append([fact("ended")])
    store.close()
    assert verify(path) == []


def test_a_store_opened_by_many_at_once_is_made_once(tmp_path):
    """Two first starts: one schema, one key."""
    where = tmp_path / "new" / "store.db"
    (tmp_path / "new").mkdir(mode=0o700)
    first, second = race("open_new()", where, "a", "b")
    assert (first, second) == (["done"], ["done"])
    assert verify(where) == []
    assert sorted(entry.name for entry in where.parent.iterdir() if "key" in entry.name) == ["store.db.key"]


def ask_of(ask, number):
    """The bundle's call under ids of its own."""
    return replace(ask, id=f"{ask.id}-{number}", occurrence=number + 1 if ask.id == "ask-1" else 5000 + number)


def replace_bundle(number, asks):
    """The bundle under ids of its own."""
    return replace(BUNDLE, id=f"nonce-{number}", reference=f"B-{number}", asks=asks, expires_at=NOW * 2)
