"""Every number of a budget: one below its limit and at it a run goes on, one above it the run ends and says so."""

import time
from dataclasses import replace
from decimal import Decimal

import pytest

from harness import Partial, no_effect, retry, tool, usd
from harness.core.ports import BoxUsage
from harness.testing import ScriptBackend
from harness.testing.script_box import ScriptBox
from tests.run.making import document, ended, harness, playing


class Busy(Exception):
    """Come again."""


def spend(value):
    """What a tool of these tests reports: as many tokens, a thousandth dollar each."""
    return {"tokens": value, "cost_usd": Decimal(value) / 1000}


@tool(effect="read", cost=spend)
def reported(amount: int) -> int:
    """Reports a cost."""
    return amount


@tool(effect="read", cost=usd("0.010"))
def priced() -> int:
    """Has a price."""
    return 1


def failing(times):
    """A tool that is busy so many times, then answers."""
    left = [times]

    @tool(effect="read", errors={Busy: no_effect(retry=True)}, retry=retry(attempts=9, wait_s=0.001))
    def shy() -> int:
        """Answers in the end."""
        left[0] -= 1
        if left[0] >= 0:
            raise Busy("later")
        return 1

    return shy


def calls(amount):
    """A script that makes so many calls of a tool, each for one token."""

    def play(box):
        for _ in range(amount):
            box.call("reported", amount=1)
        box.result(10)

    return play


def one(name, **args):
    """A script of one call."""
    return lambda box: (box.call(name, **args), box.result(10))


def printing(size):
    """A script that prints so many bytes."""
    return lambda box: (box.send({"t": "print", "stream": "out", "text": "x" * size}), box.result(10))


TABLE = {
    # dimension: (limit, script for an amount, the amounts below, at and above the limit)
    "calls": (3, calls, (2, 3, 4)),
    "calls:reported": (3, calls, (2, 3, 4)),
    "tokens": (100, lambda n: one("reported", amount=n), (99, 100, 101)),
    "cost_usd": ("0.100", lambda n: one("reported", amount=n), (99, 100, 101)),
    "output_bytes": (100, printing, (99, 100, 101)),
    "result_bytes": (9, lambda n: lambda box: box.result(10 ** (n - 1)), (8, 9, 10)),
    "retries": (3, None, (2, 3, 4)),
}


def run_at(tmp_path, dimension, amount):
    """A run that spends `amount` of a dimension under its limit."""
    limit, script, _ = TABLE[dimension]
    budget = {"tokens": 1_000_000, "cost_usd": "20", "retries": 50}
    grant = {"tool": "reported"}
    if dimension == "calls:reported":
        grant["calls"] = limit
    else:
        budget[dimension] = limit
    shy = failing(amount)
    made = harness(tmp_path, (reported, shy), script(amount) if script else one("shy"))
    return made.run_sync(document(tools=[grant, "shy"], budget=budget), "1")


@pytest.mark.parametrize("dimension", TABLE)
@pytest.mark.parametrize("place", [0, 1], ids=["below", "at"])
def test_up_to_its_limit_a_run_goes_on(tmp_path, dimension, place):
    """What was spent is what the report says."""
    amount = TABLE[dimension][2][place]
    result = run_at(tmp_path, dimension, amount)
    assert ended(result) == ("accepted", "contract_passed"), result.ending.detail
    spent = Decimal(amount) / 1000 if dimension == "cost_usd" else amount
    assert result.budget[dimension].used == spent


@pytest.mark.parametrize("dimension", TABLE)
def test_above_its_limit_a_run_ends(tmp_path, dimension):
    """The reason names dimension, limit and amount."""
    limit, _, amounts = TABLE[dimension]
    result = run_at(tmp_path, dimension, amounts[2])
    assert ended(result) == ("rejected", "budget_exhausted")
    data = dict(result.ending.data)
    amount = Decimal(amounts[2]) / 1000 if dimension == "cost_usd" else amounts[2]
    assert (data["dimension"], Decimal(data["limit"]), Decimal(data["amount"])) == (dimension, Decimal(limit), amount)
    assert result.result is None
    assert result.deliveries == []


@pytest.mark.parametrize(("limit", "reason"), [(1, "iteration_limit"), (2, "contract_passed"), (3, "contract_passed")])
def test_iterations(tmp_path, limit, reason):
    """A success in the second iteration, under one, two and three."""
    outputs = iter([1, 10, 10])
    made = harness(tmp_path, (), lambda box: box.result(next(outputs)))
    result = made.loop_sync(document(budget={"iterations": limit}), lambda turn: str(turn.number))
    assert result.reason.value == reason


@pytest.mark.parametrize(("limit", "reason"), [("0.009", "budget_exhausted"), ("0.010", "contract_passed")])
def test_a_call_that_could_not_be_paid_for_is_not_made(tmp_path, limit, reason):
    """A declared price is reserved before the act."""
    made = harness(tmp_path, (priced,), one("priced"))
    result = made.run_sync(document(tools=["priced"], budget={"cost_usd": limit}), "1")
    assert result.reason.value == reason


