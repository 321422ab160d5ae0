"""Check 5: one operation happens once; keys live inside tool and principal."""

import pytest

from harness.core.call import Call, Effect, Idempotency
from harness.core.ports import ReceiptKey
from harness.core.state import State
from harness.core.verdict import ALLOW, Code, Decision, Verdict
from harness.enforcement.facts import Compiled
from harness.enforcement.pipeline import Decided, decide
from tests.enforcement.making import RETRYABLE, Facts, compiled, granted, key, make_call, make_receipt, rule

KEYED = compiled(granted(idempotency=key()))
DERIVED = compiled(granted(idempotency=rule(Idempotency.DERIVED)))
FIRST = {"record_id": 42, "operation_id": "op-1"}


def _decided(surface: Compiled, call: Call) -> Call:
    return decide(surface, call, Facts()).call


def _with_receipt(surface: Compiled, stored: Call, state: State, now: Call, **over) -> Decided:
    receipt = make_receipt(_decided(surface, stored), surface.holder, state, **over)
    return decide(surface, now, Facts(receipts={receipt.key: receipt}))


# --- the caller's key ------------------------------------------------------------------------------------------


def test_a_new_key_goes_on() -> None:
    """And it is the key of the call."""
    decided = decide(KEYED, make_call(**FIRST), Facts())
    assert (decided.verdict, decided.call.key) == (ALLOW, "op-1")


@pytest.mark.parametrize("state", [State.SUCCEEDED, State.PARTIAL, State.APPLIED_INVALID])
def test_the_same_key_with_the_same_arguments_gets_the_receipt(state: State) -> None:
    """F11: the effect stands, and is not repeated."""
    decided = _with_receipt(KEYED, make_call(**FIRST), state, make_call(**FIRST))
    assert decided.verdict == Verdict(Decision.REPLAY, Code.RECEIPT, ("answered by the receipt of call 1.9",))
    assert decided.receipt is not None
    assert (decided.receipt.state, decided.joined) == (state, "")


@pytest.mark.parametrize("state", list(State))
def test_the_same_key_with_other_arguments_is_refused(state: State) -> None:
    """F11: whatever became of the first one, a key names one operation."""
    decided = _with_receipt(KEYED, make_call(**FIRST), state, make_call(**{**FIRST, "record_id": 43}))
    assert decided.verdict == Verdict(
        Decision.DENY,
        Code.KEY_CONFLICT,
        ("`operation_id` `op-1` of `update_record` was used before with other arguments",),
        "use a new one for a new operation, or the old arguments to get the stored outcome",
    )
    assert decided.receipt is None


def test_a_failure_without_effect_did_not_use_the_key() -> None:
    """The same call may be made again."""
    assert _with_receipt(KEYED, make_call(**FIRST), State.FAILED, make_call(**FIRST)).verdict == ALLOW


@pytest.mark.parametrize("state", [State.UNKNOWN, State.DISPATCHED])
def test_an_unknown_ending_is_never_retried(state: State) -> None:
    """F10, F11: it gets the answer that nobody knows, and the advice not to retry."""
    decided = _with_receipt(KEYED, make_call(**FIRST), state, make_call(**FIRST))
    assert decided.verdict == Verdict(
        Decision.DENY,
        Code.OUTCOME_UNKNOWN,
        ("an equal call of `update_record` (1.9) was made, and whether it took effect is not known",),
        "do not retry; read the state that it would have changed, or let a person settle it",
    )


def test_an_unknown_ending_is_retried_where_the_tool_declares_that_safe() -> None:
    """F10: under the same key, which the tool honours; the reservation is told that it is a repeat."""
    surface = compiled(granted(idempotency=key(), errors=RETRYABLE))
    decided = _with_receipt(surface, make_call(**FIRST), State.UNKNOWN, make_call(**FIRST))
    assert (decided.verdict, decided.again, decided.call.key) == (ALLOW, True, "op-1")


