"""Replay: exact answers, matched by content with origin and task, in recorded order; what is left over is shown."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.call import Answer, Call, Origin
from harness.core.ports import Entry
from harness.core.state import Event, State
from harness.core.verdict import Code, Decision, Verdict
from harness.ledger.replay import Match, RepairIndex, Replayer, fold
from tests.ledger.lines import NOW, line

REJECTED = Verdict(Decision.DENY, Code.APPROVAL_REJECTED)
DENIED = Verdict(Decision.DENY, Code.OUT_OF_SCOPE)


def read(number: int, content: str, released: int, **changes: object) -> Entry:
    """The one line of a read call of `content`."""
    body = f'"{content}{number}"'.encode()
    return line(
        number, **{"content": content, "occurrence": 1, "released": released, "answer": Answer(True, body), **changes}
    )


def ask(number: int, content: str, **changes: object) -> Entry:
    """The line of a call that waits for a person."""
    wait = {"event": Event.ASK, "state": State.WAITING, "answer": None}
    return read(number, content, 0, **{**wait, **changes})


def effect(number: int, content: str, released: int, state: State = State.SUCCEEDED, **changes: object) -> list[Entry]:
    """The two lines of an effect."""
    event = {State.SUCCEEDED: Event.RETURN_VALID, State.FAILED: Event.RAISE_NO_EFFECT, State.UNKNOWN: Event.LOSE}[state]
    before = {"event": Event.DISPATCH, "state": State.DISPATCHED, "answer": None}
    return [
        read(number, content, 0, **{**changes, **before}),
        read(number, content, released, **{**changes, "event": event, "state": state}),
    ]


def call(number: int, content: str, **changes: object) -> Call:
    """A call of the new box."""
    made = Call("run-1", "", "", 0, 0, Origin.SNIPPET, "", "", {}, "", 0, 0.0)
    made = replace(
        made,
        id=f"1.{number}",
        run="run-1",
        lineage="L1",
        iteration=1,
        attempt=2,
        task="0",
        tool="read_record",
        content=content,
        occurrence=1,
        received_at=NOW,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def arrive(replayer: Replayer, made: Call) -> None:
    """The new box makes a call."""
    replayer.arrive(made, replayer.known(made))


def sent(replayer: Replayer) -> list[tuple[str, bytes]]:
    """What may go to the box now."""
    return [(release.call.id, release.recorded.answer.body) for release in replayer.releases()]


def test_the_exact_answer_comes_again():
    """The very bytes, denials too, whatever today's facts would say."""
    denial = Answer(False, b'{"kind":"ToolDenied"}')
    replayer = Replayer(
        fold(
            [
                read(1, "a", 1),
                read(2, "b", 2, event=Event.DENY, state=State.DENIED, verdict=DENIED, answer=denial),
            ]
        )
    )
    arrive(replayer, call(7, "a"))
    arrive(replayer, call(8, "b"))
    assert sent(replayer) == [("1.7", b'"a1"'), ("1.8", denial.body)]
    assert replayer.used_up
    assert replayer.left_over() is None


def test_answers_go_out_in_their_recorded_order():
    """Whatever the order of arrival: parallel code takes the same branches."""
    replayer = Replayer(fold([read(1, "a", 2, task="0.1"), read(2, "b", 1, task="0.2")]))
    arrive(replayer, call(1, "a", task="0.1"))
    assert sent(replayer) == []
    arrive(replayer, call(2, "b", task="0.2"))
    assert sent(replayer) == [("1.2", b'"b2"'), ("1.1", b'"a1"')]


def test_nothing_new_before_the_journal_is_used_up():
    """A call that is not in the journal waits, reads too."""
    replayer = Replayer(fold([read(1, "a", 1), read(2, "b", 2)]))
    arrive(replayer, call(1, "new"))
    arrive(replayer, call(2, "a"))
    assert sent(replayer) == [("1.2", b'"a1"')]
    assert replayer.free() == []
    arrive(replayer, call(3, "b"))
    assert sent(replayer) == [("1.3", b'"b2"')]
    assert [(made.id, known) for made, known in replayer.free()] == [("1.1", None)]
    assert replayer.free() == []


def test_a_call_that_was_not_answered_is_judged_today():
    """A waiting call comes back with what the journal knows of it, once everything before it was given."""
    records = fold([read(1, "a", 1), ask(2, "pay")])
    replayer = Replayer(records)
    arrive(replayer, call(1, "a"))
    arrive(replayer, call(2, "pay"))
    assert replayer.free() == []
    assert sent(replayer) == [("1.1", b'"a1"')]
    assert [(made.id, known) for made, known in replayer.free()] == [("1.2", records[1])]
    assert replayer.last_released == 1