def test_parallel_calls_never_overspend(tmp_path):
    """Ten at once where five can be paid for: five are made, whatever their order."""
    made_calls = []

    @tool(effect="read", cost=usd("0.01"))
    def dear() -> int:
        """Costs a cent."""
        made_calls.append(1)
        time.sleep(0.05)
        return 1

    def script(box):
        for _ in range(10):
            box.send_call("dear", {})
        for _ in range(10):
            box.receive()

    made = harness(tmp_path, (dear,), script)
    result = made.run_sync(document(tools=["dear"], budget={"cost_usd": "0.05"}), "1")
    assert ended(result) == ("rejected", "budget_exhausted")
    assert len(made_calls) <= 5
    assert result.budget["cost_usd"].used <= Decimal("0.05")


def test_refusals_cost_a_call(tmp_path):
    """A loop that swallows denials comes to an end."""

    def script(box):
        while box.call("nothing") is not None:
            pass

    result = harness(tmp_path, (), script).run_sync(document(budget={"calls": 7}), "1")
    assert ended(result) == ("rejected", "budget_exhausted")
    assert dict(result.ending.data)["dimension"] == "calls"


def test_wall_seconds(tmp_path):
    """A snippet that waits for ever ends within 100 ms of the limit; one that is quicker is not touched."""
    waiting = harness(tmp_path, (), lambda box: box.receive())
    result = waiting.run_sync(document(budget={"wall_seconds": 0.2}), "1")
    assert ended(result) == ("rejected", "budget_exhausted")
    assert dict(result.ending.data)["dimension"] == "wall_seconds"
    assert 0.2 <= float(result.budget["wall_seconds"].used) < 0.3

    quick = harness(tmp_path, (), lambda box: (time.sleep(0.1), box.result(10)))
    result = quick.run_sync(document(budget={"wall_seconds": 1}), "1")
    assert ended(result) == ("accepted", "contract_passed")
    assert 0.1 <= float(result.budget["wall_seconds"].used) < 0.9


def test_the_end_comes_within_100_ms_of_the_excess(tmp_path):
    """From the byte too many to the end of the iteration, with a call in flight that is not accepted."""
    moment = []

    @tool(effect="write")
    def slow() -> int:
        """Takes its time."""
        time.sleep(1.0)
        return 1

    def script(box):
        box.send_call("slow", {})
        time.sleep(0.1)
        moment.append(time.time())
        box.send({"t": "print", "stream": "out", "text": "x" * 11})
        box.receive()

    made = harness(tmp_path, (slow,), script)
    result = made.run_sync(document(tools=["slow"], budget={"output_bytes": 10}), "1")
    assert ended(result) == ("unresolved", "budget_exhausted")
    assert [call.state for call in result.calls] == ["UNKNOWN"]
    assert result.calls[0].ended_at - moment[0] < 0.1


class Measured(ScriptBox):
    """A box that says what it uses."""

    reading = BoxUsage(None, None, None)

    def usage(self):
        return self.reading


class MeasuredBackend(ScriptBackend):
    """Boxes whose readings a test sets."""

    def __init__(self, script, reading):
        super().__init__(script)
        self.reading = reading

    async def start(self, spec):
        box = Measured("measured", self._script)
        box.reading = self.reading
        return box


@pytest.mark.parametrize(
    ("used", "reason"), [(1.9, "contract_passed"), (2.0, "contract_passed"), (2.1, "budget_exhausted")]
)
def test_cpu_seconds(tmp_path, used, reason):
    """Measured from outside, noticed within a sampling period."""
    made = harness(tmp_path, ())
    script = playing(lambda box: (time.sleep(0.15), box.result(10)))
    made._backend = MeasuredBackend(script, replace(Measured.reading, cpu_seconds=used))
    result = made.run_sync(document(budget={"cpu_seconds": 2}), "1")
    assert result.reason.value == reason
    assert result.budget["cpu_seconds"].used == used


@pytest.mark.parametrize(("less", "reason"), [(1, "budget_exhausted"), (0, "contract_passed"), (-1, "contract_passed")])
def test_journal_bytes(tmp_path, less, reason):
    """What a run writes down: its limit one below, at, and above what it needs."""
    probe = harness(tmp_path / "probe", (reported,), one("reported", amount=1))
    (tmp_path / "probe").mkdir()
    contract = {"tools": ["reported"], "budget": {"tokens": 10, "cost_usd": "1"}}
    needed = probe.run_sync(document(**contract), "1").budget["journal_bytes"].used
    contract["budget"]["journal_bytes"] = needed - less
    result = harness(tmp_path, (reported,), one("reported", amount=1)).run_sync(document(**contract), "1")
    assert result.reason.value == reason


def test_cpu_that_no_sample_saw_in_time_counts(tmp_path):
    """A snippet that is over between two samples is not accepted for it."""
    made = harness(tmp_path, ())
    made._backend = MeasuredBackend(playing(lambda box: box.result(10)), BoxUsage(2.1, None, None))
    result = made.run_sync(document(budget={"cpu_seconds": 2}), "1")
    assert ended(result) == ("rejected", "budget_exhausted")


def test_an_effect_in_part_is_charged(tmp_path):
    """A call that did part of its work is settled like any other."""

    @tool(effect="write")
    def half() -> int:
        """Does half."""
        raise Partial([1], [2])

    result = harness(tmp_path, (half,), one("half")).run_sync(document(tools=["half"]), "1")
    assert result.budget["calls"].used == 1
    assert result.budget["calls"].reserved == 0
