"""A server that is silent, noisy, late, dead or old harms itself alone, and what it wrote last is shown (C24, C25)."""

import os
import time

import pytest

from harness.core.ports import Outcome
from harness.core.state import Event
from harness.toolsets.errors import SourceUnavailable
from tests.toolsets.making import Place, fake

READS = {"work": {"effect": "read"}, "look": {"effect": "read"}, "remove": {"preview": "remove it"}}


def place(folder, mode: str, state=None, tools=None, **more) -> Place:
    """A host with the server in a mode, admitted while it behaved."""
    good = Place(folder, fake("good"))
    good.overlay("fake", **(tools or {"remove": {"preview": "remove it"}}))
    good.admit()
    return Place(folder, fake(mode, state, **more))


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_a_server_that_never_answers_costs_its_own_deadline(tmp_path) -> None:
    """C24: an effect whose answer never came is UNKNOWN, and the server is told that nobody waits."""
    state = tmp_path / "state"
    [outcome] = place(tmp_path, "silent", state).call(("work", {}), timeout_s=0.5)
    assert (outcome.event, outcome.error_type) == (Event.LOSE, "Timeout")
    assert "call work" in state.read_text()


def test_a_late_answer_to_an_effect_leaves_it_unknown(tmp_path) -> None:
    """C24: the answer comes after the deadline; it is dropped, the next call gets its own, and nothing is repeated."""
    state = tmp_path / "state"
    host = place(tmp_path, "late", state)
    first, second = host.call(("work", {}), ("look", {}), timeout_s=0.5)[0], None
    assert (first.event, first.error_type) == (Event.LOSE, "Timeout")
    state.unlink()
    first, second = host.call(("work", {}), ("look", {}), timeout_s=4)
    assert (first.value, second.value) == ("done", "seen")
    assert state.read_text().count("call work") == 1


def test_noise_on_the_output_is_skipped(tmp_path) -> None:
    """C24: log lines and broken JSON between the messages change nothing."""
    outcomes = place(tmp_path, "noisy").call(("work", {}), ("structured", {}))
    assert [each.value for each in outcomes] == ["done", {"n": 1}]


def test_a_batch_of_an_old_server_is_taken_apart(tmp_path) -> None:
    """C24: an array of messages on one line."""
    [outcome] = place(tmp_path, "batch").call(("work", {}))
    assert (outcome.event, outcome.value) == (Event.RETURN_VALID, "done")


def test_a_server_that_dies_in_a_call_leaves_an_effect_unknown(tmp_path) -> None:
    """C24: whether it acted is not known; the snippet hears how it ended, never what it wrote; the next call starts it
    again."""
    state = tmp_path / "state"
    first, second = place(tmp_path, "dies", state).call(("work", {}), ("work", {}))
    assert (first.event, first.error_type) == (Event.LOSE, "SourceBroke")
    assert first.message == "`fake` went away during `work`: it ended with status 3"
    assert second.event is Event.LOSE
    assert state.read_text().count("started") == 2


def test_a_line_without_end_ends_the_connection(tmp_path) -> None:
    """A server cannot fill the host's memory."""
    [outcome] = place(tmp_path, "huge").call(("work", {}))
    assert outcome.event is Event.LOSE
    assert outcome.message == "`fake` went away during `work`: it wrote a line of more than 8388608 bytes"


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("crashing", "the source `fake` cannot be used: it ended with status 1"),
        ("mute", "the source `fake` cannot be used: it said nothing that counts within 0.7 seconds"),
        ("endless", "the list of tools of `fake` has no end"),
    ],
)
def test_a_server_that_does_not_start_makes_only_its_own_calls_fail(tmp_path, mode: str, why: str) -> None:
    """C25: the call never left, so it FAILED without effect; the host starts, lists and checks without the server."""
    more = {"start_seconds": 0.7} if mode == "mute" else {}
    [outcome] = place(tmp_path, mode, **more).call(("work", {}))
    assert (outcome.event, outcome.error_type, outcome.message) == (Event.RAISE_NO_EFFECT, "SourceUnavailable", why)
    assert outcome.hint == "the call never left the host"


def test_what_a_server_wrote_last_is_shown_to_people(tmp_path) -> None:
    """C25: the tail of its standard error, and the way out for old servers."""
    host = place(tmp_path, "crashing")

    async def ask(toolsets) -> SourceUnavailable:
        with pytest.raises(SourceUnavailable) as raised:
            await toolsets.source(host.host.tools[0]).definitions()
        return raised.value

    error = host.using(ask)
    assert error.tail == "ImportError: cannot import name 'JSONRPCMessage' from 'mcp.types'"
    assert error.hint.endswith("an old server may want `protocol: legacy`, or `mcp<2` in its own environment")


def test_an_old_server_is_reached_by_the_handshake(tmp_path) -> None:
    """C25: one that ends at a question that it does not know."""
    [unknown] = place(tmp_path, "old").call(("work", {}))
    assert unknown.error_type == "SourceUnavailable"
    [outcome] = place(tmp_path, "old", protocol="legacy").call(("work", {}))
    assert outcome.value == "done"


def test_other_sources_go_on_while_one_is_dead(tmp_path) -> None:
    """One host, two servers."""
    place(tmp_path, "good")
    other = fake("good")
    other["mcp"] = {**other["mcp"], "name": "other", "prefix": "other."}
    host = Place(tmp_path, other)
    host.overlay("other", remove={"preview": "remove it"})
    host.admit()
    host = Place(tmp_path, fake("crashing"), other)
    outcomes: list[Outcome] = host.call(("work", {}), ("other.work", {}))
    assert [each.event for each in outcomes] == [Event.RAISE_NO_EFFECT, Event.RETURN_VALID]


def test_nothing_is_left_of_a_server(tmp_path) -> None:
    """The process is gone when the host closes, one that does not listen too."""
    state = tmp_path / "state"
    place(tmp_path, "mute", state, start_seconds=0.5).call(("work", {}))
    pid = int(state.read_text().split()[1])
    assert gone(pid)
    place(tmp_path, "good", state).call(("work", {}))
    assert gone(int(state.read_text().split()[3]))


@pytest.mark.parametrize("mode", ["changed", "annotated", "renamed"])
def test_a_changed_definition_is_refused_until_it_is_admitted(tmp_path, mode: str) -> None:
    """†Description, annotation, name: the pin covers all of it. Nothing was sent; other tools go on."""
    state = tmp_path / "state"
    first, second = place(tmp_path, mode, state).call(("work", {}), ("text", {}))
    assert (first.event, first.error_type) == (Event.RAISE_NO_EFFECT, "SourceChanged")
    assert second.event is Event.RETURN_VALID
    assert "call work" not in state.read_text()
