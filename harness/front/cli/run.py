"""`harness run`: one snippet under one contract, to its end."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from harness.api import Harness
from harness.front.cli.live import watching
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
from harness.front.signals import orderly
from harness.report import RunResult

__all__ = ["Submission", "execute", "run"]


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
    out = None if options["as_json"] else console()
    result = asyncio.run(execute(harness, submission, out))
    if out is None:
        print_json(result.to_json())
    else:
        show_result(out, result)
    return result.exit_code


async def execute(harness: Harness, submission: Submission, out: Console | None = None) -> RunResult:
    """Run to the end; an interrupt or SIGTERM cancels in order, and the record says so. A second one ends at once.

    `out`, where it is a terminal, shows the progress meanwhile.
    """
    opened = harness.session(submission.contract, submission.inputs, key=submission.key, snippet=submission.source)
    with orderly(lambda name: opened.cancel(f"{name} to the command"), harness.kill_now):
        async with harness, opened as session:
            if not session.is_retry:
                session.check(submission.source)
                show = watching(out, session.progress) if out is not None else contextlib.nullcontext()
                async with show:
                    await session.run(submission.source)
            return await session.finish()
