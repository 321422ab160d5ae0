"""Repairs and replays through the corridor: a corrected snippet repeats no effect, a resumed one takes the same way."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.api import Harness
from harness.executor.current import call_key
from harness.registry.decorator import key, tool
from harness.testing import BoxSide, FakeClock
from tests.run.making import document, ended, harness
from tests.run.waiting import at_once, gated, in_loop, signed, waiting_harness

ACTS: list[Any] = []
Line = tuple[str, dict[str, Any]]


@pytest.fixture(autouse=True)
def nothing_done():
    ACTS.clear()
    yield
    ACTS.clear()


@tool(effect="read")
def read(at: int) -> int:
    """A read."""
    ACTS.append(("read", at))
    return at


@tool(effect="write")
def plain(number: int) -> int:
    """A write without a key."""
    ACTS.append(("plain", number))
    return number


@tool(effect="write", idempotency=key("operation"))
def keyed(number: int, operation: str) -> int:
    """A write under the caller's key."""
    ACTS.append(("keyed", number))
    return number


@tool(effect="write", idempotency="derived")
def derived(number: int) -> int:
    """A write under a key of the harness."""
    ACTS.append(("derived", number, call_key()))
    return number


TOOLS = [read, plain, keyed, derived]
NAMES = ["read", "plain", "keyed", "derived"]
LINES: list[Line] = [
    ("read", {"at": 1}),
    ("plain", {"number": 1}),
    ("keyed", {"number": 1, "operation": "one"}),
    ("derived", {"number": 1}),
    ("derived", {"number": 1}),
]


def snippets(*versions: Sequence[Line], fail: Sequence[int] = (0,)) -> Callable[[BoxSide], None]:
    """Each version makes its calls in order; those in `fail` then raise, the others return 10."""
    left = list(enumerate(versions))

    def play(box: BoxSide) -> None:
        number, lines = left.pop(0)
        for name, args in lines:
            box.call(name, **args)
        if number in fail:
            box.send({"t": "failed", "type": "NameError", "message": "typo", "traceback": "", "line": 3})
        else:
            box.result(10)

    return play


async def session_of(folder: Path, *versions: Sequence[Line], **how: Any) -> tuple[Any, Harness]:
    """Run the versions in one session; its result."""
    host = harness(folder, TOOLS, snippets(*versions))
    async with host, host.session(document(tools=NAMES)) as session:
        await session.run("1")
        await session.run("2", **how)
        return await session.finish(), host


CORRECTED: dict[str, Sequence[Line]] = {
    "the same": LINES,
    "lines inserted": [LINES[0], ("plain", {"number": 2}), *LINES[1:]],
    "lines removed": [LINES[0], LINES[3]],
    "lines reordered": [LINES[4], LINES[2], LINES[1], LINES[0], LINES[3]],
}


@pytest.mark.parametrize("version", CORRECTED.values(), ids=CORRECTED)
@in_loop
async def test_a_corrected_snippet_repeats_nothing(tmp_path: Path, version: Sequence[Line]) -> None:
    """Reads, writes without a key, keyed and derived ones: only what is new runs."""
    result, _ = await session_of(tmp_path, LINES, version)
    new = [("plain", 2)] if ("plain", {"number": 2}) in version else []
    assert ended(result) == ("accepted", "contract_passed")
    assert [act[:2] for act in ACTS[len(LINES) :]] == new
    assert {line.state for line in result.calls[len(LINES) :]} <= {"REPLAYED", "SUCCEEDED"}


@in_loop
async def test_something_new_starts_afresh(tmp_path: Path) -> None:
    """`continues="new"`: the same calls are made again, under other derived keys; the caller's key still answers."""
    await session_of(tmp_path, LINES, LINES, continues="new")
    assert [act[0] for act in ACTS[5:]] == ["read", "plain", "derived", "derived"]
    assert len({act[2] for act in ACTS if act[0] == "derived"}) == 4


