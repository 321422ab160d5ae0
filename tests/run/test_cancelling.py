"""`cancel` from elsewhere: the live host is fenced and ends, what was open is closed, the journal is true."""

import asyncio
from pathlib import Path

import pytest

from harness.core.errors import StoreError
from harness.core.state import State
from harness.ledger.audit import verify
from harness.ledger.replay import fold
from harness.ledger.sqlite import SqliteStore
from harness.registry.decorator import tool
from harness.run.telling import run_document
from harness.testing import BoxSide
from tests.run.making import document, ended
from tests.run.waiting import at_once, in_loop, waiting_harness

STARTED, GO = asyncio.Event(), asyncio.Event()


@tool(effect="read", timeout_s=5)
def look() -> int:
    """Look."""
    return 1


@tool(effect="write", idempotency="derived", timeout_s=20, preview="act {number}")
async def act(number: int) -> int:
    """Acts as soon as it may."""
    STARTED.set()
    await GO.wait()
    return number


@tool(effect="write", timeout_s=5, preview="put {number}", approval="always")
def put(number: int) -> int:
    """Waits for a person."""
    return number


def both(box: BoxSide) -> None:
    """A read, then a call that waits, and beside it an effect that takes its time."""
    box.call("look")
    if len(at_once(box, [("0.1", "put", {"number": 1}), ("0.2", "act", {"number": 2})])) == 2:
        box.result(10)


CONTRACT = document(tools=["look", "act", "put"])


@pytest.fixture(autouse=True)
def fresh():
    STARTED.clear()
    GO.clear()


@in_loop
async def test_what_was_open_is_closed(tmp_path: Path) -> None:
    """F10: the effect in flight is UNKNOWN for good, in the journal, under its key and in the report; what waited is
    denied; the host that ran it ends with exit 8, and what its tool returns later changes nothing."""
    async with waiting_harness(tmp_path, [look, act, put], both) as host:
        running = asyncio.ensure_future(host.run(CONTRACT, "return 10"))
        await STARTED.wait()
        async with waiting_harness(tmp_path, [look, act, put], both) as other:
            (row,) = other.store().runs()
            cancelled = other.cancel(row.id)
            told = await running
            GO.set()
            with pytest.raises(StoreError, match="has ended: cancelled"):
                other.cancel(row.id)
            shown = run_document(other.store(), other.policy, row.id)
    states = [("look", "SUCCEEDED", "ok"), ("put", "DENIED", "cancelled"), ("act", "UNKNOWN", "ok")]
    assert (ended(cancelled), cancelled.exit_code) == (("unresolved", "cancelled"), 8)
    assert [(line.tool, line.state, line.code) for line in cancelled.calls] == states
    assert [line.status for line in cancelled.iterations] == ["stopped"]
    assert (ended(told), told.exit_code) == (("unresolved", "cancelled"), 8)
    assert [(each["tool"], each["state"], each["verdict"]["code"]) for each in shown["calls"]] == states
    assert (shown["status"], shown["reason"], shown["attempt"]) == ("ended", "cancelled", 2)
    store = SqliteStore(tmp_path / ".harness" / "journal.db")
    act_call = next(call for call in fold(store.entries(row.id)) if call.match.tool == "act")
    (receipt,) = store._rows("SELECT state FROM receipts WHERE key = ?", (act_call.key,))
    store.close()
    assert receipt == (State.UNKNOWN.value,)
    assert verify(tmp_path / ".harness" / "journal.db") == []


@in_loop
async def test_a_run_that_is_being_delivered_is_not_cancelled(tmp_path: Path) -> None:
    """Its ending stands in the journal: it stays, and its host is not fenced."""
    host = waiting_harness(tmp_path, [look, act, put], lambda box: box.result(10))
    other = waiting_harness(tmp_path, [], lambda box: None)
    async with host, other, host.session(CONTRACT) as session:
        await session.run("return 10")
        assert host._parts is not None
        deliver = host._parts.deliverer.deliver

        async def while_delivering(*args, **more):
            with pytest.raises(StoreError, match="has ended: contract_passed"):
                other.cancel(session.id)
            return await deliver(*args, **more)

        host._parts.deliverer.deliver = while_delivering  # type: ignore[method-assign]
        result = await session.finish()
    assert ended(result) == ("accepted", "contract_passed")
