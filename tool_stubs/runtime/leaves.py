"""Leaf values beyond JSON: one wire form each, written and read alike by both ends of the socket.

Standard library only; nothing here knows schemas.
"""

import base64
import binascii
import datetime as dt
import decimal
import re
import uuid
from collections.abc import Callable

__all__ = ["LEAF_TYPES", "READERS", "WRITERS", "Leaf", "write_bytes"]

Leaf = dt.datetime | dt.date | dt.time | dt.timedelta | decimal.Decimal | uuid.UUID | bytes

_DURATION = re.compile(
    r"(?P<sign>[+-])?P(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+)(?:[.,](?P<fraction>\d{1,6}))?S)?)?"
)


def _write_datetime(value: object) -> str:
    if not isinstance(value, dt.datetime):
        raise TypeError("datetime")
    return value.isoformat()


def _write_date(value: object) -> str:
    if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
        raise TypeError("date")
    return value.isoformat()


def _write_time(value: object) -> str:
    if not isinstance(value, dt.time):
        raise TypeError("time")
    return value.isoformat()


def _write_duration(value: object) -> str:
    """`P2DT3661.5S`; exact to the microsecond, the sign in front."""
    if not isinstance(value, dt.timedelta):
        raise TypeError("timedelta")
    sign, span = ("-", -value) if value < dt.timedelta(0) else ("", value)
    micros = f".{span.microseconds:06d}".rstrip("0") if span.microseconds else ""
    return f"{sign}P{span.days}DT{span.seconds}{micros}S"


def _write_decimal(value: object) -> str:
    """The exact digits. Whole numbers and floats are taken as they print, which is what a person meant."""
    if isinstance(value, bool) or not isinstance(value, decimal.Decimal | int | float):
        raise TypeError("Decimal")
    number = value if isinstance(value, decimal.Decimal) else decimal.Decimal(repr(value))
    if not number.is_finite():
        raise ValueError(f"`{value}` is not finite")
    return str(number)


def _write_uuid(value: object) -> str:
    if not isinstance(value, uuid.UUID):
        raise TypeError("UUID")
    return str(value)


def write_bytes(value: object) -> str:
    """Standard base64 with padding. Raises TypeError where `value` is no bytes."""
    if not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError("bytes")
    return base64.b64encode(value).decode("ascii")


def _read_datetime(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def _read_date(text: str) -> dt.date:
    if len(text) != 10:
        raise ValueError("a date has ten characters")
    return dt.date.fromisoformat(text)


def _read_time(text: str) -> dt.time:
    return dt.time.fromisoformat(text)


def _read_duration(text: str) -> dt.timedelta:
    found = _DURATION.fullmatch(text)
    if found is None or text[-1] in "PT":
        raise ValueError("not an ISO 8601 duration of weeks, days, hours, minutes, seconds")
    part = found.groupdict()
    span = dt.timedelta(
        weeks=int(part["weeks"] or 0),
        days=int(part["days"] or 0),
        hours=int(part["hours"] or 0),
        minutes=int(part["minutes"] or 0),
        seconds=int(part["seconds"] or 0),
        microseconds=int((part["fraction"] or "0").ljust(6, "0")),
    )
    return -span if part["sign"] == "-" else span


def _read_decimal(text: str) -> decimal.Decimal:
    try:
        number = decimal.Decimal(text)
    except decimal.InvalidOperation:
        raise ValueError("not a decimal number") from None
    if not number.is_finite():
        raise ValueError("not finite")
    return number


def _read_uuid(text: str) -> uuid.UUID:
    return uuid.UUID(text)


def _read_bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from None


WRITERS: dict[str, Callable[[object], str]] = {
    "datetime": _write_datetime,
    "date": _write_date,
    "time": _write_time,
    "duration": _write_duration,
    "decimal": _write_decimal,
    "uuid": _write_uuid,
    "bytes": write_bytes,
}
"""Kind → text of a value. TypeError(name of the Python type) where the value is of another type, ValueError where it
has no form."""

READERS: dict[str, Callable[[str], Leaf]] = {
    "datetime": _read_datetime,
    "date": _read_date,
    "time": _read_time,
    "duration": _read_duration,
    "decimal": _read_decimal,
    "uuid": _read_uuid,
    "bytes": _read_bytes,
}
"""Kind → value of a text; ValueError where the text does not fit."""

LEAF_TYPES: tuple[type, ...] = (dt.date, dt.time, dt.timedelta, decimal.Decimal, uuid.UUID, bytes, bytearray)
"""Types that need a schema to travel (datetime is a date)."""
