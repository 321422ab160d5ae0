"""A budget under any interleaving: nothing is overspent, no reservation leaks, refused requests change nothing."""

from decimal import Decimal

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from harness.core.budget import Budget

LIMITS = {"calls": 10, "cost_usd": Decimal("1.00"), "calls:a": 4}
NAMES = sorted(LIMITS)
AMOUNTS = {
    "calls": st.integers(0, 6),
    "calls:a": st.integers(0, 3),
    "cost_usd": st.decimals(0, 1, places=3, allow_nan=False, allow_infinity=False),
}
requests = st.fixed_dictionaries({}, optional=AMOUNTS)


class BudgetMachine(RuleBasedStateMachine):
    """Reserves, settles, releases and charges in any order, beside a model that counts by hand."""

    held = Bundle("held")

    def __init__(self):
        super().__init__()
        self.budget = Budget(LIMITS)
        self.used = dict.fromkeys(NAMES, Decimal(0))
        self.open: dict[int, dict] = {}
        self.over = False
        self.number = 0

    def reserved(self, name):
        return sum((Decimal(request.get(name, 0)) for request in self.open.values()), Decimal(0))

    @rule(target=held, request=requests)
    def reserve(self, request):
        """All of it or nothing, exactly where it fits."""
        fits = all(self.used[n] + self.reserved(n) + Decimal(v) <= LIMITS[n] for n, v in request.items())
        short = self.budget.reserve(request)
        assert (short is None) == fits
        if short is not None:
            return multiple()
        self.number += 1
        self.open[self.number] = request
        return self.number

    @rule(number=consumes(held))
    def settle_as_reserved(self, number):
        """What was reserved never exceeds a limit by being settled."""
        request = self.open.pop(number)
        short = self.budget.settle(request, request)
        for name, amount in request.items():
            self.used[name] += Decimal(amount)
        assert short is None or self.over

    @rule(number=consumes(held), actual=requests)
    def settle_otherwise(self, number, actual):
        """What was really used counts, even where it is more."""
        self.budget.settle(self.open.pop(number), actual)
        self.note(actual)

    @rule(number=consumes(held))
    def release(self, number):
        """Given back as if it had never been."""
        self.budget.release(self.open.pop(number))

    @rule(actual=requests)
    def charge(self, actual):
        """Use that has happened; a shortage is said exactly where a limit is passed."""
        short = self.budget.charge(actual)
        self.note(actual)
        assert (short is not None) == any(self.used[name] > LIMITS[name] for name in actual)

    def note(self, actual):
        for name, amount in actual.items():
            self.used[name] += Decimal(amount)
            self.over = self.over or self.used[name] + self.reserved(name) > LIMITS[name]

    @invariant()
    def counters_are_what_the_model_counts(self):
        """Used, reserved and left agree; nothing leaks; nothing is overspent but by what was reported after the act."""
        report = self.budget.report()
        for name in NAMES:
            assert report[name].used == self.used[name]
            assert report[name].reserved == self.reserved(name)
            left = LIMITS[name] - self.used[name] - self.reserved(name)
            assert self.budget.remaining(name) == max(left, 0)
            assert left >= 0 or self.over


BudgetMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestBudgetMachine = BudgetMachine.TestCase
