"""A loop that goes nowhere: the same output or snippet again and again, or a measure that no longer improves."""

from collections import Counter
from dataclasses import dataclass, field

from harness.core.call import Json
from harness.core.canonical import digest
from harness.core.ending import Ending, Outcome, ReasonCode

__all__ = ["Stuck"]


@dataclass(slots=True)
class Stuck:
    """Watches the iterations of one run.

    Equal ones are counted over the whole run, not only in a row: a loop that swings between two outputs is stuck too.
    """

    same_output: int = 0
    """So many equal outputs, or equal snippets, end the run; 0: never."""
    stalled: int = 0
    """So many iterations without a better measure end the run; 0: never."""
    _outputs: Counter[str] = field(default_factory=Counter)
    _snippets: Counter[str] = field(default_factory=Counter)
    _best: float | None = None
    _since_best: int = 0

    def observe(
        self, output: Json, snippet: str, measure: float | None = None, *, proposed: bool = True
    ) -> Ending | None:
        """Count one iteration; the ending where the run is stuck now.

        `output` is counted where it was `proposed`: nothing is no output. `snippet` is the digest of its source.
        `measure` is how near success it came, more is better; None where it could not be measured.
        """
        self._snippets[snippet] += 1
        if proposed:
            key = digest(output)
            self._outputs[key] += 1
            if self.same_output and self._outputs[key] >= self.same_output:
                return _stuck(f"the same output came {self._outputs[key]} times", "same_output", key)
        if self.same_output and self._snippets[snippet] >= self.same_output:
            return _stuck(f"the same snippet came {self._snippets[snippet]} times", "same_snippet", snippet)
        return self._progress(measure)

    def _progress(self, measure: float | None) -> Ending | None:
        if measure is not None and (self._best is None or measure > self._best):
            self._best, self._since_best = measure, 0
            return None
        self._since_best += 1
        if self.stalled and self._since_best >= self.stalled:
            best = "nothing was measured" if self._best is None else f"the best measure is still {abs(self._best):g}"
            return _stuck(f"no progress in {self._since_best} iterations: {best}", "stalled", str(self._best))
        return None


def _stuck(detail: str, rule: str, value: str) -> Ending:
    return Ending(Outcome.REJECTED, ReasonCode.STUCK, detail, (("rule", rule), ("value", value)))
