"""Telling of runs: what ran, what waits for whom, every call with its state, verdict and times."""

import json
from collections.abc import Mapping

from harness.approvals.bundle import asked_first
from harness.contract.policy import Policy
from harness.core.bundle import Bundle, Ledger, WaitState
from harness.core.call import Json
from harness.core.clock import utc_text
from harness.core.ports import RunRow
from harness.ledger.replay import Recorded
from harness.run.history import past_of
from harness.run.returning import found

__all__ = ["STATES", "bundle_document", "run_document", "run_line"]

STATES: Mapping[WaitState, str] = {
    WaitState.PENDING: "pending",
    WaitState.APPROVED: "approved, unused",
    WaitState.USED: "used",
    WaitState.REJECTED: "denied",
    WaitState.EXPIRED: "expired",
    WaitState.WITHDRAWN: "withdrawn",
}
"""How people are told where a call of a bundle stands."""


def run_line(row: RunRow) -> dict[str, Json]:
    """One run in a list."""
    ending = json.loads(row.ending) if row.ending else {}
    return {
        "run": row.id,
        "contract": row.contract,
        "version": row.version,
        "principal": row.principal,
        "status": row.status,
        "attempt": row.attempt,
        "created_at": utc_text(row.created_at),
        "outcome": ending.get("outcome"),
        "reason": ending.get("reason", {}).get("code"),
    }


def run_document(store: Ledger, policy: Policy, run: str) -> dict[str, Json]:
    """A whole run. Raises StoreError where there is none."""
    row = found(store, run)
    past = past_of(store.entries(run))
    ending = json.loads(row.ending) if row.ending else {}
    lines = [each for number in sorted(past.calls) for each in past.calls[number]]
    return {
        **run_line(row),
        "digest": row.digest,
        "owner": row.owner,
        "detail": ending.get("reason", {}).get("detail", ""),
        "result": ending.get("result"),
        "iterations": [
            {"number": each.number, "lineage": each.lineage, "returned": each.returned, "failed": bool(each.failure)}
            for each in past.iterations
        ],
        "calls": [_call(each) for each in lines if not each.match.tool.startswith("harness.")],
        "asked": [bundle_document(each, policy) for each in store.list_bundles(run)],
        "deliveries": ending.get("deliveries", []),
    }


def _call(recorded: Recorded) -> dict[str, Json]:
    verdict = recorded.verdict
    return {
        "id": recorded.call,
        "tool": recorded.match.tool,
        "task": recorded.match.task,
        "iteration": recorded.iteration,
        "state": recorded.state.value,
        "verdict": None
        if verdict is None
        else {"decision": verdict.decision.value, "code": verdict.code.value, "reasons": list(verdict.reasons)},
        "effect_dispatched": recorded.effect_dispatched,
        "answered_at": utc_text(recorded.answered_at) if recorded.answered_at else None,
        "order": recorded.released or None,
    }


def bundle_document(bundle: Bundle, policy: Policy) -> dict[str, Json]:
    """A bundle as a person sees it, destructive calls first; its id is left out."""
    about = json.loads(bundle.document)
    return {
        "reference": bundle.reference,
        "run": bundle.run,
        "kind": bundle.kind,
        "state": bundle.state.value,
        "created_at": utc_text(bundle.created_at),
        "expires_at": utc_text(bundle.expires_at),
        "decided_at": utc_text(bundle.decided_at) if bundle.decided_at else None,
        "decided_by": bundle.decided_by or None,
        "waits_for": [each.name for each in policy.approvers if each.name != about.get("principal")],
        "contract": about.get("contract"),
        "principal": about.get("principal"),
        "goal": about.get("goal"),
        "totals": about.get("totals"),
        "oldest_read": utc_text(about["oldest_read"]) if about.get("oldest_read") else None,
        "calls": [
            {
                "call": line.ask.call,
                "tool": line.ask.tool,
                "effect": line.effect.value,
                "rule": line.rule,
                "state": STATES[line.ask.state],
                "preview": line.preview,
                "cut": line.cut,
                "arguments": line.arguments,
                "digest": line.ask.digest,
            }
            for line in asked_first(bundle)
        ],
    }
