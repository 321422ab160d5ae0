"""How the spending of a run looks on a terminal: by tool, by iteration, by model, and what was left of each limit."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

__all__ = ["show_spending"]


def show_spending(console: Console, spending: Mapping[str, Any]) -> None:
    """Four tables, each where there is something to show."""
    if not spending:
        console.print("nothing is recorded of what the run spent: it has not ended")
        return
    by_tool = [{"tool": name, **used} for name, used in spending["by_tool"].items()]
    headroom = [{"dimension": name, **left} for name, left in spending["headroom"].items()]
    for title, rows in (
        ("by tool", by_tool),
        ("by iteration", spending["by_iteration"]),
        ("charged", spending["charges"]),
        ("left", headroom),
    ):
        if rows:
            console.print(_table(title, rows))


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*("" if row.get(name) is None else escape(str(row[name])) for name in columns))
    return table
