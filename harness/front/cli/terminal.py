"""What goes to a terminal: nothing that steers it. Controls and marks that cannot be seen stand as escapes.

Snippets, tools and servers choose texts that people read here; a terminal obeys what a text holds.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

__all__ = ["TerminalConsole", "json_text", "say", "visible"]

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
"""Controls but tab and line feed, bidirectional and zero-width marks, lone surrogates; joiners are writing."""


def visible(text: str) -> str:
    """The text with `\\u001b` for the character that it names; tabs and line feeds stay."""
    return _HIDDEN.sub(lambda hit: f"\\u{ord(hit[0]):04x}", text)


def say(text: str, err: bool = False) -> None:
    """One text to standard output, or to standard error."""
    click.echo(visible(text), err=err)


def json_text(document: Any) -> str:
    """A document as JSON for people: what a terminal would obey is escaped, all other characters stand as they are."""
    return visible(json.dumps(document, ensure_ascii=False, indent=2))


class TerminalConsole(Console):
    """A console whose own colours are the only controls that it writes."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As the base class, with every text made visible; the console's own controls are no texts."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))
