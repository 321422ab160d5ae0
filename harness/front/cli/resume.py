"""`harness resume` and `harness cancel`: go on with a run that was paused or whose host died; or end it."""

import asyncio
from pathlib import Path
from typing import Any

import click

from harness.api import Harness
from harness.front.cli.options import backend_option, console, host_option, json_option, policy_option, print_json
from harness.front.cli.show import show_result
from harness.front.signals import orderly
from harness.report import RunResult

__all__ = ["cancel", "resume", "resume_run"]

WATCH_SECONDS = 1.0
"""How often a watching host looks for decisions: one read of the store."""


@click.command()
@click.argument("run", required=False, default="")
@click.option("--watch", is_flag=True, help="Stay, and resume every run as soon as its decision is there.")
@click.option("--force", is_flag=True, help="The host that ran it last is gone for good.")
@host_option
@policy_option
@backend_option
@json_option
def resume(run: str, watch: bool, force: bool, **options: Any) -> int:
    """Go on with RUN, to its end or its next pause; without RUN with every run whose decision is there."""
    if run and watch:
        raise click.UsageError("--watch resumes every run: name none")
    harness = Harness.from_file(options["host_file"], policy=options["policy"], backend=options["backend"] or "")
    if watch:
        asyncio.run(_watch(harness, options["as_json"]))
        return 0
    if not run:
        results = asyncio.run(_resume_decided(harness))
        for result in results:
            _tell(result, options["as_json"])
        return max((result.exit_code for result in results), default=0)
    result = asyncio.run(resume_run(harness, run, force))
    _tell(result, options["as_json"])
    return result.exit_code


@click.command()
@click.argument("run")
@host_option
@json_option
def cancel(run: str, host_file: Path, as_json: bool) -> int:
    """End RUN, wherever it lives: its box goes, what it asked is withdrawn."""
    harness = Harness.from_file(host_file)
    try:
        result = harness.cancel(run)
    finally:
        harness.store().close()
    _tell(result, as_json)
    return result.exit_code


async def resume_run(harness: Harness, run: str, force: bool) -> RunResult:
    """Go on with a run, in order under signals; closes the harness. Raises what `Harness.resume` raises."""
    async with harness:
        corridor = await harness.reopen(run, force=force)
        with orderly(lambda name: corridor.cancel(f"{name} to the command"), harness.kill_now):
            await corridor.resume()
            return await corridor.finish()


async def _resume_decided(harness: Harness) -> list[RunResult]:
    async with harness:
        return await harness.resume_decided()


async def _watch(harness: Harness, as_json: bool) -> None:
    """Until a signal: the run that is under way is cancelled by the second one only."""
    stop = asyncio.Event()
    async with harness:
        with orderly(lambda _name: stop.set(), harness.kill_now):
            while not stop.is_set():
                for result in await harness.resume_decided():
                    _tell(result, as_json)
                await asyncio.wait({asyncio.ensure_future(stop.wait())}, timeout=WATCH_SECONDS)


def _tell(result: RunResult, as_json: bool) -> None:
    if as_json:
        print_json(result.to_json())
    else:
        show_result(console(), result)
