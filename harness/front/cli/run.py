"""`harness run`: one snippet under one contract, to its end."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import click

from harness.api import Harness
from harness.front.cli.options import (
    backend_option,
    console,
    host_option,
    json_option,
    parse_inputs,
    policy_option,
    print_json,
    read_snippet,
)
from harness.front.cli.show import show_result
from harness.report import RunResult

__all__ = ["Submission", "execute", "run"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Submission:
    """What the command was asked to run."""

    def __init__(self, contract: Path | dict[str, Any], source: str, inputs: dict[str, Any], key: str = "") -> None:
        self.contract = contract
        self.source = source
        self.inputs = inputs
        self.key = key


@click.command()
@click.argument("contract", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("snippet")
@click.option("--input", "pairs", multiple=True, metavar="NAME=VALUE", help="An input of the contract; JSON or text.")
@click.option("--key", default="", help="Your own name for this submission: a retry with it is the same run.")
@host_option
@policy_option
@backend_option
@json_option
def run(contract: Path, snippet: str, pairs: tuple[str, ...], key: str, **options: Any) -> int:
    """Run SNIPPET (a file, or `-` for standard input) under CONTRACT."""
    submission = Submission(contract, read_snippet(snippet), parse_inputs(pairs), key)
    harness = Harness.from_file(options["host_file"], policy=options["policy"], backend=options["backend"] or "")
    result = asyncio.run(execute(harness, submission))
    if options["as_json"]:
        print_json(result.to_json())
    else:
        show_result(console(), result)
    return result.exit_code


async def execute(harness: Harness, submission: Submission) -> RunResult:
    """Run to the end; an interrupt or SIGTERM cancels in order, and the record says so. A second one ends at once."""
    async with harness, harness.session(submission.contract, submission.inputs, key=submission.key) as session:
        session.check(submission.source)
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, _cancel, session, number)
        try:
            await session.run(submission.source)
        finally:
            _give_back(loop)
        return await session.finish()


def _cancel(session: Any, number: signal.Signals) -> None:
    """The first signal: in order. The next finds the signals as they were, and ends the process."""
    _give_back(asyncio.get_running_loop())
    session.cancel(f"{number.name} to the command")


def _give_back(loop: asyncio.AbstractEventLoop) -> None:
    for number in SIGNALS:
        loop.remove_signal_handler(number)
