"""The budget: reserve before, settle after, release on failure; never overspent by what was asked first."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from harness.core.budget import Budget, Dimension, Metered, Shortage, Usage, tool_calls


def test_a_reservation_at_the_limit_holds_and_the_next_one_does_not() -> None:
    """B21: the limit itself can be spent; one more cannot, and says what it would have come to."""
    budget = Budget({"calls": 2})
    assert [budget.reserve({"calls": 1}) for _ in range(3)] == [None, None, Shortage("calls", 2, 3)]


@pytest.mark.parametrize("dimension", ["tokens", "cost_usd", "retries"])
def test_a_limit_of_nothing_ends_at_the_first_charge(dimension: str) -> None:
    """0 for tokens, money and retries means none; a charge of nothing is no charge."""
    budget = Budget({dimension: 0})
    assert budget.charge({dimension: 0}) is None
    assert budget.charge({dimension: 1}) == Shortage(dimension, 0, 1)


def test_a_reservation_is_all_or_nothing() -> None:
    """Where one dimension does not fit none is held."""
    budget = Budget({"calls": 5, "calls:a": 1})
    assert budget.reserve({"calls": 1, "calls:a": 2}) == Shortage("calls:a", 1, 2)
    assert budget.remaining("calls") == 5


def test_settling_counts_what_was_really_used_even_above_the_limit() -> None:
    """What happened cannot be unspent: the shortage says so."""
    budget = Budget({"tokens": 100})
    assert budget.reserve({"tokens": 50}) is None
    assert budget.settle({"tokens": 50}, {"tokens": 120}) == Shortage("tokens", 100, 120)
    assert budget.report()["tokens"] == Usage(100, 120, 0, Metered.TOOLS)


def test_releasing_more_than_was_reserved_is_a_mistake() -> None:
    """It raises, and the counter stays as it was."""
    budget = Budget({"calls": 5})
    budget.reserve({"calls": 1})
    with pytest.raises(ValueError, match="more of `calls` released than was reserved"):
        budget.release({"calls": 2})
    assert budget.remaining("calls") == 4


@pytest.mark.parametrize("act", ["reserve", "charge"])
def test_negative_amounts_are_refused(act: str) -> None:
    """Nobody earns budget by asking for less than nothing."""
    with pytest.raises(ValueError, match="cannot be negative"):
        getattr(Budget({"calls": 5}), act)({"calls": -1})


def test_money_is_exact() -> None:
    """Ten dimes are one dollar, and not a cent less."""
    budget = Budget({"cost_usd": Decimal("1.00")})
    assert all(budget.charge({"cost_usd": Decimal("0.10")}) is None for _ in range(10))
    assert budget.remaining("cost_usd") == 0
    assert budget.charge({"cost_usd": Decimal("0.000001")}) == Shortage(
        "cost_usd", Decimal("1.00"), Decimal("1.000001")
    )


def test_a_level_counts_at_its_highest() -> None:
    """Measured totals never go back."""
    budget = Budget({"memory_mb": 100})
    assert budget.observe("memory_mb", 90) is None
    assert budget.observe("memory_mb", 10) is None
    assert budget.report()["memory_mb"] == Usage(100, 90, 0, Metered.HOST)
    assert budget.observe("memory_mb", 101) == Shortage("memory_mb", 100, 101)


def test_what_nothing_limits_is_counted_all_the_same() -> None:
    """It has no remainder, and it stands in the report."""
    budget = Budget({})
    assert budget.charge({tool_calls("a"): 3}) is None
    assert budget.remaining("calls:a") is None
    assert budget.report() == {"calls:a": Usage(None, 3, 0, Metered.HOST)}


def test_a_resumed_run_starts_from_the_stored_counters() -> None:
    """Use survives, reservations do not."""
    before = Budget({"calls": 10})
    before.charge({"calls": 4})
    before.reserve({"calls": 3})
    after = Budget({"calls": 10})
    after.restore(before.snapshot())
    assert after.remaining("calls") == 6


def test_every_dimension_has_its_unit_in_its_name() -> None:
    """The names are part of the contract's file format: none may change."""
    assert [each.value for each in Dimension] == [
        "tokens",
        "cost_usd",
        "wall_seconds",
        "retries",
        "iterations",
        "calls",
        "cpu_seconds",
        "memory_mb",
        "pids",
        "disk_mb",
        "output_bytes",
        "result_bytes",
        "journal_bytes",
    ]


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(0, 40))
def test_reservations_alone_never_pass_the_limit(amounts: list[int], limit: int) -> None:
    """B21: in whatever order they come, what was granted fits."""
    budget = Budget({"calls": limit})
    granted = sum(amount for amount in amounts if budget.reserve({"calls": amount}) is None)
    assert granted <= limit
    assert budget.remaining("calls") == limit - granted


class BudgetMachine(RuleBasedStateMachine):
    """Any interleaving of calls that reserve, settle at or below what they reserved, or fail."""

    def __init__(self) -> None:
        super().__init__()
        self.limits = {"calls": 6, "calls:a": 3, "cost_usd": Decimal("1.0")}
        self.budget = Budget(self.limits)
        self.open: list[dict] = []
        self.spent = {"calls": 0, "calls:a": 0, "cost_usd": Decimal(0)}

    @rule(tool=st.sampled_from(["a", "b"]), cents=st.integers(0, 40))
    def reserve(self, tool: str, cents: int) -> None:
        request = {"calls": 1, tool_calls(tool): 1, "cost_usd": Decimal(cents) / 100}
        if self.budget.reserve(request) is None:
            self.open.append(request)

    @rule(data=st.data(), part=st.integers(0, 100))
    def settle(self, data: st.DataObject, part: int) -> None:
        if self.open:
            request = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
            actual = {**request, "cost_usd": request["cost_usd"] * part / 100}
            assert self.budget.settle(request, actual) is None
            for name in self.spent:
                self.spent[name] += actual.get(name, 0)

    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        if self.open:
            self.budget.release(self.open.pop(data.draw(st.integers(0, len(self.open) - 1))))

    @invariant()
    def nothing_is_overspent(self) -> None:
        for name, usage in self.budget.report().items():
            if usage.limit is not None:
                assert usage.used + usage.reserved <= usage.limit, name

    @invariant()
    def nothing_leaks(self) -> None:
        report = self.budget.report()
        for name, spent in self.spent.items():
            assert report[name].used == spent
            assert report[name].reserved == sum(request.get(name, 0) for request in self.open)


TestBudgetMachine = BudgetMachine.TestCase
