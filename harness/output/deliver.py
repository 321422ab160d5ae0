"""Delivery: an accepted result goes where the contract says, in the format that it says; the snippet never writes.

Which destinations keep `exactly once` stands in docs/contract.md; the result itself is stored before any delivery.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from harness.core.call import Json
from harness.core.clock import Clock, utc_text
from harness.output.destinations import file
from harness.output.destinations.refusal import DeliveryRefused

__all__ = ["Deliverer", "Delivery", "DeliveryStatus", "Destination", "encode_result"]


class Destination(Protocol):
    """What a delivery reads of a destination: `harness.contract.effective.DestinationTerms` has it."""

    @property
    def url(self) -> str:
        """Scheme and place, references filled in."""

    @property
    def format(self) -> str:
        """`json` or `jsonl`."""


class DeliveryStatus(StrEnum):
    """What became of a delivery."""

    DELIVERED = "delivered"
    PENDING = "pending"
    """The destination is down, full or closed: the result is kept, a later attempt can work."""
    FAILED = "failed"
    """The destination can never take it as the contract stands; the result is kept."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One result at one destination."""

    to: str
    """The URL."""
    status: DeliveryStatus
    where: str = ""
    """Where the result lies now; empty unless delivered."""
    detail: str = ""
    """One sentence, where it was not delivered."""
    hint: str = ""
    at: float = 0.0
    """Seconds since the epoch."""
    bytes: int = 0
    digest: str = ""
    """SHA-256 hex of what was written."""

    def to_json(self) -> dict[str, Json]:
        """The delivery as the run's document shows it."""
        document: dict[str, Json] = {"to": self.to, "status": self.status.value, "at": utc_text(self.at)}
        for name in ("where", "detail", "hint", "bytes", "digest"):
            if getattr(self, name):
                document[name] = getattr(self, name)
        return document


class Deliverer:
    """Writes results. `folder` is what `file:` URLs are relative to: the folder of the host file."""

    def __init__(self, folder: str | os.PathLike[str], clock: Clock) -> None:
        self._folder = Path(folder)
        self._clock = clock

    async def deliver(self, run: str, destination: Destination, result: Json, *, again: bool = False) -> Delivery:
        """Write `result` once for `run`. Never raises for the destination's sake: the status says what became of it.

        `again`: an earlier attempt for this run may have got through without being recorded.
        """
        try:
            data = encode_result(result, destination.format)
            where = await self._write(run, destination.url, data, again)
        except DeliveryRefused as refused:
            status = DeliveryStatus.PENDING if refused.later else DeliveryStatus.FAILED
            return Delivery(destination.url, status, "", refused.message, refused.hint, self._clock.now())
        return Delivery(
            to=destination.url,
            status=DeliveryStatus.DELIVERED,
            where=where,
            at=self._clock.now(),
            bytes=len(data),
            digest=hashlib.sha256(data).hexdigest(),
        )

    def why_not(self, destination: Destination) -> str:
        """Why a delivery could not work as things stand, with the way out; empty where it could. Writes nothing."""
        try:
            _writer(destination.url)
            encode_result(None, destination.format)
        except DeliveryRefused as refused:
            return str(refused)
        return file.write_faults(self._folder, destination.url)

    async def _write(self, run: str, url: str, data: bytes, again: bool) -> str:
        """In a thread: two syncs take 0.3 ms on an idle disk and 10 on a busy one, and other runs' calls go on."""
        writer = _writer(url)
        return await asyncio.to_thread(writer, self._folder, url, run, data, again)


def encode_result(result: Json, form: str) -> bytes:
    """The bytes of a result: `json` is one indented document, `jsonl` one line an item. Raises DeliveryRefused."""
    try:
        if form == "json":
            text = json.dumps(result, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
        elif form == "jsonl":
            items = result if isinstance(result, list) else [result]
            text = "".join(
                json.dumps(item, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n" for item in items
            )
        else:
            raise DeliveryRefused(f"the format `{form}` is not available yet", hint="use json or jsonl")
        return text.encode("utf-8")
    except (ValueError, TypeError, RecursionError) as error:
        raise DeliveryRefused(f"the result cannot be written as {form}: {error}", hint="return JSON values") from error


def _writer(url: str) -> Callable[[Path, str, str, bytes, bool], str]:
    """What writes to the scheme of `url`. Raises DeliveryRefused."""
    if not url.startswith(file.SCHEME):
        scheme = url.partition(":")[0]
        raise DeliveryRefused(f"destinations of the kind `{scheme}` are not available yet", hint="use `file:`")
    return _to_file


def _to_file(folder: Path, url: str, run: str, data: bytes, again: bool) -> str:
    return file.write(folder, url, run, data, again=again)
