"""Decision documents: the one that counts, and the table of those that do not, with what becomes of the bundle."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.approvals.decision import Ignored, decision_document, judge, load_key, sign
from harness.core.bundle import Bundle, BundleState, Decided, Taken, WaitState
from harness.core.call import Effect
from harness.core.errors import Refused
from harness.ledger.sqlite import SqliteStore
from tests.approvals.making import NOW, bundle, call, key_of, policy, public_line
from tests.ledger.lines import Clock, fact, run_row


class Room:
    """A store that holds one run with one open bundle, and a count of what an executor would be started for."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock(NOW)
        self.store = SqliteStore(folder / "journal.db", clock=self.clock)
        self.store.create_run(run_row(), [fact()])
        self.bundle = bundle()
        self.store.store_bundle(self.bundle, [fact("bundle")])

    def take(self, document: bytes) -> Taken | str:
        """Judge a document and take it where it is a decision."""
        judged = judge(document, self.store.bundle_by_id(self.bundle.id), policy("bob", "carol"), "alice", "python")
        return judged.code if isinstance(judged, Ignored) else self.store.decide(judged)

    @property
    def now(self) -> Bundle:
        """The bundle as it stands."""
        found = self.store.bundle_by_id(self.bundle.id)
        assert found is not None
        return found

    @property
    def approved(self) -> int:
        """Calls that a reservation could consume."""
        return sum(ask.state is WaitState.APPROVED for ask in self.now.asks)


@pytest.fixture
def room(tmp_path: Path):
    made = Room(tmp_path)
    yield made
    made.store.close()


def yes(of: Bundle) -> dict[str, Any]:
    """An unsigned document that approves everything."""
    return decision_document(of, "bob", {ask.call: True for ask in of.asks})


def signed(document: dict[str, Any], by: str = "bob") -> bytes:
    return sign(document, key_of(by))


def test_a_whole_signed_decision_in_time_is_taken_once(room: Room) -> None:
    """The accepted path: every call is approved; the same document again finds the bundle closed (replayed)."""
    document = signed(yes(room.bundle))
    assert [room.take(document), room.take(document)] == [Taken.TAKEN, Taken.CLOSED]
    assert (room.now.state, room.approved, room.now.decided_by) == (BundleState.DECIDED, 2, "bob")


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[Bundle], bytes]:
    """Bob's decision with a fault, properly signed."""

    def make(of: Bundle) -> bytes:
        document = yes(of)
        change(document)
        return signed(document)

    return make


def unsigned(of: Bundle) -> bytes:
    return json.dumps(yes(of)).encode()


def tampered(of: Bundle) -> bytes:
    document = decision_document(of, "bob", {ask.call: False for ask in of.asks})
    return signed(document).replace(b'"approve":false', b'"approve":true')


MALFORMED: dict[str, tuple[Callable[[Bundle], bytes], Taken | str, BundleState]] = {
    "missing": (edited(lambda d: d["calls"].pop()), Taken.TAKEN, BundleState.REJECTED),
    "extra": (
        edited(lambda d: d["calls"].append({"call": "1.9", "digest": "x", "approve": True})),
        Taken.TAKEN,
        BundleState.REJECTED,
    ),
    "duplicate": (
        edited(lambda d: d["calls"].__setitem__(1, d["calls"][0])),
        Taken.TAKEN,
        BundleState.REJECTED,
    ),
    "unknown id": (edited(lambda d: d["calls"][0].update(call="1.77")), Taken.TAKEN, BundleState.REJECTED),
    "wrong digest": (edited(lambda d: d["calls"][0].update(digest="0" * 64)), Taken.TAKEN, BundleState.REJECTED),
    "not a yes or no": (edited(lambda d: d["calls"][0].update(approve=1)), Taken.TAKEN, BundleState.REJECTED),
    "calls are no list": (edited(lambda d: d.update(calls="all")), Taken.TAKEN, BundleState.REJECTED),
    "wrong set": (edited(lambda d: d.update(bundle="another")), "unknown_bundle", BundleState.OPEN),
    "unsigned": (unsigned, "unsigned", BundleState.OPEN),
    "tampered": (tampered, "bad_signature", BundleState.OPEN),
    "signed by a stranger": (lambda of: signed(yes(of), "mallory"), "not_an_approver", BundleState.OPEN),
    "a key twice": (
        lambda of: signed(yes(of)).replace(b'"v":1', b'"v":1,"v":1'),
        "not_a_decision",
        BundleState.OPEN,
    ),
    "no json": (lambda of: b"approve everything", "not_a_decision", BundleState.OPEN),
    "huge": (lambda of: b"[" * 2_000_000, "not_a_decision", BundleState.OPEN),
}


