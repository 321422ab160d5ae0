"""The life of a call: the table of the design, and that nothing else moves a call."""

import pytest

from harness.core.call import Call, Origin
from harness.core.errors import IllegalTransition
from harness.core.state import FINAL, TRANSITIONS, Event, State, advance

DESIGN = [
    ("RECEIVED", "deny", "DENIED"),
    ("RECEIVED", "replay", "REPLAYED"),
    ("RECEIVED", "join", "JOINED"),
    ("RECEIVED", "ask", "WAITING"),
    ("WAITING", "answer", "RECEIVED"),
    ("WAITING", "expire", "DENIED"),
    ("WAITING", "abandon", "DENIED"),
    ("WAITING", "cancel", "DENIED"),
    ("RECEIVED", "reserve", "RESERVED"),
    ("RESERVED", "dispatch", "DISPATCHED"),
    ("RESERVED", "host_died", "RECEIVED"),
    ("DISPATCHED", "return_valid", "SUCCEEDED"),
    ("DISPATCHED", "return_partial", "PARTIAL"),
    ("DISPATCHED", "return_invalid_read", "FAILED"),
    ("DISPATCHED", "return_invalid_effect", "APPLIED_INVALID"),
    ("DISPATCHED", "raise_no_effect", "FAILED"),
    ("DISPATCHED", "lose", "UNKNOWN"),
    ("DISPATCHED", "host_died", "UNKNOWN"),
    ("UNKNOWN", "prove_done", "SUCCEEDED"),
    ("UNKNOWN", "prove_not_done", "FAILED"),
]
"""The table of the design's section on the life of a call."""


@pytest.mark.parametrize(("state", "event", "after"), DESIGN)
def test_every_line_of_the_design_is_in_the_table(state: str, event: str, after: str) -> None:
    """From, event, to."""
    assert advance(State(state), Event(event)) is State(after)


def test_no_event_leaves_a_final_state() -> None:
    """Denied, replayed, succeeded, partial, failed and applied-but-invalid are ends."""
    assert {state for state, _ in TRANSITIONS} & FINAL == set()
    assert {state for state in State if state not in {source for source, _ in TRANSITIONS}} == FINAL


def test_only_dispatch_leads_into_the_act_and_only_a_reservation_leads_there() -> None:
    """Nothing is executed that was not reserved."""
    into = {(state, event) for (state, event), after in TRANSITIONS.items() if after is State.DISPATCHED}
    assert into == {(State.RESERVED, Event.DISPATCH)}
    assert {state for (state, _), after in TRANSITIONS.items() if after is State.RESERVED} == {State.RECEIVED}


def test_a_joined_call_ends_every_way_that_a_dispatched_one_ends() -> None:
    """JOINED: ends as that call ends."""
    ends = {event: after for (state, event), after in TRANSITIONS.items() if state is State.DISPATCHED}
    joined = {event: after for (state, event), after in TRANSITIONS.items() if state is State.JOINED}
    del ends[Event.HOST_DIED]
    assert {event: joined[event] for event in ends} == ends


@pytest.mark.parametrize(
    ("state", "event"), [(state, event) for state in State for event in Event if (state, event) not in TRANSITIONS]
)
def test_any_other_move_raises_and_changes_nothing(state: State, event: Event) -> None:
    """An illegal event is a bug in the harness, never a new state."""
    call = Call(
        id="1.1",
        run="run_1",
        lineage="run_1.1",
        iteration=1,
        attempt=1,
        origin=Origin.SNIPPET,
        task="0",
        tool="t",
        arguments={},
        content="",
        occurrence=1,
        received_at=0.0,
        state=state,
    )
    with pytest.raises(IllegalTransition) as refused:
        call.moved(event)
    assert refused.value.message == f"a call in state {state.value} cannot take the event `{event.value}`"
    assert call.state is state
