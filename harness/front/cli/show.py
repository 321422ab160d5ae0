"""How a result looks on a terminal: calls with verdicts, budget, ending, where the result lies."""

import json
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from harness.core.budget import Usage
from harness.core.ending import Outcome
from harness.report import CallLine, RunResult, amount_json

__all__ = ["show_calls", "show_result"]

MAX_CALL_ROWS = 40
"""Rows of calls that a terminal shows; the rest is counted, and stands in `--json`."""
MAX_RESULT_CHARS = 2_000


def show_result(console: Console, result: RunResult) -> None:
    """Everything that a person wants to see of a run."""
    for line in result.iterations:
        if line.printed:
            console.print(f"[dim]printed by iteration {line.number}[/dim]")
            console.print(escape(line.printed.rstrip()))
        if line.failure is not None:
            console.print(f"[red]{escape(str(line.failure.get('traceback') or line.failure.get('message')))}[/red]")
    show_calls(console, result.calls)
    console.print(_budget(result.budget))
    _ending(console, result)


def show_calls(console: Console, calls: Sequence[CallLine]) -> None:
    """The calls with their verdicts."""
    lines = list(calls)
    if not lines:
        return
    table = Table(title="calls", title_justify="left", show_edge=False, pad_edge=False)
    for column in ("call", "tool", "effect", "verdict", "state", "why"):
        table.add_column(column, overflow="fold")
    for line in lines[:MAX_CALL_ROWS]:
        colour = {"allow": "green", "replay": "cyan", "ask": "yellow"}.get(line.decision, "red")
        table.add_row(
            line.id,
            escape(line.tool),
            line.effect,
            f"[{colour}]{line.decision}[/{colour}]",
            line.state,
            escape("; ".join(line.reasons)),
        )
    console.print(table)
    if len(lines) > MAX_CALL_ROWS:
        console.print(f"[dim]and {len(lines) - MAX_CALL_ROWS} more calls[/dim]")


def _budget(budget: Mapping[str, Usage]) -> Table:
    table = Table(title="budget", title_justify="left", show_edge=False, pad_edge=False)
    for column in ("dimension", "used", "limit", "metered"):
        table.add_column(column, justify="left" if column in ("dimension", "metered") else "right")
    for name, usage in budget.items():
        limit = "" if usage.limit is None else str(amount_json(usage.limit))
        table.add_row(escape(name), str(amount_json(usage.used)), limit, usage.metered.value)
    return table


def _ending(console: Console, result: RunResult) -> None:
    colour = {Outcome.ACCEPTED: "green", Outcome.UNRESOLVED: "yellow"}.get(result.outcome, "red")
    detail = f": {escape(result.ending.detail)}" if result.ending.detail else ""
    console.print(f"[bold {colour}]{result.outcome.value}[/bold {colour}] ({result.reason.value}){detail}")
    if result.outcome is Outcome.ACCEPTED:
        text = json.dumps(result.result, ensure_ascii=False, indent=2)
        console.print(escape(text if len(text) <= MAX_RESULT_CHARS else text[:MAX_RESULT_CHARS] + "\n…"))
    for delivery in result.deliveries:
        where = delivery.get("where") or delivery.get("detail")
        console.print(f"{delivery['status']}: {escape(str(delivery['to']))} {escape(str(where))}")
    console.print(f"[dim]run {result.run}; audit head {result.audit_head}[/dim]")