@pytest.mark.parametrize(
    "other",
    [
        {"origin": Origin.CHECK},
        {"lineage": "L2"},
        {"task": "0.1"},
        {"tool": "read_other"},
        {"content": "z"},
        {"occurrence": 2},
    ],
    ids=lambda other: next(iter(other)),
)
def test_every_part_of_the_match_counts(other):
    """Origin, lineage, task, tool, content, occurrence: a call that differs in one is another call."""
    replayer = Replayer(fold([read(1, "a", 1)]))
    arrive(replayer, call(1, **{"content": "a", **other}))
    assert sent(replayer) == []
    assert replayer.left_over() is not None


def test_a_recorded_answer_is_given_once():
    """The same match twice: the second one is new."""
    replayer = Replayer(fold([read(1, "a", 1)]))
    arrive(replayer, call(1, "a"))
    arrive(replayer, call(2, "a"))
    assert sent(replayer) == [("1.1", b'"a1"')]
    assert [made.id for made, _ in replayer.free()] == ["1.2"]


def test_a_snippet_that_takes_another_way_has_diverged():
    """What is left over and what came instead are shown side by side."""
    replayer = Replayer(fold([read(1, "a" * 64, 1), ask(2, "b" * 64)]))
    arrive(replayer, call(1, "c" * 64))
    left = replayer.left_over()
    assert [record.call for record in left.missing] == ["1.1", "1.2"]
    assert [made.id for made in left.instead] == ["1.1"]
    assert str(left) == (
        "the journal holds read_record aaaaaaaaaaaa (task 0, 1.1, answered as 1); "
        "read_record bbbbbbbbbbbb (task 0, 1.2, WAITING), the snippet made read_record cccccccccccc (task 0, 1.1)"
    )


def test_lines_of_one_call_are_one_record():
    """F10: before, after, and what became known later; the given answer and the later one are kept apart."""
    lost = Answer(False, b'{"kind":"OutcomeUnknown"}')
    before, after = effect(1, "pay", 1, State.UNKNOWN)
    proved = replace(before, event=Event.PROVE_DONE, state=State.SUCCEEDED, answer=Answer(True, b"9"), attempt=2)
    (record,) = fold([before, replace(after, answer=lost), proved])
    assert (record.state, record.answer, record.released, record.resolved) == (
        State.SUCCEEDED,
        lost,
        1,
        Answer(True, b"9"),
    )
    assert record.effect_dispatched
    assert record.match == Match("snippet", "L1", "0", "read_record", "pay", 1)


def test_a_crash_before_the_answer_leaves_the_call_in_flight():
    """F10: dispatched, and no ending seen: the record says so and has no answer."""
    (record,) = fold(effect(1, "pay", 1)[:1])
    assert (record.state, record.answer, record.effect_dispatched) == (State.DISPATCHED, None, True)


def test_ten_thousand_calls_replay():
    """A long journal is answered call by call, in order."""
    replayer = Replayer(fold(read(n, f"c{n}", n) for n in range(1, 10_001)))
    given = 0
    for number in range(1, 10_001):
        arrive(replayer, call(number, f"c{number}"))
        given += len(replayer.releases())
    assert given == 10_000
    assert replayer.used_up


@given(st.data(), st.integers(1, 8), st.integers(0, 3))
def test_no_order_of_arrival_changes_what_the_snippet_sees(data, recorded, new):
    """Whatever comes first: the recorded answers go out in their order, each once, and only then the new calls."""
    order = data.draw(st.permutations(range(1, recorded + 1)))
    records = fold(read(n, f"c{n}", released, task=f"0.{n}") for n, released in enumerate(order, 1))
    calls = [call(n, f"c{n}", task=f"0.{n}") for n in range(1, recorded + 1)]
    calls += [call(100 + n, "new", task=f"0.{100 + n}") for n in range(new)]
    replayer = Replayer(records)
    released: list[int] = []
    free: list[str] = []
    for one in data.draw(st.permutations(calls)):
        arrive(replayer, one)
        released += [release.recorded.released for release in replayer.releases()]
        freed = [made.id for made, _ in replayer.free()]
        assert not freed or released == list(range(1, recorded + 1))
        free += freed
    assert released == list(range(1, recorded + 1))
    assert sorted(free) == sorted(one.id for one in calls[recorded:])
    assert replayer.left_over() is None


# --- repair ------------------------------------------------------------------------------------------------


