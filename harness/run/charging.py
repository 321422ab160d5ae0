"""Charging: the agent's own use of a model booked in the budget and written down, refused ones too."""

import json
from collections.abc import Iterable, Mapping

from harness.core.budget import Amount, Dimension, Metered, Shortage
from harness.core.call import Json
from harness.core.errors import ChargeRefused
from harness.core.ports import Entry
from harness.run.entries import fact_entry
from harness.run.prices import Charged, price
from harness.run.state import RunState

__all__ = ["book", "recall"]


def book(run: RunState, iteration: int, model: str, usage: Mapping[str, int]) -> tuple[Charged, Shortage | None]:
    """What the use came to, and the limit that it passed. Raises ChargeRefused; then nothing was booked."""

    def note(detail: Mapping[str, Json]) -> None:
        run.journal.note(fact_entry(run.where(iteration), "charge", run.clock.now(), detail))

    try:
        priced = price(model, usage, run.effective.contract.models)
    except ChargeRefused as refused:
        note({"model": model[:200], "refused": str(refused)})
        raise
    used: dict[str, Amount] = {Dimension.TOKENS: priced.tokens, Dimension.COST_USD: priced.cost_usd}
    short = run.budget.charge(used, Metered.CHARGED)
    detail: dict[str, Json] = {"iteration": iteration, "model": model, "tokens": priced.tokens}
    detail = {**detail, "cost_usd": str(priced.cost_usd), "table": priced.table}
    run.charges.append(detail)
    note({**detail, "usage": dict(usage)})
    return priced, short


def recall(run: RunState, entries: Iterable[Entry]) -> None:
    """Know what an earlier attempt of the run has charged, and what people have answered, for the report."""
    for entry in entries:
        if entry.kind not in ("charge", "escalation"):
            continue
        data: dict[str, Json] = json.loads(entry.data)
        if entry.kind == "charge" and "refused" not in data:
            del data["usage"]
            run.charges.append(data)
            run.budget.charge({Dimension.TOKENS: 0, Dimension.COST_USD: 0}, Metered.CHARGED)  # restored: who said so
        elif entry.kind == "escalation" and "answer" in data:
            run.questions.append(data)
