"""Check 4: does the tool's own precondition hold over the arguments? An error is never true."""

from collections.abc import Mapping

from harness.core.call import Json
from harness.core.verdict import Code, Decision, Verdict
from harness.enforcement.facts import ToolFacts

__all__ = ["check"]


def check(tool: ToolFacts, values: Mapping[str, Json]) -> Verdict | None:
    """None where it holds, or where the tool has none."""
    if tool.precondition is None:
        return None
    judged = tool.precondition.evaluate({"args": values})
    if judged.value is True and not judged.error:
        return None
    text = tool.grant.tool.precondition
    why = "could not be judged" if judged.error else "does not hold"
    return Verdict(
        Decision.DENY,
        Code.PRECONDITION_FAILED,
        (f"the precondition of `{tool.name}` {why}",),
        f"the arguments must make this true: {text}",
    )
