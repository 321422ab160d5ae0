"""Lost endings: what became of an effect that was dispatched before its host died. Never a blind retry."""

from collections.abc import Awaitable
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from harness.contract.schema import compile_schema
from harness.core.call import Answer, Call, Idempotency
from harness.core.ports import Outcome
from harness.core.state import Event, State
from harness.executor.execute import Deadline
from harness.ledger.replay import Recorded
from harness.registry.registry import Tool
from harness.run.answers import error_answer, value_answer
from harness.run.entries import Told, call_entry
from harness.run.receipts import receipt_for
from harness.run.record import CallRecord
from harness.run.state import RunState

__all__ = ["Finding", "Found", "as_recorded", "find_out", "look_up", "value_unseen", "write_off"]


class Finding(StrEnum):
    """What to do about a call whose ending was not seen."""

    PROVEN = "proven"
    """It happened: its outcome is known."""
    AGAIN = "again"
    """It is made once more: it did not happen, or its key makes a repetition harmless."""
    ASK = "ask"
    """A person must say."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found."""

    finding: Finding
    outcome: Outcome


def as_recorded(call: Call, recorded: Recorded, run: RunState) -> Call:
    """`call` of the new box as its former self stood in the journal: merged arguments, digest, key, effect, state."""
    facts = run.compiled.tools.get(call.tool)
    # Built in one go, and read by the wire's own reader: every call of a replay comes along here.
    return Call(
        call.id,
        call.run,
        call.lineage,
        call.iteration,
        call.attempt,
        call.origin,
        call.task,
        call.tool,
        msgspec.json.decode(recorded.arguments) if recorded.arguments else call.arguments,
        call.content,
        call.occurrence,
        call.received_at,
        recorded.digest,
        recorded.key,
        facts.effect if facts is not None else call.effect,
        recorded.state,
        call.ordinal,
    )


def write_off(run: RunState, record: CallRecord) -> None:
    """Write down that the ending was not seen: the key stays taken."""
    if record.call.state is State.DISPATCHED:
        record.call = record.call.moved(Event.HOST_DIED)
        _line(run, record.call, Event.HOST_DIED, None)


async def find_out(run: RunState, record: CallRecord) -> Found:
    """Ask the tool, then its declaration, then nobody but a person. `record` stands in UNKNOWN."""
    call = record.call
    tool, facts = run.registry.get(call.tool), run.compiled.tools.get(call.tool)
    if tool is None or facts is None:
        return Found(Finding.ASK, Outcome(Event.LOSE, message="the tool is not granted any more"))
    outcome = await look_up(run, tool, call)
    if outcome.event is Event.PROVE_DONE:
        return Found(Finding.PROVEN, outcome)
    if outcome.event is Event.PROVE_NOT_DONE:
        _line(run, call.moved(Event.PROVE_NOT_DONE), Event.PROVE_NOT_DONE, outcome)
        return Found(Finding.AGAIN, outcome)
    if facts.idempotency is Idempotency.NATURAL or (facts.repeatable and call.key):
        return Found(Finding.AGAIN, outcome)
    return Found(Finding.ASK, outcome)


def look_up(run: RunState, tool: Tool, call: Call) -> Awaitable[Outcome]:
    """What the tool itself says of a call whose ending was not seen."""
    return run.executor.reconcile(tool, call, Deadline(tool.contract.timeout_s), ended=run.proven_ended)


def value_unseen(record: CallRecord, tool: Tool | None) -> Answer:
    """The answer for a call of which a person said that it happened: nobody saw what it returned."""
    schema = tool.contract.output_schema if tool is not None else None
    if schema is None or compile_schema(schema).ok(None):
        return value_answer(None)
    return error_answer(
        {
            "kind": "ToolFailed",
            "code": "applied_invalid",
            "tool": record.call.tool,
            "message": "a person confirmed that the call took effect; what it returned is not known",
            "hint": "the effect stands and must not be repeated; read the state where you need it",
            "data": {},
        }
    )


def _line(run: RunState, call: Call, event: Event, outcome: Outcome | None) -> None:
    now = run.clock.now()
    entry = call_entry(call, event, now, Told())
    run.journal.settle(entry, receipt_for(call, run.holder, call.state, now, outcome))
