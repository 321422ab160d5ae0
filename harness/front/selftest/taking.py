"""What came of a canary: refused, failed in its box, or taken."""

from collections.abc import Awaitable, Callable
from typing import Any

from harness.api import Harness
from harness.core.ending import ReasonCode
from harness.core.errors import EnvironmentUnavailable
from harness.report import RunResult

__all__ = ["Entry", "taken"]

Entry = Callable[[Harness, dict[str, Any], str], Awaitable[str]]
"""Hands a snippet over; nothing where it was refused or failed, else what came of it."""


def taken(result: RunResult) -> str:
    """What a result says of a canary. Raises EnvironmentUnavailable where there was no box to try it in."""
    if result.reason is ReasonCode.ENVIRONMENT_UNAVAILABLE:
        raise EnvironmentUnavailable(result.ending.detail)
    return "" if result.reason is ReasonCode.SNIPPET_FAILED else f"the run ended as {result.reason.value}"
