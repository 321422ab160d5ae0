"""The audit: every line there, in order, unchanged; a change, a gap, a cut or a fork is named at its exact place."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.core.errors import StoreError
from harness.core.verdict import Code, Decision, Verdict
from harness.ledger.anchors import anchor_path
from harness.ledger.audit import audit_lines, verify
from harness.ledger.keys import key_path
from harness.ledger.sqlite import SqliteStore
from tests.ledger.lines import Clock, dispatch, fact, line, receipt, reservation, run_row


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store with twelve lines."""
    where = tmp_path / "store.db"
    store = SqliteStore(where, clock=Clock())
    store.create_run(run_row(), [fact()])
    for number in range(1, 11):
        store.append([line(number)])
    store.finish(run_row(status="ended"), [fact("ended", data=b'{"outcome":"accepted","reason":"contract_passed"}')])
    store.close()
    return where


def edit(path: Path, *statements: str) -> None:
    """Someone with the file, and without the key."""
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


def found(path: Path) -> list[tuple[str, int, str]]:
    """Kind, line and sentence of every problem."""
    return [(problem.kind.value, problem.line, problem.message) for problem in verify(path)]


def test_a_whole_record_has_no_problem(path):
    """Nothing was touched: nothing is found."""
    assert verify(path) == []


def test_an_empty_store_has_no_problem(tmp_path):
    """No line yet is no gap."""
    SqliteStore(tmp_path / "store.db").close()
    assert verify(tmp_path / "store.db") == []


CHANGED = "the line was changed, or does not follow the one before it"


@pytest.mark.parametrize(
    "change",
    [
        "tool = 'drop_record'",
        "state = 'FAILED'",
        "state = 'NONSENSE'",
        "event = NULL",
        "verdict = x'ff'",
        "verdict = cast(replace(verdict, 'allow', 'deny') AS BLOB)",
        "ok = 0",
        "data = x'7b7d'",
        "data = 'text'",
        "answer = x'31'",
        "cost = x''",
        "released = 99",
        "task = '0.1'",
        "occurrence = 9",
        "at = at + 1",
        "key = 'k'",
        "used = x'7b7d'",
        "body = zeroblob(32)",
        "attempt = 2",
        "id = id + 100",
    ],
)
def test_an_edited_line_is_named(path, change):
    """F15: any column of one line, changed by someone who has the file and not the key."""
    with contextlib.suppress(sqlite3.IntegrityError):  # a strict table refuses the wrong type by itself
        edit(path, f"UPDATE entries SET {change} WHERE n = 5")
        assert found(path) == [("changed", 5, CHANGED)]


@pytest.mark.parametrize("change", ["principal = 'mallory'", "version = 4", "contract = 'other'", "digest = 'f'"])
def test_an_edited_run_is_named(path, change):
    """Principal, contract, version and digest are part of every line of the run."""
    edit(path, f"UPDATE runs SET {change}")
    assert found(path) == [("changed", number, CHANGED) for number in range(1, 13)]


def test_a_line_whose_digest_was_replaced_too_is_named(path):
    """F15: without the key the chain cannot be computed anew, the line and its follower no longer fit."""
    edit(path, "UPDATE entries SET tool = 'x', mac = zeroblob(32) WHERE n = 5")
    assert found(path) == [("changed", 5, CHANGED), ("changed", 6, CHANGED)]


def test_missing_lines_are_named(path):
    """F15: lines taken out of the middle."""
    edit(path, "DELETE FROM entries WHERE n IN (4, 5)")
    assert found(path) == [("gap", 4, "lines 4 to 5 are missing")]


def test_renumbered_lines_are_named(path):
    """F15: a gap that was closed by new numbers is a change at the first of them."""
    edit(path, "DELETE FROM entries WHERE n = 4", "UPDATE entries SET n = n - 1 WHERE n > 4")
    assert found(path)[0] == ("changed", 4, CHANGED)