def test_a_repair_repeats_no_effect_and_no_read():
    """What was made before is answered from the journal, lines inserted, removed and moved into other tasks."""
    index = RepairIndex(fold([read(1, "a", 1), *effect(2, "pay", 2), *effect(3, "mail", 3)]))
    assert index.answer(call(9, "new")) is None
    assert index.answer(call(10, "pay", task="0.4", ordinal=1)).call == "1.2"
    assert index.answer(call(11, "a")).call == "1.1"
    assert [record.call for record in index.left_over()] == ["1.3"]
    assert [record.call for record in index.committed()] == ["1.2", "1.3"]


def test_fresh_reads_are_made_again_and_effects_are_not():
    """`fresh_reads` is for reads alone."""
    index = RepairIndex(fold([read(1, "a", 1), *effect(2, "pay", 2)]), fresh_reads=True)
    assert index.answer(call(1, "a")) is None
    assert index.answer(call(2, "pay")).call == "1.2"


def test_an_unknown_effect_is_answered_and_never_made_again():
    """F10: also in a repair, an effect whose ending nobody saw is not repeated."""
    index = RepairIndex(fold(effect(1, "pay", 1, State.UNKNOWN)))
    assert index.answer(call(1, "pay")).state is State.UNKNOWN
    index = RepairIndex(fold(effect(1, "pay", 1)[:1]))
    assert index.answer(call(1, "pay")).state is State.DISPATCHED


def test_what_came_to_nothing_is_decided_afresh():
    """A refused scope or a failed read is not held against the corrected snippet."""
    index = RepairIndex(
        fold(
            [
                read(1, "a", 1, event=Event.DENY, state=State.DENIED, verdict=DENIED),
                read(2, "b", 2, event=Event.RAISE_NO_EFFECT, state=State.FAILED),
            ]
        )
    )
    assert index.answer(call(1, "a")) is None
    assert index.answer(call(2, "b")) is None


def test_a_person_is_not_asked_twice():
    """A rejection is answered from the journal."""
    index = RepairIndex(fold([read(1, "pay", 1, event=Event.DENY, state=State.DENIED, verdict=REJECTED)]))
    assert index.answer(call(1, "pay")).verdict == REJECTED


def test_a_failure_keeps_the_place_of_the_success_after_it():
    """F11: first try failed, second committed: the repair meets both again, so that the effect is not made twice."""
    failed = effect(1, "pay", 1, State.FAILED)
    paid = effect(2, "pay", 2, occurrence=2)
    index = RepairIndex(fold([*failed, *paid]))
    assert index.answer(call(1, "pay")).state is State.FAILED
    assert index.answer(call(2, "pay", occurrence=2)).state is State.SUCCEEDED
    assert index.answer(call(3, "pay", occurrence=3)) is None


def test_the_latest_iteration_that_committed_answers():
    """Several repairs: what came to nothing in one and committed in a later one is answered by the later."""
    first = effect(1, "pay", 1, State.FAILED)
    second = effect(1, "pay", 1, iteration=2)
    third = [read(1, "pay", 1, iteration=3, event=Event.DENY, state=State.DENIED, verdict=DENIED)]
    index = RepairIndex(fold([*first, *second, *third]))
    found = index.answer(call(1, "pay"))
    assert (found.iteration, found.state) == (2, State.SUCCEEDED)


def test_checks_and_snippets_never_answer_each_other():
    """The origin is part of the match in a repair too."""
    index = RepairIndex(fold([read(1, "a", 1, origin="check")]))
    assert index.answer(call(1, "a")) is None
    assert index.answer(call(1, "a", origin=Origin.CHECK)).call == "1.1"


ENDINGS = st.sampled_from([State.SUCCEEDED, State.FAILED, State.UNKNOWN])


@given(st.lists(st.lists(st.tuples(st.sampled_from("abc"), ENDINGS), max_size=6), max_size=3))
def test_no_history_lets_a_repair_repeat_an_effect(iterations):
    """F11: whatever happened in earlier iterations, a call whose place holds a committed effect is answered."""
    entries: list[Entry] = []
    committed: set[tuple[str, int]] = set()
    for number, calls in enumerate(iterations, 1):
        seen: dict[str, int] = {}
        for place, (content, state) in enumerate(calls, 1):
            seen[content] = seen.get(content, 0) + 1
            entries += effect(place, content, place, state, occurrence=seen[content], iteration=number)
            if state is not State.FAILED:
                committed.add((content, seen[content]))
    index = RepairIndex(fold(entries))
    for content, occurrence in committed:
        found = index.answer(call(1, content, occurrence=occurrence))
        assert found is not None
        assert found.state is not State.FAILED
