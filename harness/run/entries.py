"""Journal lines: how a call and a fact of the run are written down."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from harness.core.budget import Amount
from harness.core.call import Answer, Call, Json
from harness.core.canonical import canonical
from harness.core.ports import Entry
from harness.core.state import Event
from harness.core.verdict import Verdict

__all__ = ["Told", "Where", "call_entry", "cost_json", "fact_entry"]


@dataclass(frozen=True, slots=True)
class Told:
    """What stands on the line beside the transition."""

    verdict: Verdict | None = None
    answer: Answer | None = None
    released: int = 0
    cost: Mapping[str, Amount] | None = None
    data: bytes = b""


NOTHING = Told()


def cost_json(cost: Mapping[str, Amount]) -> dict[str, Json]:
    """Amounts as JSON: money as exact decimal text."""
    return {name: amount if isinstance(amount, int | float) else str(amount) for name, amount in cost.items()}


def _cost_text(cost: Mapping[str, Amount]) -> bytes:
    """The canonical cost; most calls cost the same few whole numbers."""
    items = tuple(cost.items())
    if all(type(amount) is int for _, amount in items):
        return _whole_cost(items)
    return canonical(cost_json(cost))


@lru_cache(maxsize=1_000)
def _whole_cost(items: tuple[tuple[str, Amount], ...]) -> bytes:
    return canonical(dict(items))


def call_entry(call: Call, event: Event, at: float, told: Told = NOTHING) -> Entry:
    """The line for `call`, which already stands in the state after `event`."""
    return Entry(
        run=call.run,
        lineage=call.lineage,
        iteration=call.iteration,
        attempt=call.attempt,
        origin=call.origin.value,
        task=call.task,
        call=call.id,
        tool=call.tool,
        content=call.content,
        occurrence=call.occurrence,
        kind="call",
        event=event,
        state=call.state,
        at=at,
        data=told.data,
        verdict=told.verdict,
        answer=told.answer,
        released=told.released,
        cost=_cost_text(told.cost) if told.cost else b"",
        digest=call.digest,
        key=call.key,
    )


@dataclass(frozen=True, slots=True)
class Where:
    """The coordinates that every line of a run shares."""

    run: str
    lineage: str
    iteration: int
    attempt: int


def fact_entry(where: Where, kind: str, at: float, detail: Mapping[str, Json]) -> Entry:
    """The line for a fact of the run: no call, `kind` says what."""
    return Entry(
        run=where.run,
        lineage=where.lineage,
        iteration=where.iteration,
        attempt=where.attempt,
        origin="",
        task="",
        call="",
        tool="",
        content="",
        occurrence=0,
        kind=kind,
        event=None,
        state=None,
        at=at,
        data=canonical(detail),
    )
