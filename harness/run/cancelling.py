"""Cancelling from outside: a run is ended by whoever may write its store, wherever it lives and whether it lives.

Its attempts are fenced first, so nothing of it is dispatched any more; then every open call is closed in its name.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from harness.contract.principal import Principal
from harness.core.bundle import Ledger
from harness.core.canonical import canonical
from harness.core.ending import Ending, Outcome, ReasonCode
from harness.core.errors import StoreError
from harness.core.ports import RunRow
from harness.core.state import FINAL, Event, State
from harness.core.verdict import Code, Decision, Verdict
from harness.ledger.replay import Recorded
from harness.report import ContractRef, RunResult
from harness.run.entries import Told, Where, call_entry, fact_entry
from harness.run.history import Past, call_record, ended_facts, ending_facts, past_of
from harness.run.lines import call_lines, iteration_line
from harness.run.opening import this_process
from harness.run.receipts import receipt_for
from harness.run.record import CallRecord, IterationRecord
from harness.run.returning import found

__all__ = ["cancel_run"]

_EVENTS: Mapping[State, Event] = {
    State.DISPATCHED: Event.LOSE,
    State.WAITING: Event.CANCEL,
    State.RECEIVED: Event.CANCEL,
}
"""How an open call ends; one that is UNKNOWN already stays so. Others stand in no journal."""


def cancel_run(store: Ledger, run: str, by: str, now: float) -> RunResult:
    """End a run from outside: its attempts are fenced, so a live box of it goes within a second.

    An effect that was under way is UNKNOWN from then on, its key stays taken; what waited is denied. Raises StoreError
    where the run has ended, or another process was faster.
    """
    row = found(store, run)
    _refuse_ended(past_of(store.entries(run)), run)
    row = replace(row, attempt=store.take_over(run, this_process(), row.attempt))
    store.withdraw(run, by)
    past = past_of(store.entries(run))
    if past.ending is not None:  # it was written between the look and the fence: its result is still to be delivered
        store.finish(replace(row, status="paused", owner=""), [])
        _refuse_ended(past, run)
    return _closed(store, row, past, Ending(Outcome.UNRESOLVED, ReasonCode.CANCELLED, f"cancelled by {by}"), now)


def _refuse_ended(past: Past, run: str) -> None:
    if past.ending is not None:
        raise StoreError(
            f"the run `{run}` has ended: {past.ending.reason.value}",
            hint=f"see `harness runs show {run}`; what is left to deliver, `harness resume {run}` delivers",
        )


def _closed(store: Ledger, row: RunRow, past: Past, ending: Ending, now: float) -> RunResult:
    """Close the open calls, the iteration and the run, in one transaction."""
    live = past.live
    iterations = list(past.iterations)
    lines = []
    if live is not None:
        calls = _close_calls(store, row, past.calls.get(live.number, ()), now)
        record = IterationRecord(live.number, live.snippet, live.lineage, live.at, ended_at=now, ending=ending)
        record.calls = [each for each in calls if not each.call.tool.startswith("harness.")]
        where = Where(row.id, live.lineage, live.number, row.attempt)
        lines.append(fact_entry(where, "iteration_ended", now, ended_facts(record, pausing=False)))
        iterations.append(record)
    where = Where(row.id, f"{row.id}.{max(past.lineages, 1)}", len(iterations), row.attempt)
    lines.append(fact_entry(where, "ended", now, {**ending_facts(ending), "result": None}))
    result = RunResult(
        run=row.id,
        contract=ContractRef(row.contract, row.version, row.digest),
        ending=ending,
        result=None,
        iterations=[iteration_line(each) for each in iterations],
        calls=call_lines(call for each in iterations for call in each.calls),
        audit_head=store.audit_head(),
    )
    store.finish(replace(row, status="ended", owner="", ending=canonical(result.to_json())), lines)
    return result


def _close_calls(store: Ledger, row: RunRow, calls: Iterable[Recorded], now: float) -> list[CallRecord]:
    """Every call of the iteration; the lines of those that were open ride on the run's last commit."""
    holder = _holder(row)
    records = []
    for recorded in calls:
        record = call_record(recorded)
        event = _EVENTS.get(record.call.state)
        if event is not None and record.call.state not in FINAL:
            record.call = replace(record.call, attempt=row.attempt).moved(event)
            record.ended_at = now
            if event is Event.CANCEL:
                record.verdict = Verdict(Decision.DENY, Code.CANCELLED, ("the run was cancelled",))
            entry = call_entry(record.call, event, now, Told(record.verdict if event is Event.CANCEL else None))
            lost = receipt_for(record.call, holder, record.call.state, now) if event is Event.LOSE else None
            store.settle(entry, lost)
        records.append(record)
    return records


def _holder(row: RunRow) -> str:
    """Whose the keys of a run are."""
    who = json.loads(row.document)["principal"]
    return Principal(who["name"], who["claims"], who["source"]).holder
