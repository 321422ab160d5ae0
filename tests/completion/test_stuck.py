"""A loop that goes nowhere is seen: equal outputs, equal snippets, swinging ones, no progress."""

from harness.completion.stuck import Stuck
from harness.core.canonical import digest
from harness.core.ending import Ending, Outcome, ReasonCode


def test_the_third_equal_output_is_stuck():
    """`same_output: 3`, compared by canonical digest."""
    stuck = Stuck(same_output=3)
    assert stuck.observe({"a": 1, "b": 2}, "s1") is None
    assert stuck.observe({"b": 2, "a": 1}, "s2") is None
    assert stuck.observe({"a": 1.0, "b": 2}, "s3") == Ending(
        Outcome.REJECTED,
        ReasonCode.STUCK,
        "the same output came 3 times",
        (("rule", "same_output"), ("value", digest({"a": 1, "b": 2}))),
    )


def test_a_loop_that_swings_is_stuck():
    """Two outputs in turn are no progress."""
    stuck = Stuck(same_output=2)
    assert [stuck.observe(output, f"s{n}") is None for n, output in enumerate([0.69, 0.71, 0.69])] == [
        True,
        True,
        False,
    ]


def test_the_same_snippet_is_stuck():
    """A snippet that comes again, with whatever output."""
    stuck = Stuck(same_output=2)
    assert stuck.observe(1, "s") is None
    assert stuck.observe(2, "s").data == (("rule", "same_snippet"), ("value", "s"))


def test_no_better_measure_is_stalled():
    """So many iterations without improvement; an improvement starts the count again."""
    stuck = Stuck(stalled=2)
    answers = [stuck.observe(n, str(n), measure) is None for n, measure in enumerate([0.1, 0.1, 0.3, 0.2, 0.3])]
    assert answers == [True, True, True, True, False]


def test_nothing_is_stuck_unless_the_contract_says_so():
    """Without a rule the backstop of iterations is the only one."""
    stuck = Stuck()
    assert {stuck.observe(1, "s") for _ in range(50)} == {None}
