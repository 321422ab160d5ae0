"""Bounded grants: what an approver may give beside a decision, where the policy allows it.

This tool, this run, at most so many calls, while a condition holds over the arguments, until then.
"""

import json
import secrets
from collections.abc import Mapping
from typing import Any

from harness.contract.expression import ExpressionFault, compile_predicate
from harness.core.bundle import Bundle, GrantRow

__all__ = ["GRANT_PREFIX", "grants_in"]

GRANT_PREFIX = "grant:"
"""How ids of grants begin, so that a reservation knows them from approvals."""
MAX_CALLS = 10_000
"""More than the largest table that one person can answer for."""


def grants_in(document: bytes, bundle: Bundle, by: str, now: float) -> list[GrantRow] | None:
    """The grants of a signed decision; None where one of them is malformed: then none is given.

    Each is `{"tool", "calls", "while", "seconds"}`: a tool of the bundle, 1 to 10,000 calls, CEL over `args`, seconds
    from now.
    """
    given = json.loads(document).get("grants", [])
    if not isinstance(given, list):
        return None
    rows = [_row(each, bundle, by, now) for each in given]
    return None if any(row is None for row in rows) else [row for row in rows if row is not None]


def _row(given: Any, bundle: Bundle, by: str, now: float) -> GrantRow | None:
    if not isinstance(given, Mapping) or set(given) != {"tool", "calls", "while", "seconds"}:
        return None
    tool, calls, condition, seconds = given["tool"], given["calls"], given["while"], given["seconds"]
    if tool not in {ask.tool for ask in bundle.asks} or not isinstance(condition, str):
        return None
    if not _number(calls, MAX_CALLS) or not isinstance(calls, int) or not _number(seconds, 10_000_000):
        return None
    try:
        if condition:
            compile_predicate(condition, {"args": {}})
    except ExpressionFault:
        return None
    id_ = GRANT_PREFIX + secrets.token_urlsafe(16)
    return GrantRow(id_, bundle.run, tool, calls, 0, condition, now + seconds, by, now)


def _number(value: Any, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= most
