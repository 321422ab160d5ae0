"""Tools of the demo: a database of airports, one read with a scope, one idempotent write, one destructive call."""

import csv
import os
import sqlite3
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TypedDict

from harness.registry.decorator import key, tool

__all__ = ["Airport", "Survey", "build_database", "close_airport", "list_airports", "record_survey"]

DATABASE_VARIABLE = "HARNESS_DEMO_DB"
"""Environment variable of the host that holds the path of the database."""


class Airport(TypedDict):
    """One row of the table of airports."""

    iata: str
    name: str
    city: str
    state: str
    latitude: float
    longitude: float


class Survey(TypedDict):
    """Receipt of a recorded survey."""

    state: str
    iata: str
    row: int


def build_database(path: Path) -> int:
    """Fill a fresh SQLite database from the airports that `vega_datasets` ships; the number of airports.

    Raises ModuleNotFoundError where that package is not installed.
    """
    spec = find_spec("vega_datasets")  # found, not imported: the package itself would want pandas
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("vega_datasets")
    source = Path(spec.origin).parent / "_data" / "airports.csv"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TABLE airports"
            " (iata TEXT PRIMARY KEY, name TEXT, city TEXT, state TEXT, latitude REAL, longitude REAL)"
        )
        connection.execute("CREATE TABLE surveys (operation TEXT PRIMARY KEY, state TEXT, iata TEXT)")
        rows = list(csv.DictReader(source.read_text("utf-8").splitlines()))
        connection.executemany("INSERT INTO airports VALUES (:iata, :name, :city, :state, :latitude, :longitude)", rows)
    return len(rows)


def _connect() -> sqlite3.Connection:
    connection = sqlite3.connect(os.environ[DATABASE_VARIABLE])
    connection.row_factory = sqlite3.Row
    return connection


@tool(effect="read", scope=("state",), timeout_s=5)
def list_airports(state: str) -> list[Airport]:
    """List every airport of one state.

    Args:
        state: Two-letter code of the state, for example `WA`.

    Returns:
        The airports; latitude and longitude in degrees.
    """
    with closing(_connect()) as connection:
        rows = connection.execute("SELECT * FROM airports WHERE state = ? ORDER BY iata", (state,))
        return [_airport(row) for row in rows]


def _airport(row: sqlite3.Row) -> Airport:
    return Airport(
        iata=row["iata"],
        name=row["name"],
        city=row["city"],
        state=row["state"],
        latitude=row["latitude"],
        longitude=row["longitude"],
    )


@tool(
    effect="write",
    idempotency=key("operation_id"),
    scope=("state",),
    timeout_s=5,
    preview="record {iata} as the northernmost airport of {state}",
)
def record_survey(state: str, iata: str, operation_id: str) -> Survey:
    """Record which airport is the northernmost of a state.

    Args:
        state: Two-letter code of the state.
        iata: Code of the airport.
        operation_id: Name of this operation; the same name never records twice.
    """
    with closing(_connect()) as connection, connection:
        cursor = connection.execute("INSERT INTO surveys VALUES (?, ?, ?)", (operation_id, state, iata))
        return Survey(state=state, iata=iata, row=cursor.lastrowid or 0)


@tool(effect="destructive", scope=("iata",), timeout_s=5, preview="remove the airport {iata} for good")
def close_airport(iata: str) -> bool:
    """Remove an airport from the table."""
    with closing(_connect()) as connection, connection:
        return connection.execute("DELETE FROM airports WHERE iata = ?", (iata,)).rowcount == 1