@in_loop
async def test_a_snippet_after_a_success_starts_afresh(tmp_path: Path) -> None:
    """A lineage ends where its snippet returned."""
    host = harness(tmp_path, TOOLS, snippets(LINES[:2], LINES[:2], fail=()))
    async with host, host.session(document(tools=NAMES)) as session:
        await session.run("1")
        await session.run("2")
    assert ACTS == [("read", 1), ("plain", 1)] * 2


@in_loop
async def test_fresh_reads_read_again_and_write_nothing(tmp_path: Path) -> None:
    """Reads are made again; effects never are."""
    await session_of(tmp_path, LINES[:2], LINES[:2], fresh_reads=True)
    assert ACTS == [("read", 1), ("plain", 1), ("read", 1)]


# --- resuming ------------------------------------------------------------------------------------------------


@tool(effect="write", approval="always", preview="put {number}")
def put(number: int) -> int:
    """A gated write."""
    ACTS.append(("put", number))
    return number


@in_loop
async def test_what_was_answered_is_answered_from_the_journal_exactly(tmp_path: Path) -> None:
    """The exact answers in their recorded order with their recorded times; reads are not made again."""
    answers: list[list[Any]] = []

    def script(box: BoxSide) -> None:
        got = [box.call("read", at=1), box.call("read", at=1), box.call("plain", number=1), box.call("nothing")]
        answers.append(got)
        if at_once(box, [("0", "put", {"number": 1})]):
            box.result(10)

    async with waiting_harness(tmp_path, [read, plain, put], script) as host:
        contract = gated(["put"])
        contract["permissions"]["tools"] += [{"tool": "read"}, {"tool": "plain"}]
        paused = await host.run(contract, "return 1")
        host.decide(signed(host.approvals[0]))
        result = await host.resume(paused.run)
    assert ended(result) == ("accepted", "contract_passed")
    assert answers[0] == answers[1]
    assert answers[0][3]["error"]["code"] == "unlisted"
    assert ACTS == [("read", 1), ("read", 1), ("plain", 1), ("put", 1)]


@in_loop
async def test_a_snippet_that_goes_another_way_has_diverged_and_both_sides_are_shown(tmp_path: Path) -> None:
    """Left-over entries in a quiescent box: nothing new runs, the run stops."""
    attempts = [1, 2]

    def script(box: BoxSide) -> None:
        number = attempts.pop(0)
        at_once(box, [("0", "read", {"at": number})])
        if at_once(box, [("0", "put", {"number": 1})]):
            box.result(10)

    async with waiting_harness(tmp_path, [read, put], script) as host:
        contract = gated(["put"])
        contract["permissions"]["tools"].append({"tool": "read"})
        paused = await host.run(contract, "return 1")
        host.decide(signed(host.approvals[0]))
        result = await host.resume(paused.run)
    assert ended(result) == ("rejected", "diverged")
    assert ACTS == [("read", 1)]
    assert "the journal holds read" in result.ending.detail
    assert "the snippet made read" in result.ending.detail


@in_loop
async def test_sleeps_are_journalled(tmp_path: Path) -> None:
    """A resumed run does not sleep again, and its sleeps keep their place among the answers."""
    order: list[list[int]] = []

    def script(box: BoxSide) -> None:
        nap = box.send_call("harness.sleep", {"seconds": 0.3}, "0.1")
        asked = box.send_call("read", {"at": 1}, "0.2")
        order.append([box.receive()["id"], box.receive()["id"]])
        assert sorted(order[-1]) == [nap, asked]
        if at_once(box, [("0", "put", {"number": 1})]):
            box.result(10)

    async with waiting_harness(tmp_path, [read, put], script) as host:
        contract = gated(["put"])
        contract["permissions"]["tools"].append({"tool": "read"})
        paused = await host.run(contract, "return 1")
        host.decide(signed(host.approvals[0]))
        result = await host.resume(paused.run)
    assert ended(result) == ("accepted", "contract_passed")
    assert order[0] == order[1]
    assert [line.tool for line in result.calls] == ["read", "put"]


