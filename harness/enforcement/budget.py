"""Check 6: is there budget left for the call? Advice only: the reservation is the lock."""

from collections.abc import Mapping

from harness.core.budget import Amount, Shortage
from harness.core.verdict import Code, Decision, Verdict
from harness.enforcement.facts import ToolFacts, View

__all__ = ["check", "exhausted"]


def check(tool: ToolFacts, view: View) -> Verdict | None:
    """None where what the call reserves fits every limit."""
    short = view.shortage(tool.request)
    return None if short is None else exhausted(short, tool.request)


def exhausted(short: Shortage, request: Mapping[str, Amount]) -> Verdict:
    """The refusal: which limit, what the call would need, what is left."""
    wanted = request.get(short.dimension, 0)
    left = max(short.limit - (short.amount - wanted), 0)  # type: ignore[operator]
    return Verdict(
        Decision.DENY,
        Code.BUDGET_EXHAUSTED,
        (f"`{short.dimension}` is used up: the limit is {short.limit}, this call would make it {short.amount}",),
        f"{left} of {short.limit} is left, and the call needs {wanted}; end the snippet with what there is",
    )
