"""Report lines: how records of a live run become the frozen lines of its document."""

from collections.abc import Iterable

from harness.report import CallLine, IterationLine
from harness.run.record import CallRecord, IterationRecord

__all__ = ["call_lines", "iteration_line"]


def call_lines(records: Iterable[CallRecord]) -> list[CallLine]:
    """One line a call, in the order in which the calls came."""
    return [_call_line(record) for record in records]


def _call_line(record: CallRecord) -> CallLine:
    call, verdict = record.call, record.verdict
    return CallLine(
        id=call.id,
        tool=call.tool,
        effect=call.effect.value,
        state=call.state.value,
        decision=verdict.decision.value if verdict is not None else "",
        code=verdict.code.value if verdict is not None else "",
        reasons=verdict.reasons if verdict is not None else (),
        cost=record.cost,
        received_at=call.received_at,
        ended_at=record.ended_at,
        iteration=call.iteration,
        provenance=record.provenance.value,
        hint=verdict.hint if verdict is not None else "",
    )


def iteration_line(record: IterationRecord) -> IterationLine:
    """The line of one iteration."""
    status = "nothing"
    if record.ending is not None:
        status = "stopped"
    elif record.failure is not None:
        status = "failed"
    elif record.returned:
        status = "returned"
    usage = record.usage
    return IterationLine(
        number=record.number,
        snippet=record.snippet,
        lineage=record.lineage,
        status=status,
        output=record.output,
        printed=record.printed,
        printed_bytes=record.printed_bytes,
        failure=record.failure,
        seconds=record.ended_at - record.started_at,
        cpu_seconds=usage.cpu_seconds if usage is not None else None,
        memory_mb=usage.memory_mb if usage is not None else None,
        pids=usage.pids if usage is not None else None,
    )
