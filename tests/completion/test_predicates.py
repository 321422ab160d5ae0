"""Stop conditions: the first that holds stops the run, and one that errors stops it with its own reason."""

from dataclasses import dataclass

from harness.completion.predicates import PredicateFacts, StopRule, first_stop
from harness.core.ending import Ending, Outcome, ReasonCode


@dataclass(frozen=True)
class Answer:
    """A predicate whose answer is known; records nothing."""

    value: bool
    error: str = ""

    def evaluate(self, facts):
        """The answer itself."""
        return self


def test_no_condition_holds():
    """Nothing stops."""
    assert first_stop([StopRule("a", Answer(False)), StopRule("b", Answer(False))], {}) is None
    assert first_stop([], {}) is None


def test_the_first_that_holds_stops():
    """In the contract's order."""
    rules = [StopRule("a", Answer(False)), StopRule("b", Answer(True)), StopRule("c", Answer(True))]
    assert first_stop(rules, {}) == Ending(
        Outcome.REJECTED, ReasonCode.STOP_CONDITION, "the stop condition `b` holds", (("when", "b"),)
    )


def test_an_error_stops_with_its_own_reason():
    """An expression that errors is never true, and where it is a stop condition it ends the run."""
    assert first_stop([StopRule("a", Answer(True, "no such\nkey"))], {}) == Ending(
        Outcome.REJECTED, ReasonCode.PREDICATE_ERROR, "the stop condition `a` failed: no such key", (("when", "a"),)
    )


def test_no_check_hides_the_reserved_id():
    """`checks.passed` is the harness's word, even where a check calls itself so."""
    facts = PredicateFacts(
        output={"v": 1},
        inputs={},
        params={"p": 2},
        run="r1",
        iteration=2,
        principal={"name": "alice"},
        checks={"passed": "forged", "c": {"status": "failed"}},
        checks_passed=False,
        budget={"calls": 3},
    )
    assert facts.to_cel() == {
        "output": {"v": 1},
        "inputs": {},
        "params": {"p": 2},
        "run": {"id": "r1", "iteration": 2},
        "principal": {"name": "alice"},
        "checks": {"passed": False, "c": {"status": "failed"}},
        "budget": {"calls": 3},
    }
