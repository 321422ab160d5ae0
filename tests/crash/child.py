"""A child process that runs a case with instrumentation, and is killed with SIGKILL at one point.

The instrumentation lives here: the child puts it over the real parts after the fork; production code carries none.
"""

import functools
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.ledger.journal import Journal
from harness.ledger.sqlite import SqliteStore
from harness.ledger.transaction import Transaction
from harness.output.deliver import Deliverer
from harness.run.desk import Desk
from tests.crash.driver import run_to_end
from tests.crash.world import Case, World

METHODS = ("create_run", "take_over", "reserve_all", "append", "store_bundle", "decide", "withdraw", "finish")
"""Transactions whose number in a run does not hang on timers."""


class Points:
    """Counts the points that are passed; dies at one of them."""

    def __init__(self, deadly: str, record: Path | None) -> None:
        self.deadly = deadly
        self.record = record
        self.counts: dict[str, int] = {}
        self.inside: list[str] = []

    def passing(self, name: str, side: str) -> None:
        """A point is passed."""
        place = f"{name}:{side}"
        self.counts[place] = number = self.counts.get(place, 0) + 1
        point = f"{name}#{number}:{side}"
        if self.record is not None:
            with self.record.open("a") as file:
                file.write(point + "\n")
        if point == self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)


def instrument(points: Points) -> None:
    """Put the points over the real parts."""
    for name in METHODS:
        setattr(SqliteStore, name, _around(points, name, getattr(SqliteStore, name)))
    _over(Transaction, "finish", lambda: [points.passing(name, "inside") for name in points.inside[-1:]])
    _over(SqliteStore, "settle", lambda: points.passing("settle", "after"))
    _over(Desk, "_release", lambda: points.passing("release", "after"))
    _around_act(points)
    _around_async(points, Deliverer, "deliver", commits=False)
    _around_async(points, Journal, "commit_aside", commits=True)


def _around_async(points: Points, owner: type, name: str, *, commits: bool) -> None:
    """As `_around`. `commits`: it waits for the store's thread, whose commit is inside it."""
    method = getattr(owner, name)

    @functools.wraps(method)
    async def around(self: Any, *args: Any, **more: Any) -> Any:
        points.passing(name, "before")
        points.inside += [name] * commits
        try:
            done = await method(self, *args, **more)
        finally:
            del points.inside[len(points.inside) - commits :]
        points.passing(name, "after")
        return done

    setattr(owner, name, around)


def _around(points: Points, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def around(self: Any, *args: Any, **more: Any) -> Any:
        points.passing(name, "before")
        points.inside.append(name)
        try:
            result = method(self, *args, **more)
        finally:
            points.inside.pop()
        points.passing(name, "after")
        return result

    return around


def _over(owner: type, name: str, then: Callable[[], Any]) -> None:
    method = getattr(owner, name)

    @functools.wraps(method)
    def over(self: Any, *args: Any, **more: Any) -> Any:
        result = method(self, *args, **more)
        then()
        return result

    setattr(owner, name, over)


def _around_act(points: Points) -> None:
    act = World.act.__func__  # type: ignore[attr-defined]

    def around(cls: type[World], number: int, key_: str = "") -> int:
        points.passing("act", "before")
        result: int = act(cls, number, key_)
        points.passing("act", "after")
        return result

    World.act = classmethod(around)  # type: ignore[assignment, method-assign]


def run_child(case: Case, folder: Path, *, deadly: str = "", record: Path | None = None) -> int:
    """Run a case in a child; its wait status. `deadly`: where it is killed; `record`: the file to note points in."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            instrument(Points(deadly, record))
            run_to_end(case, folder)
            status = 0
        except BaseException:  # noqa: BLE001 - the child says what went wrong, and is gone
            traceback.print_exc(file=sys.stderr)
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1]
