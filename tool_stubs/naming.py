"""Names: how a tool's or parameter's wire name becomes a Python identifier, predictably and without collisions.

The wire name stays what permissions, journal and host go by; the Python name is only how a snippet writes it.
"""

import builtins
import keyword
import re
import unicodedata
from collections.abc import Iterable, Mapping

__all__ = ["RESERVED", "class_name", "fold_parameters", "fold_tool", "is_usable", "unused"]

RESERVED = frozenset(
    {
        "ArgumentsRefused",
        "ApprovalRejected",
        "BudgetExhausted",
        "OutcomeUnknown",
        "PartialResult",
        "ToolDenied",
        "ToolError",
        "ToolFailed",
        "UNSET",
        "stub",
        "tools",
    }
)
"""Names that the generated module keeps for itself."""

_BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_"))
_TYPING = frozenset({"Any", "Decimal", "Enum", "Literal", "NotRequired", "TypedDict", "UUID", "dataclass", "dt"})
_NOT_WORD = re.compile(r"\W+")
_NOT_ASCII_WORD = re.compile(r"[^0-9A-Za-z_]+")


def is_usable(name: str) -> bool:
    """Whether `name` can be written as a Python name: an identifier, no keyword, in its normal form."""
    return name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name


def fold_tool(name: str) -> str:
    """The Python name of a tool: `get-sum` → `get_sum`, `a/b` → `a_b`, `2fa` → `n2fa`, `list` → `list_`.

    Leading underscores go (the restricted language refuses such names); keywords, builtins and the names that the
    generated module needs get a trailing underscore.
    """
    folded = _fold(name, "tool").lstrip("_") or "tool"
    if folded[0].isdigit():
        folded = f"n{folded}"
    taken = keyword.iskeyword(folded) or folded in _BUILTINS or folded in RESERVED or folded in _TYPING
    return f"{folded}_" if taken else folded


def fold_parameters(names: Iterable[str]) -> dict[str, str]:
    """Wire name → Python name of each parameter; unique, names that are usable as they stand keep themselves."""
    wire = list(names)
    folded = {name: name for name in wire if is_usable(name)}
    taken = set(folded)
    for name in wire:
        if name not in folded:
            folded[name] = unused(_parameter(name), taken)
            taken.add(folded[name])
    return {name: folded[name] for name in wire}


def class_name(*parts: str) -> str:
    """A class name from the parts: `("search", "filter_by")` → `SearchFilterBy`."""
    words = [word for part in parts for word in _NOT_ASCII_WORD.sub("_", part).split("_") if word]
    text = "".join(word[0].upper() + word[1:] for word in words) or "Value"
    return f"N{text}" if text[0].isdigit() else text


def unused(name: str, taken: Iterable[str] | Mapping[str, object]) -> str:
    """`name`, or the first of `name_2`, `name_3`, … that is not in `taken`."""
    if name not in taken:
        return name
    stem = name if not name.endswith("_") else name[:-1]
    number = 2
    while f"{stem}_{number}" in taken:
        number += 1
    return f"{stem}_{number}"


def _parameter(name: str) -> str:
    folded = _fold(name, "argument")
    if folded[0].isdigit():
        folded = f"n{folded}"
    return f"{folded}_" if keyword.iskeyword(folded) else folded


def _fold(name: str, fallback: str) -> str:
    """Letters, digits and underscores of `name`, everything else as single underscores."""
    text = unicodedata.normalize("NFKC", name)
    for pattern in (_NOT_WORD, _NOT_ASCII_WORD):
        folded = pattern.sub("_", text)
        if not text.endswith("_"):
            folded = folded.rstrip("_")
        if not text.startswith("_"):
            folded = folded.lstrip("_")
        if f"n{folded}".isidentifier() and unicodedata.normalize("NFKC", folded) == folded:
            break
    return folded or fallback
