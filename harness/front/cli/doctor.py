"""`harness doctor`: what works on this machine, and how to mend what does not."""

import os
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from harness.front.cli.doctor_approvals import approval_findings
from harness.front.cli.doctor_sources import source_findings
from harness.front.cli.options import console, host_option, json_option, print_json
from harness.sandbox.doctor import doctor as look
from harness.sandbox.finding import Status

__all__ = ["doctor"]

EXIT_UNAVAILABLE = 7


@click.command()
@host_option
@json_option
def doctor(host_file: Path, as_json: bool) -> int:
    """Look at every backend, and start a box on each; exits 7 where none holds what it must."""
    findings = [*look(), *approval_findings(host_file), *source_findings(host_file, root=os.geteuid() == 0)]
    status = {each.name: each.status for each in findings}
    works = any(
        status.get(name) is Status.WORKS and status.get(f"{name} live box") is Status.WORKS
        for name in ("docker", "bubblewrap")
    )
    if as_json:
        print_json(
            {
                "works": works,
                "findings": [
                    {"name": each.name, "status": each.status.value, "detail": each.detail, "hint": each.hint}
                    for each in findings
                ],
            }
        )
        return 0 if works else EXIT_UNAVAILABLE
    table = Table(show_edge=False, pad_edge=False)
    for column in ("what", "status", "detail", "mend"):
        table.add_column(column, overflow="fold")
    for each in findings:
        colour = {Status.WORKS: "green", Status.MISSING: "red"}.get(each.status, "yellow")
        table.add_row(
            escape(each.name), f"[{colour}]{each.status.value}[/{colour}]", escape(each.detail), escape(each.hint)
        )
    console().print(table)
    return 0 if works else EXIT_UNAVAILABLE
