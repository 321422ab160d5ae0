"""Baselines of this machine, measured in the same run as the figures: P, U1, U2, C."""

import os
import socket
import sqlite3
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["commit", "echo", "pinned", "python_start"]

PYTHON = "/usr/bin/python3"
"""The system's own interpreter: one that a version manager puts on the path costs ten times as much to start."""
MESSAGE = b"x" * 200


@contextmanager
def pinned(core: int = 0) -> Iterator[None]:
    """This process, and what it starts, on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core if core in before else min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def python_start(rounds: int = 30) -> float:
    """P in ms: `python3 -c pass` as a whole process."""
    samples = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run([PYTHON, "-c", "pass"], check=True)
        samples.append((time.perf_counter() - start) * 1_000)
    return statistics.median(samples)


def echo(rounds: int = 5_000) -> float:
    """U1 (pinned by the caller) or U2 in µs: a bare blocking echo of 200 bytes over a Unix socket, two processes."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        while data := theirs.recv(4096):
            theirs.sendall(data)
        os._exit(0)
    theirs.close()
    samples = []
    for _ in range(rounds):
        start = time.perf_counter()
        ours.sendall(MESSAGE)
        ours.recv(4096)
        samples.append((time.perf_counter() - start) * 1_000_000)
    ours.close()
    os.waitpid(child, 0)
    return statistics.median(samples)


def commit(rounds: int = 500) -> float:
    """C in µs: a bare SQLite commit of one row, WAL, FULL, warm."""
    with tempfile.TemporaryDirectory() as folder:
        db = sqlite3.connect(Path(folder) / "c.db", isolation_level=None)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
        samples = []
        for index in range(rounds + 50):
            start = time.perf_counter()
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT INTO t (b) VALUES (?)", ("x" * 400,))
            db.execute("COMMIT")
            if index >= 50:
                samples.append((time.perf_counter() - start) * 1_000_000)
        db.close()
    return statistics.median(samples)
