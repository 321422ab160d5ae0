"""Live progress on a terminal: iteration, calls with verdicts, gauges of the budget, checks. Gone when the run ends."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from decimal import Decimal

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from harness.core.budget import Usage
from harness.run.progress import Progress

__all__ = ["picture", "watching"]

REFRESH_SECONDS = 0.1
"""Ten pictures a second: what a person takes for continuous."""
MAX_CALLS = 12
"""Calls that are shown, the latest; the rest is counted."""
GAUGES = ("calls", "wall_seconds", "cpu_seconds", "memory_mb", "tokens", "cost_usd", "retries", "iterations")
_COLOURS = {"allow": "green", "replay": "cyan", "ask": "yellow"}
_MARKS = {
    "passed": "[green]✓[/green]",
    "failed": "[red]✗[/red]",
    "skipped": "[yellow]–[/yellow]",
    "unavailable": "[red]?[/red]",
}


@contextlib.asynccontextmanager
async def watching(console: Console, look: Callable[[], Progress]) -> AsyncIterator[None]:
    """Show what `look` says while the block runs; nothing where the console is no terminal."""
    if not console.is_terminal:
        yield
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        task = asyncio.ensure_future(_refresh(live, look))
        try:
            yield
        finally:
            task.cancel()


async def _refresh(live: Live, look: Callable[[], Progress]) -> None:
    while True:
        live.update(picture(look()), refresh=True)
        await asyncio.sleep(REFRESH_SECONDS)


def picture(progress: Progress) -> RenderableType:
    """The state of a run as one picture."""
    state = "running" if progress.live else "judging" if progress.iteration else "starting"
    head = Text.from_markup(f"[bold]{escape(progress.run)}[/bold] iteration {progress.iteration} ({state})")
    return Group(head, _calls(progress), _gauges(progress.budget), _checks(progress))


def _calls(progress: Progress) -> RenderableType:
    lines = list(progress.calls)
    table = Table(show_header=False, show_edge=False, pad_edge=False, box=None)
    if len(lines) > MAX_CALLS:
        table.add_row(Text.from_markup(f"[dim]{len(lines) - MAX_CALLS} calls before[/dim]"))
    for line in lines[-MAX_CALLS:]:
        colour = _COLOURS.get(line.decision, "red")
        verdict = f"[{colour}]{line.decision or 'waits'}[/{colour}]"
        table.add_row(escape(line.id), escape(line.tool), verdict, line.state)
    return table


def _gauges(budget: Mapping[str, Usage]) -> RenderableType:
    table = Table(show_header=False, show_edge=False, pad_edge=False, box=None)
    for name in GAUGES:
        usage = budget.get(name)
        if usage is None or not usage.limit:
            continue
        used = Decimal(str(usage.used)) + Decimal(str(usage.reserved))
        share = min(float(used / Decimal(str(usage.limit))), 1.0)
        table.add_row(name, ProgressBar(total=1.0, completed=share, width=24), f"{used} of {usage.limit}")
    return table


def _checks(progress: Progress) -> RenderableType:
    shown = [f"{_MARKS.get(str(check['status']), '·')} {escape(str(check['id']))}" for check in progress.checks]
    return Text.from_markup("  ".join(shown))