def test_a_call_that_may_be_under_way_elsewhere_is_not_retried_even_then() -> None:
    """Dispatched by somebody else and not ended: that is not an ending."""
    surface = compiled(granted(idempotency=key(), errors=RETRYABLE))
    decided = _with_receipt(surface, make_call(**FIRST), State.DISPATCHED, make_call(**FIRST))
    assert decided.verdict.code is Code.OUTCOME_UNKNOWN


def test_an_equal_call_in_flight_is_joined() -> None:
    """It ends as that call ends."""
    receipt = make_receipt(_decided(KEYED, make_call(**FIRST)), KEYED.holder, State.DISPATCHED)
    facts = Facts(receipts={receipt.key: receipt}, flying={receipt.key: "1.9"})
    decided = decide(KEYED, make_call(**FIRST), facts)
    assert decided.verdict == Verdict(Decision.REPLAY, Code.JOINED, ("joined call 1.9, which is under way",))
    assert (decided.joined, decided.receipt) == ("1.9", None)


def test_another_call_in_flight_under_the_same_key_is_not_joined() -> None:
    """Other arguments never get that call's answer."""
    receipt = make_receipt(_decided(KEYED, make_call(**FIRST)), KEYED.holder, State.DISPATCHED)
    facts = Facts(receipts={receipt.key: receipt}, flying={receipt.key: "1.9"})
    assert decide(KEYED, make_call(**{**FIRST, "record_id": 43}), facts).verdict.code is Code.KEY_CONFLICT


def test_a_call_in_flight_whose_arguments_nobody_knows_is_not_joined() -> None:
    """Fail closed."""
    facts = Facts(flying={ReceiptKey("update_record", KEYED.holder, "op-1"): "1.9"})
    assert decide(KEYED, make_call(**FIRST), facts).verdict.code is Code.OUTCOME_UNKNOWN


@pytest.mark.parametrize("missing", [{}, {"operation_id": ""}])
def test_a_call_that_does_not_name_its_operation_is_refused(missing: dict) -> None:
    """Where the tool takes a key there is no effect without one."""
    assert decide(KEYED, make_call(record_id=42, **missing), Facts()).verdict == Verdict(
        Decision.DENY,
        Code.BAD_ARGUMENTS,
        ("`update_record` needs `operation_id`: it names the operation, so that it never happens twice",),
        "pass a text of your own as `operation_id`, the same one whenever you mean the same operation",
    )


def test_a_key_that_is_no_text_is_its_canonical_form() -> None:
    """Numbers are keys too."""
    surface = compiled(granted(idempotency=key("record_id")))
    assert _decided(surface, make_call(record_id=42)).key == "42"


def test_keys_of_two_principals_and_of_two_tools_are_two_keys() -> None:
    """Nobody is answered with another tenant's receipt."""
    tool = granted(idempotency=key())
    ann, bob = compiled(tool, principal="ann"), compiled(tool, principal="bob")
    receipt = make_receipt(_decided(ann, make_call(**FIRST)), ann.holder)
    facts = Facts(receipts={receipt.key: receipt})
    assert decide(bob, make_call(**FIRST), facts).verdict == ALLOW
    other = compiled(granted("other_record", idempotency=key()), principal="ann")
    assert decide(other, make_call("other_record", **FIRST), facts).verdict == ALLOW


def test_todays_scope_stands_before_a_stored_receipt() -> None:
    """A receipt is seen through today's access: what is out of scope now is not answered from the past."""
    narrow = compiled(granted(idempotency=key(), bound={"tenant": "other"}))
    decided = _with_receipt(KEYED, make_call(**FIRST), State.SUCCEEDED, make_call(**FIRST))
    assert decided.verdict.code is Code.RECEIPT
    facts = Facts(receipts={decided.receipt.key: decided.receipt})  # type: ignore[union-attr, dict-item]
    assert decide(narrow, make_call(**FIRST), facts).verdict.code is Code.KEY_CONFLICT


