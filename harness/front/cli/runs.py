"""`harness runs`: what ran, what waits for whom, every call of a run, and where its budget went."""

import json
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from harness.api import Harness
from harness.front.cli.options import console, host_option, json_option, print_json
from harness.front.cli.spending import show_spending
from harness.run.telling import run_document, run_line

__all__ = ["list_", "report", "runs", "show"]


@click.group()
def runs() -> None:
    """List, show and account for runs."""


@runs.command("list")
@click.option("--limit", default=50, show_default=True, help="The newest so many.")
@host_option
@json_option
def list_(limit: int, host_file: Path, as_json: bool) -> None:
    """List the newest runs first."""
    harness = Harness.from_file(host_file)
    store = harness.store()
    try:
        lines = [run_line(row) for row in store.runs(limit)]
    finally:
        store.close()
    if as_json:
        print_json(lines)
        return
    table = Table(show_edge=False, pad_edge=False)
    for column in ("run", "contract", "by", "status", "outcome", "reason", "began"):
        table.add_column(column, overflow="fold")
    for line in lines:
        words = ("run", "contract", "principal", "status", "outcome", "reason", "created_at")
        table.add_row(*(escape(str(line[word] or "")) for word in words))
    console().print(table if lines else "nothing has run here")


@runs.command()
@click.argument("run")
@host_option
@json_option
def show(run: str, host_file: Path, as_json: bool) -> None:
    """Show RUN: its calls with states, verdicts and times, and what waits for whom."""
    harness = Harness.from_file(host_file)
    store = harness.store()
    try:
        store.expire(run)
        document = run_document(store, harness.policy, run)
    finally:
        store.close()
    if as_json:
        print_json(document)
        return
    out = console()
    ending = f", {document['outcome']} ({document['reason']})" if document["reason"] else ""
    out.print(f"run {document['run']} of `{escape(document['contract'])}` version {document['version']}")
    out.print(escape(f"{document['status']}{ending}, asked by {document['principal']}, attempt {document['attempt']}"))
    if document["detail"]:
        out.print(escape(document["detail"]))
    table = Table(show_edge=False, pad_edge=False)
    for column in ("call", "tool", "state", "verdict", "answered"):
        table.add_column(column, overflow="fold")
    for call in document["calls"]:
        verdict = call["verdict"]
        said = "" if verdict is None else f"{verdict['decision']}: {verdict['code']}"
        table.add_row(call["id"], escape(call["tool"]), call["state"], said, call["answered_at"] or "")
    out.print(table)
    for bundle in document["asked"]:
        decided = f" by {bundle['decided_by']} at {bundle['decided_at']}" if bundle["decided_at"] else ""
        names = f", waits for {', '.join(bundle['waits_for'])}" if bundle["state"] == "open" else ""
        out.print(escape(f"{bundle['reference']} {bundle['state']}{decided}{names}, until {bundle['expires_at']}"))
        for line in bundle["calls"]:
            out.print(f"  {line['call']} {escape(line['preview'])} [dim]({line['state']})[/dim]")


@runs.command()
@click.argument("run")
@host_option
@json_option
def report(run: str, host_file: Path, as_json: bool) -> None:
    """Say where the budget of RUN went: by tool, by iteration, by model, and what was left."""
    harness = Harness.from_file(host_file)
    try:
        row = harness.recorded(run)
    finally:
        harness.store().close()
    spending = json.loads(row.ending)["spending"] if row.ending else {}
    if as_json:
        print_json(spending)
    else:
        show_spending(console(), spending)
