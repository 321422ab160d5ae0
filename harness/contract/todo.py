"""Decisions that are left open: a contract with a `TODO` in it does not load, whatever stands around it."""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.contract.document import Document, Step, key_text
from harness.core.errors import Fault

__all__ = ["TODO", "todo_faults"]

TODO = "TODO"
"""What a value begins with that its owner still has to decide."""


def todo_faults(document: Document) -> list[Fault]:
    """One fault for each value that is still open, with its place."""
    return [
        Fault(
            "todo_left",
            f"`{key_text(path)}` is still to be decided: {' '.join(text.split())[:120]}",
            "its owner writes the decision in place of the TODO",
            document.places.of(key_text(path)),
        )
        for path, text in _open(document.values, ())
    ]


def _open(value: Any, path: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], str]]:
    if isinstance(value, str) and (value == TODO or value.startswith((f"{TODO} ", f"{TODO}:"))):
        yield path, value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _open(each, (*path, str(name)))
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _open(each, (*path, index))
