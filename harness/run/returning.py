"""Coming back to runs: decisions taken, runs resumed and looked for, whoever began them."""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.approvals.decision import Ignored, bundle_id, judge
from harness.approvals.grants import grants_in
from harness.contract.policy import Policy
from harness.contract.tool import ToolContract
from harness.core.bundle import Bundle, BundleState, Decided, Ledger, Taken
from harness.core.errors import StoreError
from harness.core.ports import RunRow
from harness.run.corridor import Corridor
from harness.run.entries import Where, fact_entry
from harness.run.history import past_of
from harness.run.opening import Resumption, refuse_living, terms_again, this_process
from harness.run.state import Parts

__all__ = ["DecisionOutcome", "decidable", "decide", "found", "reopen", "resumable"]


@dataclass(frozen=True, slots=True)
class DecisionOutcome:
    """What became of a decision document."""

    taken: bool
    """True where it decided its bundle, or was counted as one of several approvals."""
    code: str
    """`taken`, `counted`, `rejected_all`, `closed`, `expired`, `unknown_bundle`, `unsigned`, `bad_signature`, …"""
    why: str
    """One sentence."""
    reference: str = ""
    run: str = ""


_WHY: Mapping[Taken, str] = {
    Taken.TAKEN: "the decision is taken",
    Taken.COUNTED: "the approval is counted; more approvers must agree",
    Taken.CLOSED: "the bundle was decided before",
    Taken.EXPIRED: "the bundle has expired: nothing of it runs",
    Taken.UNKNOWN: "no bundle has the id that the document names",
    Taken.MISMATCHED: "the document does not fit the bundle",
}


def decide(store: Ledger, policy: Policy, document: bytes, source: str) -> DecisionOutcome:
    """Judge a signed document, and take it: once, by whoever comes first. Changes nothing where it is none."""
    bundle = store.bundle_by_id(bundle_id(document))
    asker = found(store, bundle.run).principal if bundle is not None else ""
    judged = judge(document, bundle, policy, asker, source)
    if isinstance(judged, Ignored):
        return DecisionOutcome(False, judged.code, judged.why)
    assert bundle is not None, "only a document for a bundle is a decision"
    taken = store.decide(judged)
    if taken is Taken.TAKEN and not judged.all_rejected:
        _give(store, judged, bundle)
    code, why = taken.value, _WHY[taken]
    if taken is Taken.TAKEN and judged.all_rejected:
        code, why = "rejected_all", "the document is malformed: all calls of its bundle are rejected"
    return DecisionOutcome(taken in (Taken.TAKEN, Taken.COUNTED), code, why, bundle.reference, bundle.run)


def _give(store: Ledger, decided: Decided, bundle: Bundle) -> None:
    """Store the bounded grants of a decision that was taken; a crash before that only asks again."""
    now = store.judged_now()
    for grant in grants_in(decided.document, bundle, decided.by, now) or ():
        where = Where(bundle.run, bundle.lineage, bundle.iteration, found(store, bundle.run).attempt)
        detail = {"tool": grant.tool, "calls": grant.calls, "while": grant.condition, "by": decided.by}
        store.add_grant(grant, [fact_entry(where, "grant", now, {**detail, "until": grant.until})])


def found(store: Ledger, run: str) -> RunRow:
    """A run by its id. Raises StoreError where there is none."""
    row = store.run(run)
    if row is None:
        raise StoreError(f"there is no run `{run}`", hint="see `harness runs list`")
    return row


def decidable(store: Ledger, reference: str) -> Bundle:
    """A bundle by its public reference. Raises StoreError where there is none."""
    bundle = store.bundle(reference)
    if bundle is None:
        raise StoreError(f"there is no bundle `{reference}`", hint="see `harness approvals list`")
    return bundle


def resumable(store: Ledger) -> list[str]:
    """Paused runs that waited for people, of whom none is asked any more: oldest first."""
    store.expire()
    waiting = {bundle.run for bundle in store.list_bundles(state=BundleState.OPEN)}
    spoken = {bundle.run for bundle in store.list_bundles()}
    paused = [row.id for row in store.runs(10_000) if row.status == "paused"]
    return [run for run in reversed(paused) if run in spoken and run not in waiting]


def reopen(
    parts: Parts, policy: Policy, tools: Mapping[str, ToolContract], run: str, *, force: bool = False
) -> Corridor:
    """A run that has not ended, under today's policy and tools, as the next attempt; earlier ones are fenced.

    Raises StoreError where it has ended, lives elsewhere or another process was faster, ContractRefused where the
    policy does not allow it any more: then nothing has changed.
    """
    store = parts.store
    row = found(store, run)
    if row.status == "ended":
        raise StoreError(f"the run `{run}` has ended", hint=f"see `harness runs show {run}`")
    proven_ended = refuse_living(row, force)
    terms = terms_again(row, parts, policy, tools)
    attempt = store.take_over(run, this_process(), row.attempt)
    past = past_of(store.entries(run))
    return Corridor(parts, terms, resumed=Resumption(row, past, attempt, proven_ended))
