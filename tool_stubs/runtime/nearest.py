"""The nearest known name, for errors; small, so that the box need not import difflib."""

from collections.abc import Iterable

__all__ = ["distance", "nearest"]

MAX_NAME = 60
"""Characters looked at; longer names are compared by their start."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that `name` may have meant, empty where none is near: at most a third of it differs."""
    wanted = _fold(name)
    best, least = "", max(1, len(wanted) // 3) + 1
    for each in known:
        apart = distance(wanted, _fold(each), least)
        if apart < least:
            best, least = each, apart
    return best


def distance(left: str, right: str, limit: int) -> int:
    """Edits (insert, delete, replace, swap of neighbours) between two texts; `limit` where it is that or more."""
    if abs(len(left) - len(right)) >= limit:
        return limit
    before: list[int] = []
    row = list(range(len(right) + 1))
    for at, char in enumerate(left, 1):
        older, before, row = before, row, [at]
        for to, other in enumerate(right, 1):
            cost = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (char != other))
            if at > 1 and to > 1 and char == right[to - 2] and left[at - 2] == other:
                cost = min(cost, older[to - 2] + 1)
            row.append(cost)
        if min(row) >= limit:
            return limit
    return min(row[-1], limit)


def _fold(name: str) -> str:
    return name[:MAX_NAME].lower().replace("-", "_").replace(".", "_")