@pytest.mark.parametrize(("make", "outcome", "state"), MALFORMED.values(), ids=MALFORMED)
def test_from_a_malformed_document_nothing_runs(
    room: Room, make: Callable[[Bundle], bytes], outcome: Taken | str, state: BundleState
) -> None:
    """An approver's malformed document rejects every call of the bundle that it names; any other changes nothing."""
    assert room.take(make(room.bundle)) == outcome
    assert (room.now.state, room.approved) == (state, 0)


def test_an_expired_bundle_is_not_decided_any_more(room: Room) -> None:
    """F06: at its expiry the state is `expired`, neither pending nor denied; the late approval does nothing."""
    document = signed(yes(room.bundle))
    room.clock.time = room.bundle.expires_at
    assert room.take(document) is Taken.EXPIRED
    assert [ask.state for ask in room.now.asks] == [WaitState.EXPIRED, WaitState.EXPIRED]


def test_a_decision_just_before_the_expiry_counts(room: Room) -> None:
    """F06: a tenth of a second before it the decision is taken, and stands as approved and unused."""
    document = signed(yes(room.bundle))
    room.clock.time = room.bundle.expires_at - 0.1
    assert room.take(document) is Taken.TAKEN
    assert [ask.state for ask in room.now.asks] == [WaitState.APPROVED, WaitState.APPROVED]


def test_a_clock_that_was_set_back_does_not_bring_an_expired_bundle_back(room: Room) -> None:
    """F06: expiry is judged against the later of now and what the store has seen."""
    room.clock.time = room.bundle.expires_at + 5
    room.store.append([fact("clock")])
    room.store.expire("run-1")
    room.clock.time = NOW
    assert room.take(signed(yes(room.bundle))) is Taken.CLOSED
    assert room.now.state is BundleState.EXPIRED


def test_the_asker_is_not_the_approver(tmp_path: Path) -> None:
    """Bob, who asked for the run, is an approver of the policy, and his word on it changes nothing."""
    of = bundle()
    assert judge(signed(yes(of)), of, policy("bob"), "bob", "cli") == Ignored(
        "asker", "`bob` asked for the run, and cannot decide about it"
    )


def test_the_name_in_the_document_proves_nothing() -> None:
    """Mallory signs as bob: the key decides who speaks."""
    of = bundle()
    judged = judge(signed(yes(of), "carol"), of, policy("bob", "carol"), "alice", "cli")
    assert isinstance(judged, Decided)
    assert judged.by == "carol"


def test_an_approver_of_writes_does_not_decide_about_destruction() -> None:
    """What a person may approve stands in the policy by effect."""
    of = bundle([call(1, Effect.DESTRUCTIVE, record=1)])
    base = policy("bob")
    narrow = base.model_copy(update={"approvers": (base.approvers[0].model_copy(update={"effects": (Effect.WRITE,)}),)})
    judged = judge(signed(yes(of)), of, narrow, "alice", "cli")
    assert isinstance(judged, Ignored)
    assert judged.code == "not_his_effect"


def test_destructive_calls_need_as_many_approvers_as_the_policy_says() -> None:
    """k of n is asked for each destructive call, and for no other."""
    of = bundle([call(1, Effect.DESTRUCTIVE, record=1), call(2, record=2)])
    judged = judge(signed(yes(of)), of, policy("bob", "carol", approvals_needed=2), "alice", "cli")
    assert isinstance(judged, Decided)
    assert judged.approvals_needed == {of.asks[0].id: 2}


def test_a_key_of_ssh_keygen_signs(tmp_path: Path) -> None:
    """ssh-ed25519 keys as people have them."""
    path = tmp_path / "id"
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
    subprocess.run(command, check=True)
    key = load_key(path.read_bytes())
    of = bundle()
    approvers = policy("bob").model_copy(
        update={
            "approvers": (
                policy("bob").approvers[0].model_copy(update={"keys": (path.with_suffix(".pub").read_text(),)}),
            )
        }
    )
    assert isinstance(judge(sign(yes(of), key), of, approvers, "alice", "cli"), Decided)


def test_another_kind_of_key_is_refused() -> None:
    """With the way out."""
    with pytest.raises(Refused, match="the key cannot be read"):
        load_key(b"-----BEGIN RSA PRIVATE KEY-----")


def test_public_keys_are_compared_without_their_comment() -> None:
    """The comment at the end of a public key is anybody's."""
    assert public_line("bob").endswith(" bob@example")
