"""No route shows an interrupted run as complete: Python, JSON, exit status, journal, record and files agree."""

import asyncio
import itertools
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import tool
from harness.completion.terminal import EndFacts, judge
from harness.contract.expression import Judged
from harness.core.ending import EXIT_CODES, Ending, Outcome, ReasonCode, exit_code
from harness.ledger.sqlite import SqliteStore
from harness.report import ContractRef, RunResult
from tests.run.making import document, harness


@pytest.mark.parametrize(("outcome", "reason"), list(itertools.product(Outcome, ReasonCode)))
def test_every_ending_on_every_route(outcome, reason):
    """Accepted comes with `contract_passed` alone, and exit 0 with accepted alone; every reason has an exit status."""
    passed = (outcome is Outcome.ACCEPTED, reason is ReasonCode.CONTRACT_PASSED)
    if passed[0] != passed[1]:
        with pytest.raises(ValueError, match="only come together"):
            Ending(outcome, reason)
        return
    ending = Ending(outcome, reason)
    result = RunResult("run_1", ContractRef("c", 1, "d"), ending, None, [], [])
    assert (exit_code(ending) == 0) == passed[0]
    assert result.exit_code == EXIT_CODES[reason]
    assert (result.to_json()["outcome"], result.to_json()["reason"]["code"]) == (outcome.value, reason.value)


facts = st.builds(
    EndFacts,
    stopped=st.sampled_from(
        [None, *(Ending(Outcome.REJECTED, each) for each in ReasonCode if each is not ReasonCode.CONTRACT_PASSED)]
    ),
    iterations=st.integers(0, 3),
    has_output=st.booleans(),
    failure=st.sampled_from([None, {"type": "ValueError", "message": "no", "line": 1}]),
    success=st.sampled_from([None, Judged(True), Judged(False), Judged(True, "it failed")]),
    unresolved=st.sampled_from([(), ("1.1",)]),
    open_calls=st.sampled_from([(), ("1.2",)]),
    diverged=st.sampled_from(["", "the journal says otherwise"]),
)


@given(facts)
def test_only_a_whole_run_is_accepted(known):
    """Whatever is missing, unknown, open, stopped or failed: the table does not accept."""
    whole = (
        known.stopped is None
        and not known.diverged
        and known.failure is None
        and known.has_output
        and known.success == Judged(True)
        and not known.unresolved
        and not known.open_calls
    )
    assert (judge(known).outcome is Outcome.ACCEPTED) == whole


@tool(effect="write", timeout_s=5)
async def act() -> int:
    """Acts for a while."""
    await asyncio.sleep(0.05)
    return 1


def interrupt(how, box):
    """What happens to the box after it has begun."""
    if how == "call in flight":
        box.send_call("act", {})
        box.result(10)
        return
    box.call("act")
    if how == "vanishes":
        raise OSError("gone")
    if how == "breaks the wire":
        box.send_bytes(b"[")
    elif how == "forges a token":
        box.send({"t": "open", "token": "x"})
    elif how == "raises":
        box.send({"t": "failed", "type": "SystemExit", "message": "0", "traceback": "", "line": 1})
    elif how == "says nothing":
        box.result(None)
    elif how == "wrong shape":
        box.result("10")
    elif how == "prints too much":
        box.send({"t": "print", "stream": "out", "text": "x" * 2_000})
        box.receive()
    elif how in ("is cancelled", "waits"):
        box.receive()
    elif how == "ends well":
        box.result(10)


WAYS = (
    "call in flight", "vanishes", "breaks the wire", "forges a token", "raises", "says nothing", "wrong shape",
    "prints too much", "is cancelled", "waits", "ends well",
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(how=st.sampled_from(WAYS), route=st.sampled_from(["run", "loop", "left"]))
def test_no_route_shows_an_interrupted_run_as_complete(how, route):
    """Only a run that ended by itself and was judged is accepted, delivered, and exits with 0."""
    with tempfile.TemporaryDirectory() as folder:
        made = harness(Path(folder), (act,), lambda box: interrupt(how, box))
        result = asyncio.run(go(made, how, route))
        store = SqliteStore(Path(folder) / ".harness" / "journal.db")
        row = store.runs()[0]
        ended = [json.loads(entry.data) for entry in store.entries(row.id) if entry.kind == "ended"]
        store.close()
        files = list(Path(folder).glob("results/*.json"))
        stored = json.loads(row.ending)
    complete = route != "left" and how in ("ends well", "call in flight")
    assert (stored["outcome"] == "accepted") == complete
    assert [fact["outcome"] == "accepted" for fact in ended] == [complete]
    assert (len(files) == 1) == complete
    assert (stored["result"] is not None) == complete
    if result is not None:
        assert (result.outcome is Outcome.ACCEPTED, result.exit_code == 0) == (complete, complete)
        assert result.to_json()["outcome"] == stored["outcome"]


async def go(made, how, route):
    """One run by a route; a session that is left without `finish()` gives no result."""
    contract = document(
        tools=["act"], budget={"wall_seconds": 0.3 if how == "waits" else 5, "output_bytes": 1_000, "iterations": 1}
    )
    async with made:
        if route == "loop" and how != "is cancelled":
            return await made.loop(contract, lambda turn: "1")
        async with made.session(contract) as session:
            running = asyncio.ensure_future(session.run("1"))
            if how == "is cancelled":
                await asyncio.sleep(0.1)
                session.cancel("somebody cancels")
            await running
            return None if route == "left" else await session.finish()
