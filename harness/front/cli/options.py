"""Options and helpers that several commands share."""

import json
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from harness.core.files import read_start
from harness.front.cli.terminal import TerminalConsole, json_text, say

__all__ = [
    "backend_option",
    "console",
    "host_option",
    "json_option",
    "parse_inputs",
    "policy_option",
    "print_json",
    "read_snippet",
]

MAX_SNIPPET_BYTES = 4 << 20
"""A snippet is read up to here, then the language check says what is too much; beyond it nothing is read at all."""

host_option = click.option(
    "--host",
    "host_file",
    default="harness.yaml",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The host file.",
)
policy_option = click.option(
    "--policy", type=click.Path(dir_okay=False, path_type=Path), help="A policy file in place of the host file's."
)
backend_option = click.option(
    "--backend", type=click.Choice(["auto", "docker", "bubblewrap"]), help="In place of the host file's."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def console() -> Console:
    """Standard output for people."""
    return TerminalConsole(highlight=False, soft_wrap=True)


def print_json(document: Any) -> None:
    """One JSON document on standard output."""
    say(json_text(document))


def read_snippet(path: str) -> str:
    """The snippet at `path`, or from standard input for `-`. Raises click.UsageError where it cannot be read."""
    try:
        most = MAX_SNIPPET_BYTES + 1
        data = sys.stdin.buffer.read(most) if path == "-" else read_start(path, most)
    except OSError as error:
        raise click.UsageError(f"the snippet `{path}` cannot be read: {error.strerror}") from error
    if len(data) > MAX_SNIPPET_BYTES:
        raise click.UsageError(f"the snippet `{path}` is larger than {MAX_SNIPPET_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"the snippet `{path}` is not UTF-8 at byte {error.start}") from error


def parse_inputs(pairs: tuple[str, ...]) -> dict[str, Any]:
    """`k=v` pairs as inputs: a value that is JSON is taken as such, any other as text. Raises click.UsageError."""
    inputs: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise click.UsageError(f"`--input {pair}` is not of the form name=value")
        if name in inputs:
            raise click.UsageError(f"the input `{name}` is given twice")
        try:
            inputs[name] = json.loads(text)
        except ValueError:
            inputs[name] = text
    return inputs
