"""The stop conditions of one run: what each has seen so far, and which of them ends it now.

A condition that reads `output` is not asked where there is no output that fits: nothing is no proposal.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.completion.predicates import StopRule, first_stop
from harness.completion.stuck import Stuck
from harness.contract.completion_terms import StopRule as StopTerms
from harness.contract.words import Better
from harness.core.call import Json
from harness.core.ending import Ending, Outcome, ReasonCode

__all__ = ["Seen", "Stops"]

_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"")
_OUTPUT = re.compile(r"(?<![\w.])output\b")


@dataclass(frozen=True, slots=True)
class Seen:
    """One iteration, as stop conditions look at it."""

    snippet: str
    """Digest of its source."""
    output: Json = None
    proposed: bool = False
    """True where it returned something."""
    fits: bool = False
    """True where what it returned fits the output schema."""


class Stops:
    """Watches the iterations of one run, in their order."""

    def __init__(self, rules: Sequence[StopTerms]) -> None:
        self._rules = tuple(rules)
        self._stuck = [Stuck(rule.same_output, rule.stalled) for rule in rules]

    def observe(self, seen: Seen, facts: Mapping[str, Json]) -> Ending | None:
        """Count one iteration; the ending that the first condition makes which holds, in the contract's order.

        Every condition sees every iteration, so that none misses one because an earlier one held.
        """
        endings = [self._one(rule, stuck, seen, facts) for rule, stuck in zip(self._rules, self._stuck, strict=True)]
        return next((ending for ending in endings if ending is not None), None)

    def _one(self, rule: StopTerms, stuck: Stuck, seen: Seen, facts: Mapping[str, Json]) -> Ending | None:
        asked = seen.fits or not _reads_output(rule.text)
        if rule.when is not None:
            return first_stop([StopRule(rule.text, rule.when)], facts) if asked else None
        measure: float | None = None
        if rule.measure is not None and asked:
            measured = rule.measure.measure(facts)
            if measured.error:
                detail = f"the stop condition `{rule.text}` failed: {measured.error}"
                return Ending(Outcome.REJECTED, ReasonCode.PREDICATE_ERROR, detail, (("when", rule.text),))
            measure = measured.value
        if measure is not None and rule.better is Better.LOWER:
            measure = -measure
        return stuck.observe(seen.output, seen.snippet, measure, proposed=seen.proposed)


def _reads_output(text: str) -> bool:
    """Whether an expression names `output`, outside its texts."""
    return bool(_OUTPUT.search(_TEXT.sub("''", text)))
