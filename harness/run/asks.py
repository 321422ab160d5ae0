"""What people have said of the calls of one run: an index over its bundles, read from the store when it must be."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from harness.approvals.bundle import preview_line
from harness.contract.expression import Predicate, compile_predicate
from harness.core.bundle import Ask, Bundle, BundleState, Ledger, WaitState
from harness.core.call import Call
from harness.enforcement.facts import NO_APPROVAL, ApprovalFact, ApprovalStatus, CoveredBy

__all__ = ["Asks", "Said"]

OUTCOME = "outcome"
"""Kind of the bundles that ask whether a call happened."""
_STATUS: Mapping[WaitState, ApprovalStatus] = {
    WaitState.APPROVED: ApprovalStatus.APPROVED,
    WaitState.REJECTED: ApprovalStatus.REJECTED,
    WaitState.EXPIRED: ApprovalStatus.EXPIRED,
}


class Said(NamedTuple):
    """One call of a bundle."""

    bundle: Bundle
    ask: Ask


class _Place(NamedTuple):
    """What an ask is bound to, beside its run."""

    lineage: str
    task: str
    occurrence: int
    digest: str


class Asks:
    """The bundles of a run. Reading changes nothing but that what is past its time is closed."""

    def __init__(self, store: Ledger, run: str, max_read_age: float | None) -> None:
        self._store = store
        self._run = run
        self._max_read_age = max_read_age
        self._loaded = False
        self._by_call: dict[_Place, Said] = {}
        self._by_digest: dict[str, Said] = {}
        self._outcomes: dict[str, Said] = {}
        self._conditions: dict[str, Predicate] = {}
        self._open: list[Bundle] = []
        self.redone: set[str] = set()
        """Ids of calls that are made once more after a crash, under the approval that they have used."""
        self.oldest_read = 0.0
        """When the oldest read of the iteration was answered; 0 where there was none."""

    def refresh(self) -> None:
        """Read the bundles of the run as they stand now."""
        bundles = self._store.list_bundles(self._run)
        now = self._store.judged_now()
        if any(each.state is BundleState.OPEN and each.expires_at <= now for each in bundles):
            self._store.expire(self._run)
            bundles = self._store.list_bundles(self._run)
        self._by_call.clear()
        self._by_digest.clear()
        self._outcomes.clear()
        self._open.clear()
        self._loaded = True
        self.add(bundles)

    def add(self, bundles: Sequence[Bundle]) -> None:
        """Know these bundles too, the later ones before the earlier."""
        for bundle in bundles:
            if bundle.state is BundleState.OPEN:
                self._open.append(bundle)
            for ask in bundle.asks:
                said = Said(bundle, ask)
                if bundle.kind == OUTCOME:
                    self._outcomes[ask.call] = said
                    continue
                self._by_call[_Place(bundle.lineage, ask.task, ask.occurrence, ask.digest)] = said
                if ask.state in (WaitState.APPROVED, WaitState.USED):
                    self._by_digest[ask.digest] = said

    @property
    def open(self) -> Sequence[Bundle]:
        """Bundles that nobody has decided yet, as last read."""
        return self._open

    def put(self, call: Call) -> Said | None:
        """The latest ask that is bound to this very call."""
        if not self._loaded:
            self.refresh()
        return self._by_call.get(_Place(call.lineage, call.task, call.occurrence, call.digest))

    def happened(self, call: str) -> Said | None:
        """The latest question whether the call of this id happened."""
        if not self._loaded:
            self.refresh()
        return self._outcomes.get(call)

    def pending(self, call: Call) -> Bundle | None:
        """The open bundle in which this call is put to a person."""
        said = self.put(call)
        return said.bundle if said is not None and said.bundle.state is BundleState.OPEN else None

    def to_consume(self, call: Call, approval: str) -> str:
        """What a reservation consumes: nothing where this very call has used its approval before its host died."""
        said = self.put(call) if approval and call.id in self.redone else None
        used = said is not None and said.ask.id == approval and said.ask.state is WaitState.USED
        return "" if used else approval

    # --- the fact that the check reads ------------------------------------------------------------------------

    def fact(self, call: Call, schema: Mapping[str, Any]) -> ApprovalFact:
        """What a person has said of `call`; `schema` is that of its tool's arguments."""
        said = self.put(call)
        if said is not None:
            bundle, ask = said
            if ask.state is WaitState.USED and call.id in self.redone:
                return self._said(ApprovalStatus.APPROVED, said)
            status = _STATUS.get(ask.state)
            if status is ApprovalStatus.APPROVED and self._is_stale(bundle):
                return NO_APPROVAL
            if status is not None:
                return self._said(status, said)
        return self._earlier(call) or self._granted(call, schema) or self._nothing(said)

    def _is_stale(self, bundle: Bundle) -> bool:
        """Whether the reads behind an approval have grown too old since a person saw their age."""
        if self._max_read_age is None or not self.oldest_read:
            return False
        too_old = self.oldest_read + self._max_read_age
        return bundle.created_at <= too_old < self._store.judged_now()

    def _earlier(self, call: Call) -> ApprovalFact | None:
        said = self._by_digest.get(call.digest)
        if said is None or self._is_stale(said.bundle):
            return None
        return self._said(ApprovalStatus.APPROVED, said, CoveredBy.DIGEST)

    def _granted(self, call: Call, schema: Mapping[str, Any]) -> ApprovalFact | None:
        for grant in self._store.grants(self._run, call.tool):
            condition = None
            if grant.condition:
                condition = self._conditions.get(grant.id)
                if condition is None:
                    condition = compile_predicate(grant.condition, {"args": schema})
                    self._conditions[grant.id] = condition
                judged = condition.evaluate({"args": call.arguments})
                if judged.value is not True:
                    continue
            return ApprovalFact(ApprovalStatus.APPROVED, grant.id, "", CoveredBy.GRANT, condition)
        return None

    def _nothing(self, said: Said | None) -> ApprovalFact:
        if said is None or said.bundle.state is not BundleState.OPEN:
            return NO_APPROVAL
        return ApprovalFact(ApprovalStatus.NONE, reference=said.bundle.reference)

    def _said(self, status: ApprovalStatus, said: Said, by: CoveredBy = CoveredBy.CALL) -> ApprovalFact:
        reason = _reason(said.bundle) if status is ApprovalStatus.REJECTED else ""
        return ApprovalFact(status, said.ask.id, said.ask.digest, by, reference=said.bundle.reference, reason=reason)


def _reason(bundle: Bundle) -> str:
    """What the person gave as a reason, as one safe line."""
    try:
        text = json.loads(bundle.decision).get("reason", "")
    except ValueError:
        return ""
    return preview_line(text)[0] if isinstance(text, str) else ""
