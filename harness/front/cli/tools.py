"""`harness tools`: the tools of a host."""

from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from harness.api import Harness
from harness.front.cli.options import console, host_option, json_option, print_json

__all__ = ["list_", "tools"]


@click.group()
def tools() -> None:
    """List the tools of a host."""


@tools.command("list")
@host_option
@json_option
def list_(host_file: Path, as_json: bool) -> None:
    """Every tool with what a contract's author must know of it."""
    contracts = Harness.from_file(host_file).registry.contracts()
    if as_json:
        print_json({"tools": [tool.definition() for tool in contracts.values()]})
        return
    table = Table(show_edge=False, pad_edge=False)
    for column in ("tool", "effect", "idempotency", "approval", "scope", "what it does"):
        table.add_column(column, overflow="fold")
    for name, tool in contracts.items():
        table.add_row(
            escape(name),
            tool.effect.value,
            str(tool.idempotency),
            tool.approval.value,
            escape(", ".join(tool.scope)),
            escape(tool.description.partition("\n")[0]),
        )
    console().print(table)
