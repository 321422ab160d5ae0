"""Invariants: looked at around every effect that they guard, one effect at a time; a broken one stops the run."""

import asyncio
import time

from harness import tool
from tests.run.making import document, ended, harness, statuses


class World:
    """What the tools of these tests change, and in which order they were at work."""

    def __init__(self) -> None:
        self.value = 0
        self.events: list[str] = []
        self.busy = 0
        self.most = 0

    def tools(self):
        """A reading, an effect that keeps the invariant, one that breaks it."""

        @tool(effect="read")
        def value() -> int:
            """The value."""
            self.events.append("look")
            return self.value

        @tool(effect="write")
        async def add(by: int) -> int:
            """Add, slowly."""
            self.busy += 1
            self.most = max(self.most, self.busy)
            await asyncio.sleep(0.01)
            self.value += by
            self.events.append(f"add {by}")
            self.busy -= 1
            return self.value

        @tool(effect="write")
        def note(text: str) -> None:
            """Write something else."""
            self.events.append(text)

        return value, add, note


def run(tmp_path, script, guards=("add",), expect="result <= 10"):
    """Run a script under the invariant that the value is at most 10."""
    world = World()
    rule = {"id": "small", "tool": "value", "expect": expect, "guards": list(guards)}
    made = harness(tmp_path, world.tools(), script)
    result = made.run_sync(document(tools=["add", "note"], checks={"invariants": [rule]}), "1")
    return world, result


def test_it_is_looked_at_before_and_after_every_guarded_effect(tmp_path):
    """Not around others."""

    def script(box):
        box.call("add", by=1)
        box.call("note", text="note")
        box.call("add", by=2)
        box.result(10)

    world, result = run(tmp_path, script)
    assert world.events == ["look", "add 1", "look", "note", "look", "add 2", "look"]
    assert ended(result) == ("accepted", "contract_passed")
    assert statuses(result) == {"small": "passed"}


def test_a_broken_invariant_stops_the_run_before_the_next_effect(tmp_path):
    """The effect that broke it stands and is recorded; nothing acts after it, guarded or not."""

    def script(box):
        box.send_call("add", {"by": 11})
        box.send_call("note", {"text": "too late"})
        box.send_call("add", {"by": 1})
        for _ in range(3):
            box.receive()
        box.result(10)

    world, result = run(tmp_path, script)
    assert world.events == ["look", "add 11", "look"]
    assert ended(result) == ("rejected", "contract_failed")
    assert result.ending.detail == "the invariant `small` is failed: `result <= 10` is false"
    assert [call.state for call in result.calls] == ["SUCCEEDED", "DENIED", "DENIED"]


def test_an_invariant_that_is_broken_before_denies_the_effect(tmp_path):
    """Nothing of the call has run, and it is told why."""
    world, result = run(tmp_path, lambda box: (box.call("add", by=1), box.result(10)), expect="result > 10")
    assert world.events == ["look"]
    assert [(call.state, call.code) for call in result.calls] == [("DENIED", "invariant_broken")]
    assert ended(result) == ("rejected", "contract_failed")


def test_an_invariant_that_cannot_be_judged_stops_the_run(tmp_path):
    """With a reason of its own."""
    _, result = run(tmp_path, lambda box: (box.call("add", by=1), box.result(10)), expect="10 / result > 1")
    assert ended(result) == ("rejected", "predicate_error")


def test_guarded_effects_go_one_at_a_time(tmp_path):
    """Ten parallel calls never overlap, and each stands between two looks."""

    def script(box):
        for _ in range(10):
            box.send_call("add", {"by": 1})
        for _ in range(10):
            box.receive()
        box.result(10)

    world, result = run(tmp_path, script)
    assert world.most == 1
    assert world.events == ["look", "add 1", "look"] * 10
    assert ended(result) == ("accepted", "contract_passed")


def test_without_guards_every_effect_is_guarded(tmp_path):
    """The default is the strict one."""
    world, _ = run(tmp_path, lambda box: (box.call("note", text="note"), box.result(10)), guards=())
    assert world.events == ["look", "note", "look"]


def test_without_invariants_effects_run_in_parallel(tmp_path):
    """Nobody waits in a line that nobody needs."""
    world = World()

    def script(box):
        for _ in range(10):
            box.send_call("add", {"by": 1})
        for _ in range(10):
            box.receive()
        box.result(10)

    harness(tmp_path, world.tools(), script).run_sync(document(tools=["add"]), "1")
    assert world.most == 10


def test_effects_that_wait_in_line_when_the_run_ends_are_denied(tmp_path):
    """None of them acts later, and none is left in no final state."""
    world = World()
    released = []

    @tool(effect="read")
    def slow_look() -> int:
        """Look for a while."""
        time.sleep(0.3)
        released.append(1)
        return 0

    def script(box):
        for _ in range(3):
            box.send_call("note", {"text": "late"})
        box.result(10)

    rule = {"id": "slow", "tool": "slow_look", "expect": "result == 0"}
    made = harness(tmp_path, (*world.tools(), slow_look), script)
    result = made.run_sync(document(tools=["note"], budget={"wall_seconds": 0.1}, checks={"invariants": [rule]}), "1")
    assert ended(result) == ("rejected", "budget_exhausted")
    assert world.events == []
    assert {call.state for call in result.calls} == {"DENIED"}
