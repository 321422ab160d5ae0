"""Metering: a run counts only where its use was reported in a way that the policy takes."""

from collections.abc import Mapping

from harness.contract.policy import Policy
from harness.core.budget import Usage
from harness.core.ending import Ending, Outcome, ReasonCode

__all__ = ["unmetered"]


def unmetered(policy: Policy, budget: Mapping[str, Usage]) -> Ending | None:
    """The ending of a run whose use was not reported as the policy wants it; None where it was."""
    for dimension, ways in policy.metered.items():
        usage = budget[dimension.value]
        if usage.metered not in ways:
            wanted = " or ".join(ways)
            detail = f"the policy wants `{dimension}` metered as {wanted}, and it was metered as {usage.metered}"
            data = (("dimension", dimension.value), ("metered", usage.metered.value))
            return Ending(Outcome.REJECTED, ReasonCode.POLICY_REFUSED, detail, data)
    return None
