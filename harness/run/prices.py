"""What a model's tokens cost, from a kept table of prices: exact decimals, and never free by accident.

The table comes with the package `genai-prices`; nothing is fetched. Loading it takes half a second, on first use.
"""

import importlib
import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

from harness.core.errors import ChargeRefused, Fault

__all__ = ["USAGE_KEYS", "Charged", "price", "table_version"]

TABLE = "genai-prices"
USAGE_KEYS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
"""What a usage may name. Cached tokens are part of `input_tokens`, priced by their own rates."""
MAX_TOKENS = 2**53


@dataclass(frozen=True, slots=True)
class Charged:
    """What one use of a model came to."""

    model: str
    """As it was named."""
    tokens: int
    """Input and output together."""
    cost_usd: Decimal
    table: str
    """Name and version of the table of prices."""


@cache
def table_version() -> str:
    """`genai-prices 1.2.3`: what the money of a run was worked out with."""
    return f"{TABLE} {importlib.metadata.version(TABLE)}"


def price(model: str, usage: Mapping[str, int], models: Sequence[str] = ()) -> Charged:
    """Price one use of `model`; `models` are the names that the contract takes, none where it takes any known one.

    Raises ChargeRefused: for another model, for one that the table does not know or has no price for, for a usage that
    is no count of tokens.
    """
    if models and model not in models:
        raise _refused("model_not_allowed", f"the contract does not name the model `{model[:80]}`", _listed(models))
    counts = _counts(usage)
    table: Any = _table()
    try:
        found = table.calc_price(table.Usage(**counts), model_ref=model)
    except LookupError:
        hint = "an unknown model is never free: name it as its provider does"
        raise _refused("unknown_model", f"the table of prices does not know `{model[:80]}`", hint) from None
    for name, rate in (("input_tokens", "input_mtok"), ("output_tokens", "output_mtok")):
        if counts.get(name) and getattr(found.model_price, rate, None) is None:
            hint = "a use without a price is never free"
            raise _refused("unknown_price", f"the table has no price for {name} of `{model[:80]}`", hint)
    tokens = counts.get("input_tokens", 0) + counts.get("output_tokens", 0)
    return Charged(model, tokens, found.total_price, table_version())


def _counts(usage: Mapping[str, int]) -> dict[str, int]:
    if not usage:
        raise _refused("bad_usage", "the usage is empty", f"name {' or '.join(USAGE_KEYS[:2])}")
    for name, count in usage.items():
        if name not in USAGE_KEYS:
            raise _refused("bad_usage", f"`{str(name)[:80]}` is no usage", _listed(USAGE_KEYS))
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MAX_TOKENS:
            raise _refused("bad_usage", f"`{name}` is no count of tokens", "pass a whole number from 0 on")
    cached = usage.get("cache_read_tokens", 0) + usage.get("cache_write_tokens", 0)
    if cached > usage.get("input_tokens", 0):
        raise _refused("bad_usage", "more tokens are cached than came in", "`input_tokens` counts cached ones too")
    return dict(usage)


def _listed(names: Sequence[str]) -> str:
    return f"there are {', '.join(f'`{each}`' for each in names)}"


def _refused(code: str, message: str, hint: str) -> ChargeRefused:
    return ChargeRefused([Fault(code, message, hint)])


@cache
def _table() -> Any:
    return importlib.import_module("genai_prices")
