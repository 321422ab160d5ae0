"""Charging: the agent's own use of a model booked in the budget and written down, refused ones too."""

from collections.abc import Mapping

from harness.core.budget import Amount, Dimension, Metered, Shortage
from harness.core.call import Json
from harness.core.errors import ChargeRefused
from harness.run.entries import fact_entry
from harness.run.prices import Charged, price
from harness.run.state import RunState

__all__ = ["book"]


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
