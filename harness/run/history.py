"""History: a run read back from its journal, so that it can go on, be shown, or be closed."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from harness.core.call import Answer, Call, Effect, Json, Origin, Provenance
from harness.core.ending import Ending, Outcome, ReasonCode
from harness.core.ports import BoxUsage, Entry
from harness.ledger.replay import Recorded, fold
from harness.run.record import CallRecord, IterationRecord

__all__ = ["Past", "Started", "call_record", "ended_facts", "ending_facts", "past_of"]


def ended_facts(record: IterationRecord, pausing: bool) -> dict[str, Json]:
    """What the journal keeps of an iteration that has ended; `pausing`: it goes on another day."""
    return {
        "returned": record.returned,
        "output": record.output,
        "failure": record.failure,
        "failed": bool(record.failure),
        "printed": record.printed,
        "printed_bytes": record.printed_bytes,
        "started_at": record.started_at,
        "ended_at": record.ended_at,
        "usage": asdict(record.usage) if record.usage is not None else None,
        "ending": ending_facts(record.ending) if record.ending is not None else None,
        "paused": pausing,
    }


def ending_facts(ending: Ending) -> dict[str, Json]:
    """An ending as the journal keeps it."""
    return {
        "outcome": ending.outcome.value,
        "reason": ending.reason.value,
        "detail": ending.detail,
        "data": [list(pair) for pair in ending.data],
    }


def _ending(facts: Mapping[str, Any]) -> Ending:
    data = tuple((str(name), str(value)) for name, value in facts.get("data", ()))
    return Ending(Outcome(facts["outcome"]), ReasonCode(facts["reason"]), facts["detail"], data)


@dataclass(frozen=True, slots=True)
class Started:
    """An iteration that has started and not ended for good."""

    number: int
    lineage: str
    source: str
    now_us: int
    """What its box's clock showed at its first start, µs since the epoch."""
    snippet: str
    """SHA-256 hex of the normalised source."""
    at: float
    """When its last attempt began, seconds since the epoch."""


@dataclass(slots=True)
class Past:
    """What a journal says of its run."""

    iterations: list[IterationRecord] = field(default_factory=list)
    """Those that have ended for good, with their calls."""
    live: Started | None = None
    """The one to go on with."""
    calls: dict[int, list[Recorded]] = field(default_factory=dict)
    """Of the snippets, by iteration, in order of arrival."""
    ending: Ending | None = None
    """Set where the run's ending is recorded: what is left is to deliver and to close."""
    result: Json = None
    facts: list[Entry] = field(default_factory=list)
    """Lines that are of no call."""
    lineages: int = 0
    """How many lineages have started."""
    judged: bool = False
    """True where a proposal of an ended iteration was judged."""

    def of_lineage(self, lineage: str, before: int) -> list[Recorded]:
        """Calls of a lineage in the iterations before one, in journal order."""
        found = [each for number, calls in self.calls.items() if number < before for each in calls]
        return sorted((each for each in found if each.match.lineage == lineage), key=lambda each: each.seq)


def past_of(entries: Iterable[Entry]) -> Past:
    """Read a journal."""
    past = Past()
    lines: list[Entry] = []
    started: dict[int, Started] = {}
    ended: dict[int, dict[str, Any]] = {}
    lineages: set[str] = set()
    for entry in entries:
        if entry.kind == "call":
            if entry.origin == Origin.SNIPPET:
                lines.append(entry)
            continue
        past.facts.append(entry)
        data = json.loads(entry.data) if entry.data else {}
        if entry.kind == "iteration_started":
            lineages.add(entry.lineage)
            known = started.get(entry.iteration)
            now_us = known.now_us if known is not None else data["now_us"]
            started[entry.iteration] = Started(
                entry.iteration, entry.lineage, data["source"], now_us, data["snippet"], entry.at
            )
            ended.pop(entry.iteration, None)
        elif entry.kind == "iteration_ended":
            ended[entry.iteration] = data
        elif entry.kind == "ended":
            past.ending, past.result = _ending(data), data.get("result")
    past.lineages = len(lineages)
    for record in fold(lines):
        past.calls.setdefault(record.iteration, []).append(record)
    for number in sorted(started):
        if number in ended and not ended[number]["paused"]:
            past.iterations.append(_iteration(started[number], ended[number], past.calls.get(number, [])))
        else:
            past.live = started[number]
    return past


def _iteration(started: Started, data: dict[str, Any], calls: list[Recorded]) -> IterationRecord:
    from_source = data["usage"]
    return IterationRecord(
        number=started.number,
        snippet=started.snippet,
        lineage=started.lineage,
        started_at=data["started_at"],
        ended_at=data["ended_at"],
        returned=data["returned"],
        output=data["output"],
        failure=data["failure"],
        printed=data["printed"],
        printed_bytes=data["printed_bytes"],
        ending=_ending(data["ending"]) if data["ending"] is not None else None,
        usage=BoxUsage(**from_source) if from_source is not None else None,
        calls=[call_record(each) for each in calls if not each.match.tool.startswith("harness.")],
    )


def call_record(recorded: Recorded) -> CallRecord:
    """A call of an earlier process as a live run holds it."""
    match = recorded.match
    call = Call(
        id=recorded.call,
        run=match.lineage.rpartition(".")[0],
        lineage=match.lineage,
        iteration=recorded.iteration,
        attempt=1,
        origin=Origin(match.origin),
        task=match.task,
        tool=match.tool,
        arguments=msgspec.json.decode(recorded.arguments) if recorded.arguments else {},
        content=match.content,
        occurrence=match.occurrence,
        received_at=recorded.answered_at,
        digest=recorded.digest,
        key=recorded.key,
        effect=Effect.WRITE if recorded.effect_dispatched else Effect.READ,
        state=recorded.state,
        ordinal=recorded.ordinal,
    )
    answer: Answer | None = recorded.answer
    return CallRecord(
        call,
        wire_id=0,
        verdict=recorded.verdict,
        provenance=Provenance.CODE,
        answer=answer,
        released=recorded.released,
        ended_at=recorded.answered_at,
        durable=recorded.effect_dispatched,
    )
