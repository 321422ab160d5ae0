"""Waiting for a person: a decision is taken whole, once, in time, and each approval is used once for its own call."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.core.bundle import Ask, Bundle, BundleState, CallDecision, Decided, GrantRow, Taken, WaitState
from harness.core.ports import Fence
from harness.ledger.audit import audit_lines, verify
from harness.ledger.sqlite import SqliteStore
from tests.ledger.lines import NOW, Clock, dispatch, fact, receipt, reservation, run_row


def one_ask(number: int) -> Ask:
    """A call that waits: what `dispatch(number)` will reserve."""
    entry = dispatch(number)
    return Ask(
        id=f"ask-{number}",
        call=entry.call,
        origin=entry.origin,
        task=entry.task,
        tool=entry.tool,
        content=entry.content,
        occurrence=entry.occurrence,
        digest=entry.digest,
        document=b'{"preview":"set record 42"}',
    )


BUNDLE = Bundle(
    id="nonce-7f3a",
    reference="B-1",
    run="run-1",
    lineage="L1",
    iteration=1,
    attempt=1,
    kind="approval",
    created_at=NOW,
    expires_at=NOW + 60,
    asks=(one_ask(1), one_ask(2)),
)


def decided(*approved: bool, by: str = "carol", **changes: object) -> Decided:
    """A decision over the calls of the bundle, in order."""
    calls = tuple(CallDecision(ask.id, yes, ask.digest) for ask, yes in zip(BUNDLE.asks, approved, strict=False))
    return replace(Decided(BUNDLE.id, calls, by, "cli", b'{"signed":1}'), **changes)  # type: ignore[arg-type]


@pytest.fixture
def clock() -> Clock:
    """Set by the test."""
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock):
    made = SqliteStore(tmp_path / "store.db", clock=clock)
    made.create_run(run_row(), [])
    made.store_bundle(BUNDLE, [fact("bundle", data=b'{"reference":"B-1","calls":2}')])
    yield made
    made.close()
    assert verify(tmp_path / "store.db") == []


def states(store: SqliteStore) -> list[WaitState]:
    """Of the bundle's calls."""
    return [ask.state for ask in store.bundle("B-1").asks]


def test_a_bundle_comes_back_as_it_was_stored(store):
    """F05: by reference, by id, by run; nothing of it lives in memory only."""
    assert store.bundle("B-1") == BUNDLE
    assert store.bundle_by_id("nonce-7f3a") == BUNDLE
    assert list(store.list_bundles("run-1", BundleState.OPEN)) == [BUNDLE]
    assert store.bundle("nonce-7f3a") is None


def test_a_decision_is_taken_call_by_call(store):
    """Approved and rejected ones; who, when and the document are kept."""
    assert store.decide(decided(True, False)) is Taken.TAKEN
    assert store.bundle("B-1") == replace(
        BUNDLE,
        state=BundleState.DECIDED,
        decided_at=NOW,
        decided_by="carol",
        decision=b'{"signed":1}',
        asks=(
            replace(BUNDLE.asks[0], state=WaitState.APPROVED),
            replace(BUNDLE.asks[1], state=WaitState.REJECTED),
        ),
    )


def test_who_decided_stands_in_the_audit(store):
    """F09: approver, source and time, without the document."""
    store.decide(decided(True, False))
    (found,) = [entry for entry in audit_lines(store.path) if entry["kind"] == "decision"]
    assert found["facts"] == {
        "reference": "B-1",
        "by": "carol",
        "source": "cli",
        "approved": 1,
        "rejected": 1,
        "outcome": "decided",
    }


@pytest.mark.parametrize(
    ("decision", "taken"),
    [
        (decided(True, True, bundle="nonce-0000"), Taken.UNKNOWN),
        (decided(True, True, bundle="B-1"), Taken.UNKNOWN),
        (decided(True), Taken.MISMATCHED),
        (decided(), Taken.MISMATCHED),
        (
            decided(calls=(*decided(True, True).calls, CallDecision("ask-9", True, "e" * 64))),
            Taken.MISMATCHED,
        ),
        (decided(calls=(decided(True).calls[0], decided(False).calls[0])), Taken.MISMATCHED),
        (decided(calls=(*decided(True, True).calls, decided(False).calls[0])), Taken.MISMATCHED),
        (
            decided(calls=(decided(True).calls[0], CallDecision("ask-2", True, "f" * 64))),
            Taken.MISMATCHED,
        ),
    ],
    ids=["wrong id", "the reference", "missing", "empty", "extra", "twice for one", "twice", "digest"],
)
def test_a_decision_that_does_not_fit_changes_nothing(store, decision, taken):
    """F01: right id, exactly one decision per call, none unknown, every digest."""
    assert store.decide(decision) is taken
    assert store.bundle("B-1") == BUNDLE


def test_a_decision_is_taken_once(store):
    """Whoever comes first: the second one changes nothing."""
    assert store.decide(decided(False, False)) is Taken.TAKEN
    assert store.decide(decided(True, True, by="dave")) is Taken.CLOSED
    assert states(store) == [WaitState.REJECTED, WaitState.REJECTED]