def test_a_removed_run_is_named(path):
    """A run that is taken away leaves lines that nobody owns."""
    edit(path, "DELETE FROM runs")
    assert found(path)[0] == ("changed", 1, "the run of the line is missing")


def test_a_cut_tail_is_named(path):
    """F15: the last five lines are cut; the head in the store knows how many there were."""
    edit(path, "DELETE FROM entries WHERE n > 7")
    assert found(path) == [("cut", 8, "lines 8 to 12 are missing at the end")]


def test_a_cut_tail_with_a_forged_head_is_named(path):
    """F15: a head that was set back without the key is no head, and the anchor still knows."""
    edit(
        path,
        "DELETE FROM entries WHERE n > 7",
        "UPDATE head SET seq = 7, mac = (SELECT mac FROM entries WHERE n = 7)",
    )
    assert found(path) == [
        ("cut", 8, "lines 8 to 12 are missing at the end"),
        ("head", 0, "the stored head was not written by the harness"),
    ]


def test_an_added_line_is_named(path):
    """F15: a copy of a line, under the same number and behind the end."""
    columns = (
        "lineage, iteration, attempt, origin, task, call, tool, content, occurrence, kind, event, state, at, data, "
        "verdict, ok, answer, released, cost, digest, key, used"
    )
    copy = f"INSERT INTO entries SELECT id + 100, {columns}, {{}}, body, mac FROM entries WHERE n = 6"
    edit(path, copy.format("n"))
    assert found(path) == [("added", 6, "a second line has the number 6")]
    edit(path, "DELETE FROM entries WHERE (id & 4294967295) > 100", copy.format(13))
    assert found(path) == [("changed", 13, CHANGED), ("added", 13, "lines 13 to 13 stand behind the head")]


def test_erased_values_are_named_until_a_line_says_by_whom(path):
    """Arguments and answers may be erased, the chain holds without them; in secret they may not."""
    edit(path, "UPDATE entries SET data = NULL, answer = NULL WHERE n IN (5, 6)")
    assert found(path) == [("erased", 5, "arguments of run `run-1` were erased, and no line says by whom")]
    store = SqliteStore(path, clock=Clock())
    store.append([fact("erased", data=b'{"by":"gc","lines":2}')])
    assert [entry.data for entry in store.entries("run-1")][4:6] == [b"", b""]
    store.close()
    assert verify(path) == []


def test_a_store_that_was_set_back_is_named_by_its_anchors(path, tmp_path):
    """F15: the whole file replaced by an older copy, with its own good head: the anchors saw more."""
    old = tmp_path / "old.db"
    shutil.copy(path, old)
    store = SqliteStore(path, clock=Clock())
    store.create_run(run_row("run-2"), [fact(run="run-2")])
    store.close()
    shutil.copy(old, path)
    assert found(path) == [("cut", 13, "line 13 is missing at the end")]


def test_a_fork_is_named_by_its_anchors(path, tmp_path):
    """F15: set back and written on, long enough to hide the cut: the anchor saw another line there."""
    old = tmp_path / "old.db"
    shutil.copy(path, old)
    for run in ("run-2", "run-3"):
        store = SqliteStore(path, clock=Clock())
        store.create_run(run_row(run), [fact(run=run)])
        store.close()
        if run == "run-2":
            shutil.copy(old, path)
    assert [(kind, number) for kind, number, _ in found(path)] == [("fork", 13)]


def test_a_torn_last_anchor_is_left_out_and_another_damage_is_said(path):
    """F15: a crash in mid-line is no damage; a broken line before it is."""
    with open(anchor_path(path), "ab") as file:
        file.write(b'{"n": 99, "mac"')
    assert verify(path) == []
    with open(anchor_path(path), "ab") as file:
        file.write(b"\n")
    with pytest.raises(StoreError, match=r"line 2 of the anchor file `.*` is damaged"):
        verify(path)


