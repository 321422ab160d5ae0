"""A run that comes back tells all of it: what was charged before the pause, and what people have answered."""

from pathlib import Path

from harness.registry.decorator import tool
from harness.testing import BoxSide
from tests.run.making import document, ended
from tests.run.waiting import in_loop, signed, waiting_harness


@tool(effect="write", approval="always", preview="put", timeout_s=5)
def put() -> int:
    """Waits for a person."""
    return 1


def script(box: BoxSide) -> None:
    """One gated call."""
    number = box.send_call("put", {})
    box.send({"t": "idle", "waiting": [number]})
    if box.receive() is not None:
        box.result(10)


@in_loop
async def test_charges_survive_a_pause(tmp_path: Path) -> None:
    """In the counters and in the report."""
    contract = document(tools=["put"], budget={"tokens": 5_000, "cost_usd": "1"})
    async with waiting_harness(tmp_path, [put], script) as harness:
        async with harness.session(contract) as session:
            session.charge("gpt-4o", {"input_tokens": 1000, "output_tokens": 100})
            await session.run("return 1")
            paused = await session.finish()
        assert ended(paused) == ("unresolved", "paused")
        harness.decide(signed(harness.approvals[0]))
        result = await harness.resume(paused.run)
    assert ended(result) == ("accepted", "contract_passed")
    assert (result.budget["tokens"].used, result.budget["tokens"].metered.value) == (1100, "charged")
    assert [(each["model"], each["cost_usd"]) for each in result.charges] == [("gpt-4o", "0.0035")]
    assert result.charges == paused.charges