@pytest.mark.parametrize(("late", "taken"), [(59.9, Taken.TAKEN), (60.0, Taken.EXPIRED), (60.1, Taken.EXPIRED)])
def test_a_late_decision_is_expired(store, clock, late, taken):
    """F06: in time, at the limit, after it; what expired is told apart from what was rejected."""
    clock.time = NOW + late
    assert store.decide(decided(True, True)) is taken
    assert set(states(store)) == {WaitState.APPROVED if taken is Taken.TAKEN else WaitState.EXPIRED}


def test_a_clock_that_is_set_back_wakes_nothing(store, clock):
    """F06: expiry is judged against the later of now and the store's high-water mark."""
    clock.time = NOW + 61
    store.append([fact("clock")])
    clock.time = NOW
    assert store.decide(decided(True, True)) is Taken.EXPIRED


def test_an_approvers_malformed_document_rejects_all(store):
    """All calls come back rejected, and the bundle is closed."""
    assert store.decide(decided(True, True, all_rejected=True)) is Taken.TAKEN
    assert store.bundle("B-1").state is BundleState.REJECTED
    assert states(store) == [WaitState.REJECTED, WaitState.REJECTED]


def test_two_of_three_must_say_yes(store):
    """k of n, of different people; one no is enough for no."""
    needs = {"ask-1": 2}
    assert store.decide(decided(True, True, approvals_needed=needs)) is Taken.COUNTED
    assert states(store) == [WaitState.PENDING, WaitState.PENDING]
    assert store.decide(decided(True, True, approvals_needed=needs)) is Taken.CLOSED
    assert store.decide(decided(True, False, by="dave", approvals_needed=needs)) is Taken.TAKEN
    assert states(store) == [WaitState.APPROVED, WaitState.REJECTED]


def test_an_approval_is_consumed_by_its_own_call_once(store):
    """F01: the reservation that takes key and line takes the approval too, and only for the digest that was seen."""
    store.decide(decided(True, False))
    other = replace(dispatch(1), digest="f" * 64)
    assert store.reserve(reservation(entry=other, approval="ask-1")) == Fence(
        "the approval of call 1.1 was used, withdrawn or has expired"
    )
    assert store.receipt(receipt().key) is None
    assert store.reserve(reservation(approval="ask-1")) is None
    assert states(store) == [WaitState.USED, WaitState.REJECTED]
    assert isinstance(store.reserve(reservation(receipt=None, approval="ask-1")), Fence)


@pytest.mark.parametrize(
    "other",
    [{"lineage": "L2"}, {"occurrence": 9}, {"tool": "drop_record"}],
    ids=lambda other: next(iter(other)),
)
def test_an_approval_binds_lineage_occurrence_and_tool(store, other):
    """The same words in another place are another call."""
    store.decide(decided(True, True))
    entry = replace(dispatch(1), **other)
    assert isinstance(store.reserve(reservation(entry=entry, approval="ask-1")), Fence)


@pytest.mark.parametrize("state", ["pending", "rejected", "expired"])
def test_what_was_not_approved_is_not_consumed(store, clock, state):
    """F05, F06: pending, rejected and expired approvals execute nothing."""
    if state == "rejected":
        store.decide(decided(False, False))
    elif state == "expired":
        clock.time = NOW + 100
        store.expire()
    assert isinstance(store.reserve(reservation(approval="ask-1")), Fence)


def test_open_bundles_expire_and_are_withdrawn(store, clock):
    """Both close once, each with its own word."""
    clock.time = NOW + 60
    assert list(store.expire("run-2")) == []
    assert list(store.expire()) == ["B-1"]
    assert list(store.expire()) == []
    assert list(store.withdraw("run-1", "cancelled")) == []
    assert (store.bundle("B-1").state, store.bundle("B-1").decided_by) == (BundleState.EXPIRED, "time")


def test_a_cancelled_run_withdraws_its_bundle(store):
    """Nobody can approve what nobody waits for."""
    assert list(store.withdraw("run-1", "cancelled by alice")) == ["B-1"]
    assert store.decide(decided(True, True)) is Taken.CLOSED
    assert set(states(store)) == {WaitState.WITHDRAWN}


def test_a_grant_covers_so_many_calls_until_then(store, clock):
    """Bounded by number and by time; each use is one reservation."""
    store.add_grant(
        GrantRow("grant:1", "run-1", "update_record", 2, 0, "args.n < 5", NOW + 60, "carol", NOW), [fact("grant")]
    )
    uses = [store.reserve(reservation(n, f"k{n}", approval="grant:1", receipt=receipt(f"k{n}"))) for n in (1, 2, 3)]
    assert [use is None for use in uses] == [True, True, False]
    assert list(store.grants("run-1", "update_record")) == []
    store.add_grant(GrantRow("grant:2", "run-1", "update_record", 2, 0, "", NOW + 60, "carol", NOW), [])
    assert [grant.id for grant in store.grants("run-1", "update_record")] == ["grant:2"]
    assert store.reserve(reservation(4, "k4", approval="grant:2", receipt=receipt("k4"))) is None
    clock.time = NOW + 60
    assert list(store.grants("run-1", "update_record")) == []
    assert isinstance(store.reserve(reservation(5, "k5", approval="grant:2", receipt=receipt("k5"))), Fence)
