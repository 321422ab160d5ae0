"""How a run ends: one table from reason to exit code, and no way to show a stopped run as complete."""

import pytest

from harness.core.ending import EXIT_CODES, Ending, Outcome, ReasonCode, exit_code


def test_every_reason_has_an_exit_code() -> None:
    """No reason is left to chance."""
    assert set(EXIT_CODES) == set(ReasonCode)


def test_only_a_passed_contract_exits_with_0() -> None:
    """And 2 is never a run's: it is usage."""
    assert {reason for reason, code in EXIT_CODES.items() if code == 0} == {ReasonCode.CONTRACT_PASSED}
    assert 2 not in EXIT_CODES.values()


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("internal", 1),
        ("policy_refused", 3),
        ("contract_failed", 4),
        ("budget_exhausted", 5),
        ("paused", 6),
        ("environment_unavailable", 7),
        ("cancelled", 8),
        ("stop_condition", 8),
    ],
)
def test_exit_codes_are_stable(reason: str, code: int) -> None:
    """Scripts rely on them."""
    assert exit_code(Ending(Outcome.REJECTED, ReasonCode(reason))) == code


@pytest.mark.parametrize("reason", [reason for reason in ReasonCode if reason is not ReasonCode.CONTRACT_PASSED])
def test_nothing_but_a_passed_contract_is_accepted(reason: ReasonCode) -> None:
    """An interrupted run cannot be built as an accepted one."""
    with pytest.raises(ValueError, match="only come together"):
        Ending(Outcome.ACCEPTED, reason)


@pytest.mark.parametrize("outcome", [Outcome.REJECTED, Outcome.UNRESOLVED])
def test_a_passed_contract_is_nothing_but_accepted(outcome: Outcome) -> None:
    """The two facts agree."""
    with pytest.raises(ValueError, match="only come together"):
        Ending(outcome, ReasonCode.CONTRACT_PASSED)
