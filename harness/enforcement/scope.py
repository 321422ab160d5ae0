"""Check 3: is every limited argument inside what the contract lists? An argument that is left out is not."""

from collections.abc import Mapping

from harness.core.call import Json
from harness.core.verdict import Code, Decision, Verdict
from harness.enforcement.facts import ToolFacts
from harness.enforcement.limits import Limit
from harness.enforcement.words import shown

__all__ = ["check"]


def check(tool: ToolFacts, values: Mapping[str, Json]) -> Verdict | None:
    """None where all limits hold; else the refusal, with what is allowed."""
    broken = [
        limit for limit in tool.limits if limit.argument not in values or not limit.allows(values[limit.argument])
    ]
    if not broken:
        return None
    return Verdict(
        Decision.DENY,
        Code.OUT_OF_SCOPE,
        tuple(_reason(tool, limit, values) for limit in broken),
        "; ".join(f"`{limit.argument}` may be {limit.allowed}" for limit in broken),
    )


def _reason(tool: ToolFacts, limit: Limit, values: Mapping[str, Json]) -> str:
    if limit.argument not in values:
        return f"`{limit.argument}` of `{tool.name}` is limited by the contract and must be given"
    value = values[limit.argument]
    text = value if isinstance(value, str) else repr(value) if isinstance(value, int | float) else type(value).__name__
    return f"`{limit.argument}` of `{tool.name}` is outside the contract's scope: {shown(text)}"
