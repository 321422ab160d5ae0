"""Parallel calls of every kind of tool: no limit is overspent, no reservation leaks, every call comes to its end."""

import tempfile
import time
from decimal import Decimal
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from harness import no_effect, retry, tool, usd
from harness.core.state import FINAL, State
from tests.run.making import document, harness


class Refused(Exception):
    """Nothing happened."""


class Busy(Exception):
    """Come again."""


@tool(effect="read", cost=usd("0.01"), timeout_s=5)
def good() -> int:
    """Works."""
    return 1


@tool(effect="write", cost=usd("0.02"), errors={Refused: no_effect()}, timeout_s=5)
def fails() -> int:
    """Does nothing, and says so."""
    raise Refused("no")


@tool(effect="write", cost=usd("0.02"), timeout_s=5)
def breaks() -> int:
    """Its ending is not known."""
    raise RuntimeError("who knows")


@tool(effect="read", cost=usd("0.01"), timeout_s=0.05)
def hangs() -> int:
    """Is too late."""
    time.sleep(0.1)
    return 1


@tool(effect="write", cost=usd("0.01"), timeout_s=5)
def wrong() -> int:
    """Breaks its own promise."""
    return "one"


@tool(effect="read", errors={Busy: no_effect(retry=True)}, retry=retry(attempts=3, wait_s=0.001), timeout_s=5)
def busy() -> int:
    """Is busy for ever."""
    raise Busy("later")


@tool(effect="read", cost=lambda value: {"tokens": value, "cost_usd": Decimal("0.015")}, timeout_s=5)
async def reports() -> int:
    """Reports what it used."""
    return 30


TOOLS = (good, fails, breaks, hangs, wrong, busy, reports)
NAMES = [each.__name__ for each in TOOLS]


@settings(max_examples=40, deadline=None)
@given(
    calls=st.lists(st.sampled_from([*NAMES, "nothing"]), min_size=1, max_size=12),
    money=st.sampled_from(["0", "0.03", "0.10", "1"]),
    most=st.integers(0, 12),
    takes=st.integers(0, 12),
)
def test_nothing_leaks(calls, money, most, takes):
    """Whatever is called at once, and whenever the snippet ends: the counters come out even."""

    def play(box):
        for name in calls:
            box.send_call(name, {})
        for _ in range(min(takes, len(calls))):
            box.receive()
        box.result(10)

    with tempfile.TemporaryDirectory() as folder:
        made = harness(Path(folder), TOOLS, play)
        budget = {"cost_usd": money, "calls": most, "tokens": 1_000, "retries": 4}
        result = made.run_sync(document(tools=NAMES, budget=budget), "1")
    assert {usage.reserved for usage in result.budget.values()} <= {0}
    assert {State(call.state) for call in result.calls} <= FINAL | {State.UNKNOWN}
    reported = 0.005 * sum(call.tool == "reports" and call.state == "SUCCEEDED" for call in result.calls)
    assert float(result.budget["cost_usd"].used) <= float(money) + reported + 0.015 * calls.count("reports") + 1e-9
    made_calls = sum(call.state != "DENIED" for call in result.calls)
    assert made_calls <= most
    if result.outcome.value == "accepted":
        assert all(usage.limit is None or usage.used <= usage.limit for usage in result.budget.values())
