"""Opening the database file: who may read it, its version, how it syncs; and the driver's errors translated."""

import os
import sqlite3
import time
from pathlib import Path

from harness.core.clock import Clock
from harness.core.errors import StoreError, StoreUnavailable
from harness.ledger.chain import GENESIS
from harness.ledger.keys import closed_file
from harness.ledger.tables import APPLICATION_ID, SCHEMA, SCHEMA_VERSION

__all__ = ["connect", "explain", "read_only", "reader"]

BUSY_SECONDS = 10.0
"""How long a writer waits for another process's transaction; the longest of ours takes some milliseconds."""
CHECKPOINT_PAGES = 4000
"""About 16 MB of log between checkpoints: four times SQLite's default, so that fewer commits pay for one."""

_HINTS = {
    sqlite3.SQLITE_BUSY: "another process holds the store: end it, or try again",
    sqlite3.SQLITE_FULL: "the disk is full: make room and try again",
    sqlite3.SQLITE_READONLY: "the store cannot be written: look at the permissions of its folder",
    sqlite3.SQLITE_IOERR: "the disk does not answer: look at its health and free space",
    sqlite3.SQLITE_CORRUPT: "restore the store from a backup; `harness audit verify` names the damage",
    sqlite3.SQLITE_NOTADB: "the file is no store of the harness: name another path",
    sqlite3.SQLITE_CANTOPEN: "the folder is missing, or closed to this user",
}


def explain(error: sqlite3.Error, path: Path) -> StoreUnavailable:
    """Our error for one of the driver's."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return StoreUnavailable(f"the store `{path}` failed: {str(error).lower()}", hint=_HINTS.get(code, ""))


def connect(path: Path, clock: Clock) -> sqlite3.Connection:
    """An open connection to the store at `path`, made where it is missing, its schema in place."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make_closed(path)
    except OSError as error:
        raise StoreUnavailable(
            f"the store `{path}` cannot be made: {error.strerror}", hint="name a folder that this user can write"
        ) from error
    try:
        db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise explain(error, path) from error
    try:
        _prepare(db, path, clock)
    except sqlite3.Error as error:
        db.close()
        raise explain(error, path) from error
    except StoreUnavailable:
        db.close()
        raise
    return db


def reader(path: Path) -> sqlite3.Connection:
    """A second connection to an open store, for reading beside a commit. Raises StoreUnavailable."""
    try:
        db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA query_only = ON")
        db.execute("PRAGMA trusted_schema = OFF")
    except sqlite3.Error as error:
        raise explain(error, path) from error
    return db


def _prepare(db: sqlite3.Connection, path: Path, clock: Clock) -> None:
    """Modes and schema. The change to WAL does not wait for another process's lock by itself, so this does."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
            db.execute("PRAGMA trusted_schema = OFF")
            _schema(db, path, clock)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def read_only(path: Path) -> sqlite3.Connection:
    """A connection that cannot write, to a store that exists. Raises StoreError."""
    if not path.is_file():
        raise StoreError(f"there is no store at `{path}`", hint="run something first, or name another store")
    try:
        db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
        db.execute("PRAGMA query_only = ON")
        found = db.execute("PRAGMA application_id").fetchone()[0]
    except sqlite3.Error as error:
        raise explain(error, path) from error
    if found != APPLICATION_ID:
        db.close()
        raise StoreError(f"`{path}` is not a store of the harness", hint="name the file that the host file names")
    return db


def _make_closed(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        closed_file(path)


def _schema(db: sqlite3.Connection, path: Path, clock: Clock) -> None:
    """Make the tables, once, whoever comes first; refuse what is not ours or newer than we are."""
    db.execute("BEGIN IMMEDIATE")
    try:
        application = db.execute("PRAGMA application_id").fetchone()[0]
        version = db.execute("PRAGMA user_version").fetchone()[0]
        tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not tables and not application:
            for statement in SCHEMA.split(";\n"):
                if statement.strip():
                    db.execute(statement)
            db.execute("INSERT INTO head VALUES (1, 0, ?, ?, x'')", (GENESIS, clock.now()))
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        elif application != APPLICATION_ID:
            raise StoreUnavailable(f"`{path}` is a database of something else", hint="name another path for the store")
        elif version != SCHEMA_VERSION:
            raise StoreUnavailable(
                f"the store `{path}` has version {version}, this harness reads {SCHEMA_VERSION}",
                hint="use the version of the harness that wrote it",
            )
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
