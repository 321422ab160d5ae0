"""The chain: every journal line carries a keyed digest over itself and the line before it, whatever run that was in.

The journal line is the audit line: `audit_view` shows what an auditor may read of it, names, codes, counts and keyed
digests, never an argument, a value or a sentence.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from harness.core.call import Json
from harness.core.clock import utc_text
from harness.core.ports import Entry
from harness.core.state import Event
from harness.core.verdict import Code
from harness.ledger.keys import derive

__all__ = ["GENESIS", "Chain", "Head", "Header"]

GENESIS = bytes(32)
"""What the first line follows."""
MAX_NAME = 128
"""Characters of a name that an audit line shows; tool names stay below (MCP allows 128)."""

_PUBLIC: dict[str, tuple[str, ...]] = {
    "run_created": ("policy", "policy_version", "language", "backend"),
    "taken_over": ("owner",),
    "iteration_started": ("snippet", "language", "backend"),
    "iteration_ended": ("returned", "failed", "status", "reason", "code", "head"),
    "bundle": ("reference", "bundle_kind", "calls", "expires_at"),
    "decision": ("reference", "by", "source", "approved", "rejected", "outcome"),
    "grant": ("tool", "calls", "until", "by"),
    "check": ("id", "status", "by"),
    "charge": ("model", "tokens", "cost_usd"),
    "ended": ("outcome", "reason", "exit_code"),
    "delivery": ("status", "format", "digest"),
    "erased": ("lines", "by"),
}
"""Members of a run fact's details that an auditor may read: words of the harness and counts, nothing of a snippet's."""

_encode = msgspec.json.Encoder().encode
_blake = hashlib.blake2b


@dataclass(frozen=True, slots=True)
class Header:
    """What the lines of one run share."""

    run: str
    principal: str
    contract: str
    version: int
    digest: str
    """SHA-256 hex of the contract."""


@dataclass(frozen=True, slots=True)
class Head:
    """The end of the chain."""

    seq: int
    """Number of lines; the last line's number."""
    mac: bytes
    """Keyed digest of the last line and of all before it."""
    high: float
    """The store's high-water mark: the latest time that any transaction has seen, seconds since the epoch."""


class Chain:
    """Makes and recomputes digests under one key (keyed BLAKE2b, 256 bits). The head lives in the store, not here."""

    def __init__(self, key: bytes) -> None:
        self._line = derive(key, "audit line")
        self._head = derive(key, "audit head")
        self._digest = derive(key, "audit digest")
        self._body = derive(key, "audit body")
        self._anchor = derive(key, "audit anchor")

    def body(self, entry: Entry) -> bytes:
        """Over what may be erased later, arguments and answer: the chain holds without them, and they cannot change."""
        answer = entry.answer
        blob = b"%d:%b%b" % (len(entry.data), entry.data, answer.body if answer is not None else b"")
        return _blake(blob, key=self._body, digest_size=32).digest()

    def mac(self, previous: bytes, header: Header, place: tuple[int, int], row: tuple[object, ...]) -> bytes:
        """What binds a line to all lines before it.

        `place` is its number in the chain and its place in the run; `row` is all else that stands in it.
        """
        frame = _encode((place, header.run, header.principal, header.contract, header.version, header.digest, row))
        return _blake(previous + frame, key=self._line, digest_size=32).digest()

    def digest(self, text: str) -> str:
        """A keyed digest: equal for equal texts of this store, and of no use for guessing them without the key."""
        return _blake(text.encode("utf-8", "backslashreplace"), key=self._digest, digest_size=16).hexdigest()

    def seal(self, head: Head) -> bytes:
        """What makes a head ours: without the key a cut cannot be covered up by a new head."""
        text = b"%d:%b:%b" % (head.seq, head.mac, head.high.hex().encode("ascii"))
        return _blake(text, key=self._head, digest_size=32).digest()

    def anchor_seal(self, seq: int, mac: bytes, at: str) -> bytes:
        """What makes an anchor ours."""
        return _blake(f"{seq}:{mac.hex()}:{at}".encode(), key=self._anchor, digest_size=32).digest()

    def anchor_ok(self, seq: int, mac: bytes, at: str, seal: bytes) -> bool:
        """True where the anchor was written by the holder of the key."""
        return hmac.compare_digest(self.anchor_seal(seq, mac, at), seal)

    # --- what an auditor reads -----------------------------------------------------------------------------

    def audit_view(self, number: int, header: Header, entry: Entry) -> dict[str, Json]:
        """Line `number` as an auditor may read it."""
        view: dict[str, Json] = {
            "n": number,
            "at": utc_text(entry.at),
            "run": header.run,
            "seq": entry.seq,
            "principal": header.principal,
            "contract": header.contract,
            "version": header.version,
            "contract_digest": header.digest,
            "iteration": entry.iteration,
            "attempt": entry.attempt,
            "kind": entry.kind,
        }
        view.update(self._call_view(entry) if entry.kind == "call" else _fact_view(entry))
        return view

    def _call_view(self, entry: Entry) -> dict[str, Json]:
        verdict = entry.verdict
        unlisted = verdict is not None and verdict.code is Code.UNLISTED
        view: dict[str, Json] = {
            "call": entry.call,
            "tool": self.digest(entry.tool) if unlisted else entry.tool[:MAX_NAME],
            "event": entry.event.value if entry.event is not None else None,
            "state": entry.state.value if entry.state is not None else None,
            "provenance": _provenance(entry),
            "digest": self.digest(entry.digest or entry.content),
        }
        if entry.key:
            view["key"] = self.digest(entry.key)
        if verdict is not None:
            view["decision"], view["code"] = verdict.decision.value, verdict.code.value
            view["reasons"] = len(verdict.reasons)
        if entry.answer is not None:
            view["answered"], view["answer_bytes"] = "ok" if entry.answer.ok else "error", len(entry.answer.body)
        if entry.cost:
            view["cost"] = msgspec.json.decode(entry.cost)
        return view


def _provenance(entry: Entry) -> str:
    if entry.event is Event.REPLAY:
        return "replay"
    return {"snippet": "code", "check": "check"}.get(entry.origin, "direct")


def _fact_view(entry: Entry) -> dict[str, Json]:
    details = msgspec.json.decode(entry.data) if entry.data else None
    if not isinstance(details, Mapping):
        return {}
    shown: dict[str, Json] = {}
    for name in _PUBLIC.get(entry.kind, ()):
        value = details.get(name)
        if isinstance(value, str):
            shown[name] = value[:MAX_NAME]
        elif isinstance(value, int | float):
            shown[name] = value
    return {"facts": shown} if shown else {}