def test_without_the_key_nothing_is_verified(path):
    """A missing key is said; another key finds every line changed."""
    os.unlink(key_path(path))
    assert found(path) == [("key", 0, f"the key `{key_path(path)}` is missing: nothing can be verified")]
    assert [problem.line for problem in verify(path, key=bytes(32))][:1] == [1]


def test_a_line_holds_no_argument_no_value_no_sentence(tmp_path):
    """Names, codes, counts and keyed digests only; what was said in full stays in the journal."""
    store = SqliteStore(tmp_path / "store.db", clock=Clock())
    store.create_run(run_row(), [fact(data=b'{"policy":"p1","inputs":{"card":"4111"}}')])
    verdict = Verdict(Decision.DENY, Code.OUT_OF_SCOPE, ("`4111` is not allowed",), "hint 4111")
    secret = line(1, data=b'{"card":"4111"}', verdict=verdict, key="4111", task="4111")
    store.append([secret, replace(secret, tool="4111", verdict=replace(verdict, code=Code.UNLISTED))])
    store.reserve(reservation(receipt=receipt("4111"), entry=dispatch(key="4111")))
    store.close()
    lines = list(audit_lines(tmp_path / "store.db"))
    assert "4111" not in json.dumps(lines)
    assert lines[0]["facts"] == {"policy": "p1"}
    line_of_call = {name: value for name, value in lines[1].items() if name not in ("digest", "key")}
    assert line_of_call == {
        "n": 2,
        "at": "2023-11-14T22:13:20.000000Z",
        "run": "run-1",
        "seq": 2,
        "principal": "alice",
        "contract": "repair",
        "version": 3,
        "contract_digest": "d" * 64,
        "iteration": 1,
        "attempt": 1,
        "kind": "call",
        "call": "1.1",
        "tool": "read_record",
        "event": "return_valid",
        "state": "SUCCEEDED",
        "provenance": "code",
        "decision": "deny",
        "code": "out_of_scope",
        "reasons": 1,
        "answered": "ok",
        "answer_bytes": 22,
        "cost": {"calls": 1},
    }


def test_equal_digests_are_equal_only_under_one_key(tmp_path):
    """Digests are keyed: another store's lines for the same call tell nothing."""
    digests = []
    for name in ("a", "b"):
        store = SqliteStore(tmp_path / f"{name}.db", clock=Clock())
        store.create_run(run_row(), [line(1), line(2)])
        store.close()
        digests.append([found["digest"] for found in audit_lines(tmp_path / f"{name}.db")])
    assert digests[0][0] == digests[0][1]
    assert digests[0][0] != digests[1][0]
    assert digests[0][0] != line(1).digest


def test_verify_reads_beside_a_writer(path):
    """A running host does not disturb it, and is not disturbed."""
    store = SqliteStore(path, clock=Clock())
    store.create_run(run_row("run-2"), [fact(run="run-2")])
    assert verify(path) == []
    store.append([line(1, run="run-2")])
    assert verify(path) == []
    store.close()


WRITER = """
import sys
from harness.ledger.sqlite import SqliteStore
from tests.ledger.lines import line, run_row
run = sys.argv[2]
store = SqliteStore(sys.argv[1])
store.create_run(run_row(run), [])
print("ready", flush=True)
sys.stdin.readline()
for number in range(1, 1001):
    store.note(line(number, run=run))
    if number % 10 == 0:
        store.flush()
store.close()
"""


def test_two_writers_make_one_chain(tmp_path):
    """F15: two processes append a thousand lines each; one chain, no fork, every line in its run's order."""
    path = tmp_path / "store.db"
    SqliteStore(path).close()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), run], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for run in ("run-a", "run-b")
    ]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    assert [(writer.communicate()[1], writer.returncode) for writer in writers] == [(None, 0), (None, 0)]
    assert verify(path) == []
    store = SqliteStore(path)
    for run in ("run-a", "run-b"):
        assert [entry.call for entry in store.entries(run)] == [f"1.{number}" for number in range(1, 1001)]
    assert store.audit_head().partition(":")[0] == "2000"
    store.close()
