"""Amounts as contracts and policies write them: counts, seconds, money, durations, sizes.

Negative, infinite, missing and not-a-number are refused here, in our words.
"""

import math
import re
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

__all__ = ["Count", "Duration", "Money", "Positive", "Seconds", "refuse"]

MAX_COUNT = 2**53
"""Beyond it numbers lose digits in other languages' JSON; no run spends so much."""
MAX_DIGITS = 40
"""Characters of an amount that is written as text."""

_DURATION = re.compile(r"(\d{1,9})(ms|s|m|h|d)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def refuse(code: str, message: str, hint: str) -> PydanticCustomError:
    """The error that a validator raises; the loader makes a fault of it."""
    return PydanticCustomError(code, "{message}", {"message": message, "hint": hint})


def _shown(value: Any) -> str:
    text = str(value) if isinstance(value, str | int | float | Decimal) else type(value).__name__
    return f"`{text if len(text) <= 60 else text[:59] + '…'}`"


def _finite(value: Any, what: str) -> int | float | Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise refuse("bad_amount", f"{_shown(value)} is not {what}", "write it as a number, without quotes or unit")
    if (isinstance(value, float) and not math.isfinite(value)) or (
        isinstance(value, Decimal) and not value.is_finite()
    ):
        raise refuse("bad_amount", f"{_shown(value)} is not a finite number", "write the limit that you mean")
    if value < 0:
        raise refuse("bad_amount", f"{_shown(value)} is negative", "write 0 for none")
    if value > MAX_COUNT:
        raise refuse("bad_amount", f"{_shown(value)} is beyond 2^53", "write the limit that you mean")
    return value


def _count(value: Any) -> int:
    number = _finite(value, "a whole number")
    if number != int(number):
        raise refuse("bad_amount", f"{_shown(value)} is not a whole number", "leave out the fraction")
    return int(number)


def _positive(value: Any) -> int:
    number = _count(value)
    if number < 1:
        raise refuse("bad_amount", f"{_shown(value)} is less than 1", "write at least 1")
    return number


def _seconds(value: Any) -> float:
    return float(_finite(value, "a number of seconds"))


def _money(value: Any) -> Decimal:
    number = _finite(_decimal(value) if isinstance(value, str) else value, "an amount of money")
    return number if isinstance(number, Decimal) else Decimal(repr(number))


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text if len(text) <= MAX_DIGITS else "no amount")
    except InvalidOperation:
        hint = 'write dollars as text: "0.50"'
        raise refuse("bad_amount", f"{_shown(text)} is not an amount of money", hint) from None


def _duration(value: Any) -> float:
    if isinstance(value, str):
        hit = _DURATION.fullmatch(value.strip())
        if hit is None:
            raise refuse("bad_duration", f"{_shown(value)} is not a duration", "write `90s`, `15m`, `24h` or `30d`")
        return int(hit[1]) * _UNITS[hit[2]]
    return _seconds(value)


Count = Annotated[int, BeforeValidator(_count)]
"""A whole number from 0."""
Positive = Annotated[int, BeforeValidator(_positive)]
"""A whole number from 1."""
Seconds = Annotated[float, BeforeValidator(_seconds)]
"""Seconds from 0, finite."""
Money = Annotated[Decimal, BeforeValidator(_money)]
"""Dollars, exact: text or a number."""
Duration = Annotated[float, BeforeValidator(_duration)]
"""Seconds; `24h` and the like, or a number of seconds."""
