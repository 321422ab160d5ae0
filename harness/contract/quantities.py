"""Quantities as people write them: durations and money."""

import re
from decimal import Decimal, InvalidOperation
from typing import Any

__all__ = ["parse_duration", "parse_money"]

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d|w)")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def parse_duration(value: Any) -> float:
    """Seconds from a number or from `90s`, `15m`, `24h`, `30d`, `2w`. Raises ValueError."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    else:
        hit = _DURATION.fullmatch(value) if isinstance(value, str) else None
        if hit is None:
            raise ValueError("a duration is a number of seconds or a text such as `90s`, `15m`, `24h`, `30d`")
        seconds = float(hit.group(1)) * _SECONDS[hit.group(2)]
    if not 0 < seconds < 1e10:
        raise ValueError("a duration is above zero and finite")
    return seconds


def parse_money(value: Any) -> Decimal:
    """Exact dollars from text or a number; a float is taken by its shortest text. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise ValueError('money is a text such as `"0.50"`')
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f'`{value}` is not an amount of money; write a text such as `"0.50"`') from None
    if not amount.is_finite():
        raise ValueError("money is finite")
    return amount
