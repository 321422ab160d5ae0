"""Check 6: what a call reserves, and what is said where it does not fit."""

from decimal import Decimal

import pytest

from harness.core.budget import Budget
from harness.core.verdict import ALLOW, Code, Decision, Verdict
from harness.enforcement.pipeline import decide
from tests.enforcement.making import Facts, compiled, granted, make_call


@pytest.mark.parametrize(
    ("grant", "reserved"),
    [
        ({}, {"calls": 1}),
        ({"calls": 5}, {"calls": 1, "calls:update_record": 1}),
        ({"cost_usd": "0.002"}, {"calls": 1, "cost_usd": Decimal("0.002")}),
        ({"calls": 5, "cost_usd": "1"}, {"calls": 1, "calls:update_record": 1, "cost_usd": Decimal("1")}),
    ],
)
def test_a_call_reserves_itself_its_tools_share_and_its_declared_price(grant: dict, reserved: dict) -> None:
    """Each only where something limits or declares it."""
    assert dict(decide(compiled(granted(**grant)), make_call(record_id=1), Facts()).request) == reserved


@pytest.mark.parametrize(("used", "verdict"), [(8, ALLOW), (9, ALLOW), (10, None)])
def test_the_last_call_passes_and_the_next_does_not(used: int, verdict: Verdict | None) -> None:
    """One below, at the limit, above it; the refusal tells the limit, what it would be, and what is left."""
    budget = Budget({"calls": 10})
    budget.charge({"calls": used})
    refused = Verdict(
        Decision.DENY,
        Code.BUDGET_EXHAUSTED,
        ("`calls` is used up: the limit is 10, this call would make it 11",),
        "0 of 10 is left, and the call needs 1; end the snippet with what there is",
    )
    assert decide(compiled(granted()), make_call(record_id=1), Facts(budget=budget)).verdict == (verdict or refused)


def test_what_is_left_of_money_is_told_exactly() -> None:
    """In decimals."""
    budget = Budget({"cost_usd": Decimal("0.50")})
    budget.charge({"cost_usd": Decimal("0.499")})
    verdict = decide(compiled(granted(cost_usd="0.002")), make_call(record_id=1), Facts(budget=budget)).verdict
    assert verdict.reasons == ("`cost_usd` is used up: the limit is 0.50, this call would make it 0.501",)
    assert verdict.hint.startswith("0.001 of 0.50 is left, and the call needs 0.002;")


def test_reservations_of_calls_under_way_count() -> None:
    """B21: parallel calls are seen by one another."""
    budget = Budget({"calls": 2})
    budget.reserve({"calls": 2})
    verdict = decide(compiled(granted()), make_call(record_id=1), Facts(budget=budget)).verdict
    assert verdict.code is Code.BUDGET_EXHAUSTED
