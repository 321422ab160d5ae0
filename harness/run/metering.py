"""Metering: a run counts only within its limits, and where its use was reported in a way that the policy takes."""

from collections.abc import Mapping

from harness.contract.policy import Policy
from harness.core.budget import PEAKS, Dimension, Shortage, Usage
from harness.core.ending import Ending, Outcome, ReasonCode

__all__ = ["overspent", "unmetered"]


HELD_ELSEWHERE = PEAKS | {Dimension.WALL_SECONDS}
"""Held by the kernel, and by a timer: a reading a little above them is not what ended a run."""


def overspent(budget: Mapping[str, Usage]) -> Shortage | None:
    """The first limit that a whole run is over: a last reading may show what no sample saw in time."""
    for name, usage in budget.items():
        if name not in HELD_ELSEWHERE and usage.limit is not None and usage.used > usage.limit:
            return Shortage(name, usage.limit, usage.used)
    return None


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
