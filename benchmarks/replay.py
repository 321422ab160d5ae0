"""Replay of 10,000 journalled calls, and the durable cost of effects, beside an echo, a bare commit and fsync."""

import asyncio
import json
import os
import socket
import sqlite3
import statistics
import struct
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.baselines import echo, pinned
from benchmarks.figure import Figure
from benchmarks.forked import ForkedBackend, forked
from harness.api import Harness
from harness.contract.policy import Policy
from harness.core.budget import Amount
from harness.core.canonical import digest
from harness.core.ports import Receipt, ReceiptKey, Reservation, RunRow
from harness.core.state import Event, State
from harness.ledger.sqlite import SqliteStore
from harness.registry.from_function import from_function
from harness.registry.registry import Registry
from harness.registry.settings import Settings
from harness.run.entries import Where, fact_entry
from harness.testing import BoxSide

__all__ = ["CALLS", "figures"]

CALLS = 10_000
"""Journalled reads of the paused run that is replayed."""
EFFECTS = 300
"""Effects that are made durable one after the other."""
TOGETHER = 100
"""Effects that are made durable in one commit."""


def figures() -> list[dict[str, object]]:
    """The rows of `replay` and `durable_effect`, each with its baseline of the same run."""
    with pinned():
        u1 = echo()
    with tempfile.TemporaryDirectory() as folder:
        replayed, whole, echoed = asyncio.run(_replay(Path(folder)))
        alone, together, c, synced = _effects(Path(folder))
    note = f"in-memory echo of the same snippet: {echoed:.1f} us a call"
    rows = [
        Figure("replay", [replayed], "us", "U1", u1, 3, note=note),
        Figure("replay.against_echo", [replayed], "us", "in-memory echo of the same snippet", echoed, 10),
        Figure("replay.from_the_resume_on", [whole], "us", "in-memory echo of the same snippet", echoed, 10),
        Figure("durable_effect", alone, "us", "C", c, 1.6, note=f"a bare fsync: {synced:.1f} us"),
        Figure("durable_effect.of_100_in_parallel", together, "us", "C", c, 0.15, note="each, in one commit"),
    ]
    return [row.to_json() for row in rows]


# --- replay --------------------------------------------------------------------------------------------------


def read(number: int) -> int:
    """Read a number."""
    return number


def put(number: int) -> int:
    """Put a number down, with a person's word."""
    return number


def _calls(marks: Path) -> Callable[[BoxSide], None]:
    """The snippet of both sides: calls one after the other; what each took, in µs, and when the last
    one was answered becomes a line of `marks`."""

    def play(box: BoxSide) -> None:
        began = time.perf_counter()
        for number in range(CALLS):
            box.call("read", number=number)
        ended = time.perf_counter()
        with marks.open("a") as file:
            file.write(f"{(ended - began) / CALLS * 1_000_000} {ended}\n")

    return play


def _script(marks: Path) -> Callable[[BoxSide], None]:
    """The calls, and then one that waits for a person."""
    calls = _calls(marks)

    def play(box: BoxSide) -> None:
        box.hello()
        box.open()
        calls(box)
        waiting = box.send_call("put", {"number": 1})
        box.send({"t": "idle", "waiting": [waiting]})
        box.receive()

    return play


async def _replay(folder: Path) -> tuple[float, float, float]:
    """µs a replayed call, the same with all that comes before the first, and µs a call against an echo."""
    marks = folder / "marks"
    registry = Registry()
    registry.add(from_function(read, Settings(effect="read", inline=True)))
    registry.add(from_function(put, Settings(effect="write", approval="always", preview="put {number}")))
    contract = {
        "contract": "replay",
        "version": 1,
        "output": {"schema": {"type": "integer"}},
        "budget": {
            "tokens": 0,
            "cost_usd": "0",
            "wall_seconds": 600,
            "retries": 0,
            "iterations": 1,
            "calls": 2 * CALLS,
        },
        "permissions": {"tools": [{"tool": "read"}, {"tool": "put"}]},
        "completion": {"success": "true"},
        "destination": [{"to": "file:results/${run.id}.json"}],
    }
    policy = Policy(policy="bench", version=1)
    harness = Harness(registry, folder=folder, policy=policy, backend=ForkedBackend(_script(marks)))
    async with harness:
        paused = await harness.run(contract, "return 1")
        began = time.perf_counter()
        await harness.resume(paused.run)
    _echo(marks)
    _, (replayed, ended), (echoed, _) = (map(float, line.split()) for line in marks.read_text().splitlines())
    return replayed, (ended - began) / CALLS * 1_000_000, echoed


