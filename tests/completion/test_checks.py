"""What trials come to: enough must pass; one that saw nothing is no failure where it could have tipped the balance."""

import pytest

from harness.completion.checks import CheckResult, CheckStatus, Evidence, conclude, obstacles
from harness.completion.terminal import EndFacts, judge
from harness.contract.expression import Judged
from harness.core.ending import Ending, Outcome, ReasonCode

WORDS = {"p": CheckStatus.PASSED, "f": CheckStatus.FAILED, "u": CheckStatus.UNAVAILABLE}


def trials(letters):
    """One piece of evidence a letter."""
    return [Evidence(WORDS[each], "", None, 0.0, "here", "" if each == "p" else f"why {each}") for each in letters]


@pytest.mark.parametrize(
    ("letters", "need", "status", "detail"),
    [
        ("p", 1, "passed", ""),
        ("f", 1, "failed", "why f"),
        ("u", 1, "unavailable", "why u"),
        ("ppf", 2, "passed", ""),
        ("pff", 2, "failed", "1 of 3 trials passed, 2 must: why f"),
        ("puf", 2, "unavailable", "1 of 3 trials passed, 2 must: why u"),
        ("uff", 2, "failed", "0 of 3 trials passed, 2 must: why u"),
        ("", 1, "failed", "no trial was made"),
        ("p", 0, "failed", "no trial was made"),
    ],
)
def test_what_trials_come_to(letters, need, status, detail):
    """Nothing passes by itself: no trials, or none that must pass, is a failure."""
    assert conclude(trials(letters), need) == (CheckStatus(status), detail)


def test_what_stands_in_the_way():
    """Everything but passed and skipped, pending too."""
    results = [CheckResult(each.value, "postcondition", each) for each in CheckStatus]
    assert [each.id for each in obstacles(results)] == ["pending", "failed", "unavailable"]


def test_an_obstacle_stands_above_success():
    """The ending names the first, and counts the others."""
    blocked = [
        CheckResult("a", "invariant", CheckStatus.FAILED, "it\nmoved"),
        CheckResult("b", "postcondition", CheckStatus.PENDING),
    ]
    facts = EndFacts(iterations=1, has_output=True, success=Judged(True), obstacles=blocked)
    assert judge(facts) == Ending(
        Outcome.REJECTED,
        ReasonCode.CONTRACT_FAILED,
        "the invariant `a` is failed: it moved (and 1 more)",
        (("check", "a"), ("status", "failed")),
    )
