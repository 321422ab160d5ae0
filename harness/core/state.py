"""The life of a call, as one table; nothing else moves a call."""

from enum import StrEnum

from harness.core.errors import IllegalTransition

__all__ = ["FINAL", "TRANSITIONS", "Event", "State", "advance"]


class State(StrEnum):
    """Where a call stands."""

    RECEIVED = "RECEIVED"
    WAITING = "WAITING"
    JOINED = "JOINED"
    RESERVED = "RESERVED"
    DISPATCHED = "DISPATCHED"
    DENIED = "DENIED"
    REPLAYED = "REPLAYED"
    SUCCEEDED = "SUCCEEDED"
    PARTIAL = "PARTIAL"
    FAILED = "FAILED"
    APPLIED_INVALID = "APPLIED_INVALID"
    UNKNOWN = "UNKNOWN"


class Event(StrEnum):
    """What can happen to a call."""

    DENY = "deny"
    REPLAY = "replay"
    JOIN = "join"
    ASK = "ask"
    ANSWER = "answer"
    EXPIRE = "expire"
    ABANDON = "abandon"
    CANCEL = "cancel"
    RESERVE = "reserve"
    DISPATCH = "dispatch"
    HOST_DIED = "host_died"
    RETURN_VALID = "return_valid"
    RETURN_PARTIAL = "return_partial"
    RETURN_INVALID_READ = "return_invalid_read"
    RETURN_INVALID_EFFECT = "return_invalid_effect"
    RAISE_NO_EFFECT = "raise_no_effect"
    LOSE = "lose"
    PROVE_DONE = "prove_done"
    PROVE_NOT_DONE = "prove_not_done"


TRANSITIONS: dict[tuple[State, Event], State] = {
    (State.RECEIVED, Event.DENY): State.DENIED,
    (State.RECEIVED, Event.REPLAY): State.REPLAYED,
    (State.RECEIVED, Event.JOIN): State.JOINED,
    (State.RECEIVED, Event.ASK): State.WAITING,
    (State.RECEIVED, Event.ABANDON): State.DENIED,
    (State.RECEIVED, Event.CANCEL): State.DENIED,
    (State.WAITING, Event.ANSWER): State.RECEIVED,
    (State.WAITING, Event.EXPIRE): State.DENIED,
    (State.WAITING, Event.ABANDON): State.DENIED,
    (State.WAITING, Event.CANCEL): State.DENIED,
    (State.RECEIVED, Event.RESERVE): State.RESERVED,
    (State.RESERVED, Event.DISPATCH): State.DISPATCHED,
    (State.RESERVED, Event.HOST_DIED): State.RECEIVED,
    (State.RESERVED, Event.ABANDON): State.DENIED,
    (State.RESERVED, Event.CANCEL): State.DENIED,
    (State.DISPATCHED, Event.RETURN_VALID): State.SUCCEEDED,
    (State.DISPATCHED, Event.RETURN_PARTIAL): State.PARTIAL,
    (State.DISPATCHED, Event.RETURN_INVALID_READ): State.FAILED,
    (State.DISPATCHED, Event.RETURN_INVALID_EFFECT): State.APPLIED_INVALID,
    (State.DISPATCHED, Event.RAISE_NO_EFFECT): State.FAILED,
    (State.DISPATCHED, Event.LOSE): State.UNKNOWN,
    (State.DISPATCHED, Event.HOST_DIED): State.UNKNOWN,
    (State.UNKNOWN, Event.PROVE_DONE): State.SUCCEEDED,
    (State.UNKNOWN, Event.PROVE_NOT_DONE): State.FAILED,
    # A joined call ends as the call that it joined ends.
    (State.JOINED, Event.RETURN_VALID): State.SUCCEEDED,
    (State.JOINED, Event.RETURN_PARTIAL): State.PARTIAL,
    (State.JOINED, Event.RETURN_INVALID_READ): State.FAILED,
    (State.JOINED, Event.RETURN_INVALID_EFFECT): State.APPLIED_INVALID,
    (State.JOINED, Event.RAISE_NO_EFFECT): State.FAILED,
    (State.JOINED, Event.LOSE): State.UNKNOWN,
    (State.JOINED, Event.DENY): State.DENIED,
    (State.JOINED, Event.EXPIRE): State.DENIED,
    (State.JOINED, Event.ABANDON): State.DENIED,
    (State.JOINED, Event.CANCEL): State.DENIED,
    (State.JOINED, Event.HOST_DIED): State.RECEIVED,
}

FINAL: frozenset[State] = frozenset(
    {
        State.DENIED,
        State.REPLAYED,
        State.SUCCEEDED,
        State.PARTIAL,
        State.FAILED,
        State.APPLIED_INVALID,
    }
)
"""States that no event leaves. UNKNOWN is not final: it waits to be reconciled."""


def advance(state: State, event: Event) -> State:
    """The state after `event`. Raises IllegalTransition, changing nothing, where the table has no such move."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise IllegalTransition(f"a call in state {state.value} cannot take the event `{event.value}`") from None