def _echo(marks: Path) -> None:
    """The same calls against a loop that answers each frame with the same value, from memory, and knows no rule."""
    host, child = forked(_calls(marks))
    while head := host.recv(4, socket.MSG_WAITALL):
        number = json.loads(host.recv(struct.unpack(">I", head)[0], socket.MSG_WAITALL))["id"]
        body = b'{"t":"answer","id":%d,"at":0,"ok":1}' % number
        host.sendall(struct.pack(">I", len(body)) + body)
    host.close()
    os.waitpid(child, 0)


# --- effects -------------------------------------------------------------------------------------------------


def _effects(folder: Path) -> tuple[list[float], list[float], float, float]:
    """µs for one durable effect, for each of many that share a commit, for a bare commit and a bare fsync.

    In turn, one after the other: a disk that is busy with other work is busy for all of them.
    """
    bare = sqlite3.connect(folder / "bare.db", isolation_level=None)
    for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "CREATE TABLE t (b TEXT)"):
        bare.execute(statement)
    descriptor = os.open(folder / "synced", os.O_WRONLY | os.O_CREAT, 0o600)
    commits: list[float] = []
    syncs: list[float] = []
    store = SqliteStore(folder / "effects" / "journal.db")
    now = time.time()
    row = RunRow("run-1", "bench", 1, "d" * 64, "alice", now, "running", 1, "", b"{}")
    store.create_run(row, [fact_entry(Where("run-1", "run-1.1", 0, 1), "run_created", now, {})])
    alone: list[float] = []
    for number in range(EFFECTS):
        began = time.perf_counter()
        store.reserve(_reservation(number, now))
        alone.append((time.perf_counter() - began) * 1_000_000)
        began = time.perf_counter()
        bare.execute("INSERT INTO t VALUES (?)", ("x" * 400,))
        commits.append((time.perf_counter() - began) * 1_000_000)
        began = time.perf_counter()
        os.write(descriptor, b"x" * 200)
        os.fsync(descriptor)
        syncs.append((time.perf_counter() - began) * 1_000_000)
    together: list[float] = []
    for turn in range(5):
        wanted = [_reservation(EFFECTS + turn * TOGETHER + number, now) for number in range(TOGETHER)]
        began = time.perf_counter()
        store.reserve_all(wanted)
        together.append((time.perf_counter() - began) / TOGETHER * 1_000_000)
    store.close()
    bare.close()
    os.close(descriptor)
    return alone, together, statistics.median(commits), statistics.median(syncs)


def _reservation(number: int, now: float) -> Reservation:
    entry = fact_entry(Where("run-1", "run-1.1", 1, 1), "call", now, {"number": number})
    content = digest("write", {"number": number})
    entry = replace(
        entry,
        origin="snippet",
        task="0",
        call=f"1.{number}",
        tool="write",
        content=content,
        occurrence=1,
        event=Event.DISPATCH,
        state=State.DISPATCHED,
        digest=content,
        key=content,
    )
    receipt = Receipt(ReceiptKey("write", "alice", content), content, "run-1", entry.call, State.DISPATCHED, at=now)
    used: dict[str, Amount] = {"calls": number}
    return Reservation(entry, receipt, used=used)


if __name__ == "__main__":
    print(json.dumps(figures(), indent=2))
