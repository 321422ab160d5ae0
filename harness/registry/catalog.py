"""The catalogue: what a run's grants look like to the snippet's author; the JSON that the stub generator takes."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from harness.contract.grants import Constraint, ConstraintKind, Grant
from harness.core.canonical import canonical
from tool_stubs.generate import Stubs, generate
from tool_stubs.generate import compact as compact_stubs
from tool_stubs.text import one_line

__all__ = ["compact", "listed", "stubs", "surface"]

KEPT = 256
"""Surfaces whose stubs are kept: some 100 kB each for sixty tools."""


def surface(grants: Mapping[str, Grant]) -> list[dict[str, Any]]:
    """One item for each granted tool, by name: name, description, parameters (bound arguments are gone), result,
    effect, approval, errors (class → hint), calls, bound (names), limits (argument → words)."""
    return [_item(grants[name]) for name in sorted(grants)]


def stubs(grants: Mapping[str, Grant], most: int | None = None) -> Stubs:
    """The stubs of the grants; made once for runs that see the same surface, and not to be changed by anyone.

    With more than `most` tools they offer `search` and `describe` (None: never).
    """
    return _stubs(_Seen(grants, most is not None and len(grants) > most))


def compact(grants: Mapping[str, Grant]) -> str:
    """One line for each tool, for prompts."""
    return compact_stubs(surface(grants))


def listed(grants: Mapping[str, Grant], most: int) -> str:
    """For prompts: one line for each tool, or, where there are more than `most`, their Python names alone."""
    if len(grants) <= most:
        return compact(grants)
    made = stubs(grants, most)
    search, describe = made.table["finding"]["search"], made.table["finding"]["describe"]
    return (
        f"{len(grants)} tools. Look before you call: `from tools import {search}, {describe}`; "
        f"`{search}('words')` gives names and signatures, `{describe}('name')` the full text.\n"
        f"{', '.join(made.names.values())}"
    )


class _Seen:
    """Grants, equal where the snippet sees the same of them: bound values do not show, their names do."""

    __slots__ = ("_key", "finding", "grants")

    def __init__(self, grants: Mapping[str, Grant], finding: bool) -> None:
        self.grants = grants
        self.finding = finding
        self._key = (
            finding,
            *(
                (each.tool.digest, tuple(sorted(each.bound)), each.calls, each.approval, tuple(_limits(each).items()))
                for _, each in sorted(grants.items())
            ),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Seen) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=KEPT)
def _stubs(seen: _Seen) -> Stubs:
    return generate(surface(seen.grants), seen.finding)


def _item(grant: Grant) -> dict[str, Any]:
    tool = grant.tool
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": grant.visible_schema,
        "result": tool.output_schema,
        "effect": tool.effect.value,
        "approval": grant.approval.value,
        "errors": {name: rule.hint for name, rule in tool.errors.items()},
        "calls": grant.calls,
        "bound": sorted(grant.bound),
        "limits": _limits(grant),
    }


def _limits(grant: Grant) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for limit in grant.limits:
        if limit.argument not in grant.bound:
            found.setdefault(limit.argument, []).append(_words(limit))
    return {name: " and ".join(words) for name, words in found.items()}


def _words(limit: Constraint) -> str:
    if limit.kind is ConstraintKind.ONE_OF and isinstance(limit.value, list):
        return f"one of {', '.join(_shown(each) for each in limit.value[:20])}"
    words = {
        ConstraintKind.EQUALS: "exactly {}",
        ConstraintKind.ONE_OF: "one of {}",
        ConstraintKind.UNDER: "a path under {}",
        ConstraintKind.MAX: "at most {}",
        ConstraintKind.MATCH: "text that matches {}",
    }
    return words[limit.kind].format(_shown(limit.value))


def _shown(value: Any) -> str:
    return f"`{one_line(canonical(value).decode('utf-8'), 80)}`"
