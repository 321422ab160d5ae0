"""Two contracts side by side: which keys differ, and whether the change lets more through or less."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from harness.contract.document import key_text
from harness.contract.model import Contract
from harness.core.call import Approval, Json
from harness.core.canonical import canonical

__all__ = ["Change", "Direction", "diff"]

Path = tuple[str | int, ...]


class Direction(StrEnum):
    """What a change does to what a run may do."""

    LOOSER = "looser"
    STRICTER = "stricter"
    OTHER = "other"
    """Neither can be said: a person has to look."""


@dataclass(frozen=True, slots=True)
class Change:
    """One key that differs."""

    key: str
    """Dotted; a grant is named by its tool, `permissions.tools.read_record.calls`."""
    before: Json
    """None where it was not there."""
    after: Json
    """None where it is not there any more."""
    direction: Direction

    def __str__(self) -> str:
        return f"{self.key}: {_shown(self.before)} → {_shown(self.after)} ({self.direction})"


def diff(before: Contract, after: Contract) -> tuple[Change, ...]:
    """Every change from one contract to another, in the order of keys. Equal contracts give none."""
    return tuple(_changes((), _plain(before), _plain(after)))


def _plain(contract: Contract) -> Json:
    """The contract as JSON, with lists of named things turned into mappings, so that order does not count as change."""
    document = contract.stated()
    permissions = document.get("permissions", {})
    permissions["tools"] = _named(permissions.get("tools", []), ("tool", "contract"))
    permissions["data_classes"] = dict.fromkeys(permissions.get("data_classes", []), True)
    for kind, checks in document.get("checks", {}).items():
        document["checks"][kind] = _named(checks, ("id",))
    return document


def _named(items: list[dict[str, Any]], keys: tuple[str, ...]) -> dict[str, Any]:
    return {next(str(each[key]) for key in keys if each.get(key)): each for each in items}


def _changes(path: Path, before: Json, after: Json) -> Iterator[Change]:
    if path[-1:] == ("scope",) or path == ("sandbox",) or (path[:1] == ("checks",) and len(path) < 3):
        before, after = before or {}, after or {}  # what stands in a section that is new or gone counts one by one
    if isinstance(before, Mapping) and isinstance(after, Mapping) and path[-2:-1] != ("scope",):
        for name in sorted({*before, *after}):
            yield from _changes((*path, name), before.get(name), after.get(name))
    elif path == ("sandbox", "imports") and isinstance(before, list) and isinstance(after, list):
        yield from _modules(path, before, after)
    elif canonical(before) != canonical(after):
        yield Change(key_text(path), before, after, _direction(path, before, after))


def _direction(path: Path, before: Json, after: Json) -> Direction:
    if path[0] == "budget" or path[-1] == "calls":
        return _amounts(before, after)
    if path[:2] == ("permissions", "tools") and len(path) == 3:
        return _presence(before, after)
    if path[:2] == ("permissions", "data_classes"):
        return _presence(before, after)
    if path[-1] == "approval" and path[0] == "permissions":
        levels = [Approval(each or Approval.NONE).strictness for each in (before, after)]
        return Direction.STRICTER if levels[1] > levels[0] else Direction.LOOSER
    if len(path) > 1 and path[-2] == "scope":
        return Direction.LOOSER if after is None else Direction.STRICTER if before is None else Direction.OTHER
    if path[0] == "sandbox" and path[-1] in ("language", "imports"):
        return _language(before, after) if path[-1] == "language" else _stated(after)
    if path[0] == "checks" and len(path) == 3:
        return Direction.LOOSER if after is None else Direction.STRICTER if before is None else Direction.OTHER
    return Direction.OTHER


def _presence(before: Json, after: Json) -> Direction:
    if before is None:
        return Direction.LOOSER
    return Direction.STRICTER if after is None else Direction.OTHER


def _language(before: Json, after: Json) -> Direction:
    """Unstated is the policy's first, which may be either: what could be looser counts as looser."""
    return Direction.LOOSER if after == "plain" or before == "restricted" else Direction.STRICTER


def _modules(path: Path, before: list[Json], after: list[Json]) -> Iterator[Change]:
    """Module by module: one more is looser."""
    for name in sorted(map(str, {*before, *after})):
        if (name in before) != (name in after):
            was, now = (name if name in each else None for each in (before, after))
            yield Change(key_text((*path, name)), was, now, _presence(was, now))


def _stated(after: Json) -> Direction:
    """Nothing stated means what the policy allows, which is never less than what may be stated."""
    return Direction.LOOSER if after is None else Direction.STRICTER


def _amounts(before: Json, after: Json) -> Direction:
    """More is looser; nothing stated means the ceiling."""
    if after is None or before is None:
        return _stated(after)
    return Direction.LOOSER if Decimal(str(after)) > Decimal(str(before)) else Direction.STRICTER


def _shown(value: Json) -> str:
    if value is None:
        return "nothing"
    text = canonical(value).decode("utf-8")
    return text if len(text) <= 80 else text[:79] + "…"
