"""The nearest known name, as a hint."""

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean"]

SHOWN = 20
"""Names that a hint lists."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean …?`, or what there is."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"did you mean `{near[0]}`?"
    return f"there is {', '.join(f'`{each}`' for each in names[:SHOWN])}" if names else "there is none"
