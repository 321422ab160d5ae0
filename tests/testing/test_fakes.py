"""The fakes that the package gives to others: they pass the same checks as the real parts."""

from pathlib import Path

import pytest

from harness.api import Harness
from harness.approvals.decision import judge
from harness.contract.load import load_policy
from harness.core.bundle import Decided
from harness.core.ending import Outcome, ReasonCode
from harness.registry.decorator import tool
from harness.registry.from_function import from_function
from harness.registry.registry import Registry
from harness.testing import BoxSide, FakeApprover, FakeClock, ScriptBackend
from harness.testing.plugin import Ends
from tests.approvals.making import bundle

CONTRACT = {
    "contract": "fakes",
    "version": 1,
    "output": {"schema": {"type": "integer"}},
    "budget": {"tokens": 0, "cost_usd": "0", "wall_seconds": 10, "retries": 0, "iterations": 1},
    "permissions": {"tools": [{"tool": "double"}], "data_classes": []},
    "completion": {"success": "output == 42"},
    "destination": [{"to": "file:results/${run.id}.json"}],
}


@tool(effect="read")
def double(number: int) -> int:
    """Twice a number."""
    return 2 * number


def test_a_decision_of_the_fake_approver_is_judged_like_any_other() -> None:
    """Its key stands in a policy, its document is signed, and it may not be the asker."""
    approver, asked = FakeApprover("bob"), bundle()
    policy = load_policy({"policy": "p", "version": 1, "approvers": [approver.entry.model_dump(mode="json")]})
    document = approver.decide(asked, lambda ask: ask.call == asked.asks[0].call)
    decided = judge(document, asked, policy, "alice", "python")
    assert isinstance(decided, Decided)
    assert [each.approved for each in decided.calls] == [True] + [False] * (len(asked.asks) - 1)
    assert not isinstance(judge(document, asked, policy, "bob", "python"), Decided)


def test_a_clock_moves_when_it_is_told_to() -> None:
    """Both clocks together; the wall clock alone can be set wrong, and neither goes back by `advance`."""
    clock = FakeClock(100.0)
    clock.advance(5)
    clock.set_now(50.0)
    assert (clock.now(), clock.monotonic()) == (50.0, 5.0)
    with pytest.raises(ValueError, match="only moved forward"):
        clock.advance(-1)


def test_a_script_plays_a_whole_run(tmp_path: Path) -> None:
    """The real wire, desk and delivery, without a box."""

    def script(box: BoxSide) -> None:
        box.hello()
        box.open()
        box.result(box.call("double", number=21)["ok"])

    tools = Registry()
    tools.add(from_function(double))
    result = Harness(tools, folder=tmp_path, backend=ScriptBackend(script)).run_sync(CONTRACT, "return 0")
    assert (result.outcome, result.result, len(result.calls)) == (Outcome.ACCEPTED, 42, 1)


@pytest.mark.bubblewrap
def test_the_fixture_compares_an_ending(must_end: Ends, tmp_path: Path) -> None:
    """The right ending gives the result; another one fails the test with what came instead."""
    (tmp_path / "tools.py").write_text(
        "from harness import tool\n\n@tool(effect='read')\ndef double(number: int) -> int:\n    return 2 * number\n"
    )
    (tmp_path / "harness.yaml").write_text("tools: [{python: tools.py}]\nsandbox: {backend: bubblewrap}\n")
    host = tmp_path / "harness.yaml"
    snippet = "from tools import double\nreturn double(21)\n"
    result = must_end(CONTRACT, snippet, (Outcome.ACCEPTED, ReasonCode.CONTRACT_PASSED), host=host)
    assert result.result == 42
    with pytest.raises(AssertionError, match="contract_passed"):
        must_end(CONTRACT, snippet, (Outcome.REJECTED, ReasonCode.CONTRACT_FAILED), host=host)
