"""`harness selftest`: tries the opposite of every wall inside live boxes; exits 1 where one fell."""

import asyncio

import click
from rich.markup import escape
from rich.table import Table

from harness.core.ports import Backend
from harness.front.cli.entries import ENTRIES
from harness.front.cli.options import backend_option, console, json_option, print_json
from harness.front.selftest.probe import Finding, Status
from harness.front.selftest.selftest import Selftest
from harness.sandbox.backends import Choice, choose
from harness.sandbox.bubblewrap import BubblewrapBackend
from harness.sandbox.docker_pool import DockerPool
from harness.sandbox.pool import SlotPool
from harness.sandbox.spec import SandboxSpec

__all__ = ["selftest"]

EXIT_FELL = 1
COLOURS = {Status.HELD: "green", Status.FELL: "red", Status.UNTRIED: "yellow"}


@click.command()
@backend_option
@click.option("--runtime", default="", help="Runtime of the engine, for example runsc.")
@click.option("--cold", is_flag=True, help="Start every box for itself, instead of taking it from the pool.")
@click.option("--only", multiple=True, metavar="NAME", help="Beginning of the names of probes, for example `network`.")
@json_option
def selftest(backend: str | None, runtime: str, cold: bool, only: tuple[str, ...], as_json: bool) -> int:
    """Try to break out of a live box in every way that is known; exits 1 where a wall fell."""
    name, findings = asyncio.run(_run(backend or "", runtime, cold, only))
    fell = any(each.status is Status.FELL for each in findings)
    if as_json:
        print_json(
            {
                "backend": name,
                "runtime": runtime,
                "cold": cold,
                "held": not fell,
                "probes": [
                    {"name": each.name, "class": each.group.value, "status": each.status.value, "detail": each.detail}
                    for each in findings
                ],
            }
        )
    else:
        _show(name, findings)
    return EXIT_FELL if fell else 0


async def _run(setting: str, runtime: str, cold: bool, only: tuple[str, ...]) -> tuple[str, list[Finding]]:
    backend = await choose(Choice(setting or Choice.AUTO), SandboxSpec(runtime=runtime))
    try:
        tried = _cold(backend) if cold else backend
        try:
            return backend.name, await Selftest(tried, runtime, entries=ENTRIES, only=only).run()
        finally:
            if tried is not backend:
                await tried.close()
    finally:
        await backend.close()


def _cold(backend: Backend) -> Backend:
    """The same kind of box, started for itself."""
    if isinstance(backend, DockerPool):
        return backend.cold
    if isinstance(backend, SlotPool):
        return BubblewrapBackend()
    return backend


def _show(backend: str, findings: list[Finding]) -> None:
    table = Table(show_edge=False, pad_edge=False)
    for column in ("probe", "status", "detail"):
        table.add_column(column, overflow="fold")
    for each in findings:
        colour = COLOURS[each.status]
        table.add_row(escape(each.name), f"[{colour}]{each.status.value}[/{colour}]", escape(each.detail))
    out = console()
    out.print(table)
    counts = {status: sum(each.status is status for each in findings) for status in Status}
    out.print(f"{backend}: {', '.join(f'{count} {status.value}' for status, count in counts.items())}")
