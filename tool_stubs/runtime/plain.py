"""Values where no schema says more: JSON types and what the tools module made; nothing becomes text by itself."""

import enum
from typing import Any

from tool_stubs.runtime.leaves import LEAF_TYPES

__all__ = ["MAX_DEPTH", "Unfit", "plain"]

MAX_DEPTH = 100
"""Levels of an argument; the host refuses deeper ones."""

_SCALARS = frozenset((str, int, float, bool, type(None)))


class Unfit(Exception):
    """A value that cannot travel where it stands; the text names the place."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"`{path}` {why}")
        self.path = path


def plain(value: Any, path: str, depth: int = 0) -> Any:
    """`value` as it goes out. Raises Unfit for a datetime, Decimal, UUID, bytes or set, and for what is too deep.

    What else JSON lacks (NaN, lone surrogates, odd objects) is the encoder's to refuse: it sees every value.
    """
    kind = type(value)
    if kind in _SCALARS:
        return value
    if depth > MAX_DEPTH:
        raise Unfit(path, f"is nested deeper than {MAX_DEPTH} levels, or holds itself")
    if kind is list or kind is tuple:
        return [plain(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(value)]
    if kind is dict:
        return {_key(name, path): plain(item, f"{path}.{name}", depth + 1) for name, item in value.items()}
    to_wire = getattr(kind, "__wire__", None)
    if to_wire is not None:
        return to_wire(value, path, depth)
    if isinstance(value, enum.Enum):
        return plain(value.value, path, depth + 1)
    if isinstance(value, LEAF_TYPES):
        raise Unfit(path, f"is a `{kind.__name__}`, which the tool does not declare; {_advice(value)}")
    if isinstance(value, set | frozenset):
        raise Unfit(path, "is a set, which JSON lacks; use sorted(…)")
    return value


def _advice(value: object) -> str:
    return "write it as text with .isoformat()" if hasattr(value, "isoformat") else "write it as text or a number"


def _key(name: Any, path: str) -> Any:
    if isinstance(name, str):
        return name.value if isinstance(name, enum.Enum) else name
    raise Unfit(path, f"has the key `{name!r:.40}` of type `{type(name).__name__}`; keys are text, use str(key)")
