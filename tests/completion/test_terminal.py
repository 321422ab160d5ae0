"""How a run ends: each row of the table, and no route on which an interrupted run looks complete."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.completion.terminal import EndFacts, judge
from harness.core.ending import Ending, Outcome, ReasonCode


@dataclass(frozen=True)
class Judged:
    """A predicate's answer."""

    value: bool
    error: str = ""


@dataclass(frozen=True)
class Fault:
    """An output fault."""

    path: str = "$.answer"
    message: str = "`The answer is 5` is text, an integer was expected"


TRUE, FALSE, ERROR = Judged(True), Judged(False), Judged(False, "no such key:\n confidence")
BUDGET = Ending(Outcome.REJECTED, ReasonCode.BUDGET_EXHAUSTED, "calls: limit 2, reached 3")
GOOD = {"iterations": 1, "has_output": True, "success": TRUE}


def rejected(reason: ReasonCode, detail: str, *data: tuple[str, str]) -> Ending:
    """A rejection."""
    return Ending(Outcome.REJECTED, reason, detail, data)


@pytest.mark.parametrize(
    ("facts", "ending"),
    [
        (GOOD, Ending(Outcome.ACCEPTED, ReasonCode.CONTRACT_PASSED)),
        ({**GOOD, "stopped": BUDGET}, BUDGET),
        ({**GOOD, "diverged": "left over: 1.3"}, rejected(ReasonCode.DIVERGED, "left over: 1.3")),
        (
            {**GOOD, "failure": {"type": "KeyError", "message": "'x'\nmore", "traceback": "…", "line": 3}},
            rejected(
                ReasonCode.SNIPPET_FAILED, "the snippet raised KeyError in line 3: 'x' more", ("type", "KeyError")
            ),
        ),
        ({}, rejected(ReasonCode.OUTPUT_MISSING, "no snippet was executed")),
        (
            {"iterations": 2},
            rejected(ReasonCode.OUTPUT_MISSING, "the snippet returned nothing: write `return VALUE` at its top level"),
        ),
        (
            {**GOOD, "output_faults": (Fault(), Fault())},
            rejected(
                ReasonCode.OUTPUT_INVALID,
                "the result does not fit the output schema: $.answer: `The answer is 5` is text, an integer was "
                "expected (and 1 more)",
                ("path", "$.answer"),
                ("faults", "2"),
            ),
        ),
        (
            {**GOOD, "success": None},
            rejected(ReasonCode.PREDICATE_ERROR, "the success predicate was not evaluated"),
        ),
        (
            {**GOOD, "success": ERROR},
            rejected(ReasonCode.PREDICATE_ERROR, "the success predicate failed: no such key: confidence"),
        ),
        (
            {**GOOD, "success": FALSE},
            rejected(ReasonCode.CONTRACT_FAILED, "the result fits its schema, and the success predicate is false"),
        ),
        (
            {**GOOD, "unresolved": ("1.3",)},
            Ending(
                Outcome.UNRESOLVED,
                ReasonCode.PAUSED,
                "whether call 1.3 happened is not known: a person must say, and nothing may repeat it",
                (("unresolved", "1.3"),),
            ),
        ),
        (
            {**GOOD, "open_calls": ("1.4",)},
            Ending(Outcome.UNRESOLVED, ReasonCode.INTERNAL, "calls in no final state: 1.4", (("open", "1.4"),)),
        ),
        (
            {**GOOD, "stopped": BUDGET, "unresolved": ("1.3",)},
            Ending(
                Outcome.UNRESOLVED,
                ReasonCode.BUDGET_EXHAUSTED,
                "calls: limit 2, reached 3; whether call 1.3 happened is not known",
                (("unresolved", "1.3"),),
            ),
        ),
    ],
    ids=[
        "accepted",
        "stopped",
        "diverged",
        "failed",
        "nothing ran",
        "missing",
        "G08 invalid",
        "not judged",
        "predicate error",
        "false",
        "unknown effect",
        "open call",
        "stopped with an unknown effect",
    ],
)
def test_each_row_of_the_table(facts, ending):
    """The facts on the left end exactly so."""
    assert judge(EndFacts(**facts)) == ending


def test_a_truthy_error_is_not_success():
    """An expression that errors is never true, whatever its value looks like."""
    assert judge(EndFacts(**{**GOOD, "success": Judged(True, "type error")})).outcome is Outcome.REJECTED


def test_nothing_from_outside_accepts():
    """An ending that stops a run cannot be an acceptance."""
    with pytest.raises(ValueError, match="never accepts it"):
        EndFacts(stopped=Ending(Outcome.ACCEPTED, ReasonCode.CONTRACT_PASSED))


STOPS = st.none() | st.builds(
    Ending,
    st.sampled_from([Outcome.REJECTED, Outcome.UNRESOLVED]),
    st.sampled_from([code for code in ReasonCode if code is not ReasonCode.CONTRACT_PASSED]),
)
FACTS = st.builds(
    EndFacts,
    stopped=STOPS,
    iterations=st.integers(0, 3),
    has_output=st.booleans(),
    failure=st.none() | st.just({"type": "E", "message": "m"}),
    output_faults=st.sampled_from([(), (Fault(),)]),
    success=st.sampled_from([None, TRUE, FALSE, ERROR, Judged(True, "e")]),
    unresolved=st.sampled_from([(), ("1.1",)]),
    open_calls=st.sampled_from([(), ("1.2",)]),
    diverged=st.sampled_from(["", "left over"]),
)


@given(FACTS)
def test_only_a_whole_run_is_accepted(facts):
    """Accepted means: not stopped, nothing open, nothing unknown, output there and valid, success true."""
    whole = (
        facts.stopped is None
        and not facts.diverged
        and facts.failure is None
        and facts.has_output
        and not facts.output_faults
        and facts.success == TRUE
        and not facts.unresolved
        and not facts.open_calls
    )
    assert (judge(facts).outcome is Outcome.ACCEPTED) == whole


@given(FACTS)
def test_an_unknown_effect_is_never_settled_by_an_ending(facts):
    """While an effect is UNKNOWN the outcome is `unresolved`, whatever stopped the run."""
    if facts.unresolved:
        assert judge(facts).outcome is Outcome.UNRESOLVED
