"""What goes to a terminal: nothing that steers it. Controls and marks that cannot be seen stand as escapes.

Snippets, tools and servers choose texts that people read here; a terminal obeys what a text holds.
"""

import codecs
import contextlib
import errno
import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from harness.core.errors import HarnessError

__all__ = ["OutputLost", "TerminalConsole", "json_text", "prepare", "say", "visible"]

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
"""Controls but tab and line feed, bidirectional and zero-width marks, lone surrogates; joiners are writing."""


class OutputLost(HarnessError):
    """What a command says can be written nowhere: a full disk, a reader that went away."""


def prepare() -> None:
    """The three standard streams as every command needs them. Called once, by the front door.

    One that is closed leads to nowhere, so that no file of ours (the journal) ever gets its number and somebody
    else's print. A character that the terminal's encoding lacks is written as an escape and ends nothing.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number: this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 -- for good
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    """Around each write to standard output: an error is said once, and nothing more is tried."""
    try:
        yield
    except OSError as error:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        why = error.strerror or type(error).__name__
        raise OutputLost(
            f"the output cannot be written: {why}", hint="what has run is in `harness runs list`"
        ) from None


def visible(text: str) -> str:
    """The text with `\\u001b` for the character that it names; tabs and line feeds stay."""
    return _HIDDEN.sub(lambda hit: f"\\u{ord(hit[0]):04x}", text)


def say(text: str, err: bool = False) -> None:
    """One text to standard output, or to standard error. Raises OutputLost."""
    if err:
        with contextlib.suppress(OSError):
            click.echo(visible(text), err=True)
        return
    with _writing():
        click.echo(visible(text))


def json_text(document: Any) -> str:
    """A document as JSON for people: what a terminal would obey is escaped, all other characters stand as they are."""
    unicode = codecs.lookup(sys.stdout.encoding or "utf-8").name.startswith("utf")
    return visible(json.dumps(document, ensure_ascii=not unicode, indent=2))


class TerminalConsole(Console):
    """A console whose own colours are the only controls that it writes."""

    def print(self, *objects: Any, **options: Any) -> None:
        """As the base class. Raises OutputLost."""
        with _writing():
            super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        """The reader went away: said like every other output that is lost."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As the base class, with every text made visible; the console's own controls are no texts."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))
