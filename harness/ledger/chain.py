"""The audit: one keyed, hash-chained line for every decision and transition, in the transaction of its journal line.

A line holds names, codes, counts and keyed digests, never an argument, a value or a sentence. What was said in full
stands in the journal line that its `body` covers.
"""

import hashlib
import hmac
from dataclasses import dataclass

import msgspec

from harness.core.clock import utc_text
from harness.core.ports import Entry
from harness.core.state import Event
from harness.core.verdict import Code
from harness.ledger.keys import derive

__all__ = ["GENESIS", "Chain", "Head", "Header"]

GENESIS = bytes(32)
"""What the first line follows."""
MAX_NAME = 128
"""Characters of a name that enter a line; real tool names stay below (MCP allows 128)."""

_PUBLIC: dict[str, tuple[str, ...]] = {
    "run_created": ("policy", "policy_version", "language", "backend"),
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
"""Members of a run fact's details that a line may show: words of the harness and counts, nothing from a snippet."""

_encode = msgspec.json.Encoder().encode


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
    """Makes and recomputes lines under one key. Holds no state: the head lives in the store."""

    def __init__(self, key: bytes) -> None:
        self._chain = derive(key, "audit chain")
        self._head = derive(key, "audit head")
        self._digest = derive(key, "audit digest")
        self._body = derive(key, "audit body")
        self._anchor = derive(key, "audit anchor")

    def line(self, seq: int, header: Header, entry: Entry, verdict: bytes) -> str:
        """The text of line `seq` for a journal line that already has its place in the run."""
        fields: dict[str, object] = {
            "n": seq,
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
        if entry.kind == "call":
            self._call_fields(fields, entry)
        else:
            _fact_fields(fields, entry)
        fields["body"] = self.body(entry, verdict)
        return _encode(fields).decode("utf-8")

    def _call_fields(self, fields: dict[str, object], entry: Entry) -> None:
        verdict = entry.verdict
        unlisted = verdict is not None and verdict.code is Code.UNLISTED
        fields["call"] = entry.call
        fields["tool"] = self.digest(entry.tool) if unlisted else entry.tool[:MAX_NAME]
        fields["event"] = entry.event.value if entry.event is not None else None
        fields["state"] = entry.state.value if entry.state is not None else None
        fields["provenance"] = _provenance(entry)
        fields["digest"] = self.digest(entry.digest or entry.content)
        if entry.key:
            fields["key"] = self.digest(entry.key)
        if verdict is not None:
            fields["decision"] = verdict.decision.value
            fields["code"] = verdict.code.value
            fields["reasons"] = len(verdict.reasons)
        if entry.answer is not None:
            fields["answered"] = "ok" if entry.answer.ok else "error"
            fields["answer_bytes"] = len(entry.answer.body)
        if entry.cost:
            fields["cost"] = msgspec.Raw(entry.cost)

    def digest(self, text: str) -> str:
        """A keyed digest: equal for equal texts of this store, and of no use for guessing them without the key."""
        return hmac.digest(self._digest, text.encode("utf-8", "backslashreplace"), hashlib.sha256).hex()[:32]

    def body(self, entry: Entry, verdict: bytes) -> str:
        """Keyed digest over the whole journal line, with what the audit line leaves out."""
        answer = entry.answer
        blobs = (entry.data, verdict, answer.body if answer is not None else b"", entry.cost)
        frame = _encode(
            (
                entry.lineage,
                entry.origin,
                entry.task,
                entry.call,
                entry.tool,
                entry.content,
                entry.occurrence,
                entry.event,
                entry.state,
                entry.at,
                entry.released,
                entry.digest,
                entry.key,
                None if answer is None else answer.ok,
                [len(blob) for blob in blobs],
            )
        )
        return hmac.digest(self._body, b"".join((frame, *blobs)), hashlib.sha256).hex()

    def mac(self, previous: bytes, line: str) -> bytes:
        """What binds a line to all lines before it."""
        return hmac.digest(self._chain, previous + line.encode("utf-8"), hashlib.sha256)

    def seal(self, head: Head) -> bytes:
        """What makes a head ours: without the key a cut cannot be covered up by a new head."""
        text = b"%d:%b:%b" % (head.seq, head.mac.hex().encode("ascii"), head.high.hex().encode("ascii"))
        return hmac.digest(self._head, text, hashlib.sha256)

    def anchor_seal(self, seq: int, mac: bytes, at: str) -> bytes:
        """What makes an anchor ours."""
        return hmac.digest(self._anchor, f"{seq}:{mac.hex()}:{at}".encode(), hashlib.sha256)

    def anchor_ok(self, seq: int, mac: bytes, at: str, seal: bytes) -> bool:
        """True where the anchor was written by the holder of the key."""
        return hmac.compare_digest(self.anchor_seal(seq, mac, at), seal)


def _provenance(entry: Entry) -> str:
    if entry.event is Event.REPLAY:
        return "replay"
    return {"snippet": "code", "check": "check"}.get(entry.origin, "direct")


def _fact_fields(fields: dict[str, object], entry: Entry) -> None:
    public = _PUBLIC.get(entry.kind, ())
    if not public or not entry.data:
        return
    details = msgspec.json.decode(entry.data)
    if not isinstance(details, dict):
        return
    shown = {name: details[name] for name in public if isinstance(details.get(name), str | int | float | bool)}
    fields["facts"] = {name: value[:MAX_NAME] if isinstance(value, str) else value for name, value in shown.items()}