@in_loop
async def test_a_stale_approval_is_asked_again(tmp_path: Path) -> None:
    """Beyond `max_read_age` a person is asked once more, and sees the age."""
    clock = FakeClock()

    def script(box: BoxSide) -> None:
        box.call("read", at=1)
        if at_once(box, [("0", "put", {"number": 1})]):
            box.result(10)

    async with waiting_harness(tmp_path, [read, put], script, clock, max_read_age=600) as host:
        contract = gated(["put"])
        contract["permissions"]["tools"].append({"tool": "read"})
        paused = await host.run(contract, "return 1")
        host.decide(signed(host.approvals[0]))
        clock.advance(601)
        again = await host.resume(paused.run)
        assert (again.reason.value, len(host.approvals), ACTS) == ("paused", 2, [("read", 1)])
        host.decide(signed(host.approvals[1]))
        assert ended(await host.resume(paused.run)) == ("accepted", "contract_passed")
    assert ACTS == [("read", 1), ("put", 1)]


@in_loop
async def test_two_hosts_that_resume_one_run_do_it_once(tmp_path: Path) -> None:
    """The store fences: the slower one is told, and has done nothing."""

    def script(box: BoxSide) -> None:
        if at_once(box, [("0", "put", {"number": 1})]):
            box.result(10)

    async with (
        waiting_harness(tmp_path, [put], script) as one,
        waiting_harness(tmp_path, [put], script) as two,
    ):
        paused = await one.run(gated(["put"]), "return 1")
        one.decide(signed(one.approvals[0]))
        first = await one.reopen(paused.run)
        with pytest.raises(Exception, match="is running here"):
            await two.resume(paused.run)
        await first.resume()
        assert ended(await first.finish()) == ("accepted", "contract_passed")
    assert ACTS == [("put", 1)]


@tool(effect="write", timeout_s=0.2)
async def slow(number: int) -> int:
    """A write whose ending is not seen."""
    ACTS.append(("slow", number))
    await asyncio.sleep(3)
    return number


@in_loop
async def test_of_an_unknown_effect_a_person_is_asked_whether_it_happened(tmp_path: Path) -> None:
    """F11: it is never made again; a person's word resolves it through the same bundles."""

    def script(box: BoxSide) -> None:
        box.call("slow", number=1)
        box.result(10)

    async with waiting_harness(tmp_path, [slow], script) as host:
        contract = document(tools=["slow"])
        paused = await host.run(contract, "return 1")
        (bundle,) = host.approvals
        assert (paused.reason.value, bundle.kind) == ("paused", "outcome")
        assert bundle.reference in paused.ending.detail
        host.decide(signed(bundle))
        result = await host.resume(paused.run)
        assert ended(result) == ("accepted", "contract_passed")
    assert ACTS == [("slow", 1)]


@in_loop
async def test_what_was_printed_before_the_pause_is_counted_once(tmp_path: Path) -> None:
    """A replay restores the counters: it spends nothing of the run's own budget."""

    def script(box: BoxSide) -> None:
        box.send({"t": "print", "stream": "out", "text": "x" * 1000})
        box.call("read", at=1)
        if at_once(box, [("0", "put", {"number": 1})]):
            box.result(10)

    async with waiting_harness(tmp_path, [read, put], script) as host:
        contract = gated(["put"])
        contract["permissions"]["tools"].append({"tool": "read"})
        paused = await host.run(contract, "return 1")
        host.decide(signed(host.approvals[0]))
        result = await host.resume(paused.run)
    used = {name: usage.used for name, usage in result.budget.items()}
    assert (used["output_bytes"], used["calls"], used["iterations"]) == (1000, 2, 1)