# --- the harness's key -----------------------------------------------------------------------------------------


def test_a_derived_key_names_lineage_tool_arguments_and_occurrence() -> None:
    """Each of the four makes another key; a repair in another task or iteration does not."""
    base = make_call(record_id=42)
    same = _decided(DERIVED, base).key
    moved = {"task": "0.3", "iteration": 2, "attempt": 5, "id": "2.7", "received_at": 9.0}
    fields = {name: getattr(base, name) for name in Call.__slots__}
    assert len(same) == 64
    assert _decided(DERIVED, Call(**{**fields, **moved})).key == same
    others = [
        _decided(DERIVED, Call(**{**fields, "lineage": "run_1.2"})).key,
        _decided(DERIVED, make_call(record_id=43)).key,
        _decided(DERIVED, make_call(record_id=42, occurrence=2)).key,
        _decided(compiled(granted("b", idempotency=rule(Idempotency.DERIVED))), make_call("b", record_id=42)).key,
    ]
    assert len({same, *others}) == 5


def test_a_derived_key_counts_over_all_tasks_where_the_count_is_given() -> None:
    """Two tasks that mean two effects get two keys."""
    base = make_call(record_id=42)
    fields = {name: getattr(base, name) for name in Call.__slots__}
    first = _decided(DERIVED, Call(**{**fields, "task": "0.1", "ordinal": 1}))
    second = _decided(DERIVED, Call(**{**fields, "task": "0.2", "ordinal": 2}))
    assert first.key == _decided(DERIVED, base).key
    assert first.key != second.key


@pytest.mark.parametrize("kind", [Idempotency.DERIVED, Idempotency.NONE])
def test_while_an_equal_call_is_unknown_another_occurrence_gets_its_answer(kind: Idempotency) -> None:
    """F10: never a new key, and never a second try without one."""
    surface = compiled(granted(idempotency=rule(kind)))
    call = make_call(record_id=42, occurrence=2)
    decided = decide(surface, call, Facts(unknowns={call.content: "1.1"}))
    assert decided.verdict.code is Code.OUTCOME_UNKNOWN
    assert "(1.1)" in decided.verdict.reasons[0]


def test_a_derived_call_that_was_made_before_gets_its_receipt() -> None:
    """A repaired snippet repeats no effect."""
    decided = _with_receipt(DERIVED, make_call(record_id=42), State.SUCCEEDED, make_call(record_id=42))
    assert decided.verdict.code is Code.RECEIPT


# --- without a key ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(Idempotency))
def test_reads_have_no_key_and_ask_for_none(kind: Idempotency) -> None:
    """Nothing is looked up for a read."""
    idempotency = key() if kind is Idempotency.KEY else rule(kind)
    facts = Facts()
    decided = decide(compiled(granted(effect=Effect.READ, idempotency=idempotency)), make_call(record_id=1), facts)
    assert (decided.verdict, decided.call.key, facts.asked) == (ALLOW, "", ["shortage"])


def test_a_natural_effect_may_always_be_repeated() -> None:
    """Even after an unknown ending."""
    call = make_call(record_id=42)
    surface = compiled(granted(idempotency=rule(Idempotency.NATURAL)))
    decided = decide(surface, call, Facts(unknowns={call.content: "1.1"}))
    assert (decided.verdict, decided.call.key) == (ALLOW, "")


@pytest.mark.parametrize("state", [State.RECEIVED, State.WAITING, State.RESERVED, State.DENIED, State.REPLAYED])
def test_a_receipt_in_an_impossible_state_lets_nothing_pass(state: State) -> None:
    """Fail closed: an internal refusal that names the check."""
    decided = _with_receipt(KEYED, make_call(**FIRST), state, make_call(**FIRST))
    assert decided.verdict == Verdict(
        Decision.DENY,
        Code.INTERNAL,
        ("the check `idempotency` failed inside the harness (ValueError)",),
        "nothing of it has run; tell whoever runs the harness",
    )
