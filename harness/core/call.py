"""The call: one frozen record that walks down the corridor once, and the words that describe it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from harness.core.state import Event, State, advance

__all__ = ["Answer", "Approval", "Call", "Effect", "Idempotency", "Json", "Origin", "Provenance"]

Json = Any
"""A JSON value: dict with text keys, list, text, int of any size, finite float, bool or None."""


class Effect(StrEnum):
    """What a call changes outside the box."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"


class Idempotency(StrEnum):
    """Whether, and how, a call may be repeated."""

    NONE = "none"
    NATURAL = "natural"
    DERIVED = "derived"
    KEY = "key"


class Approval(StrEnum):
    """Whether a person must say yes; ordered from loosest to strictest."""

    NONE = "none"
    BEFORE_EXECUTE = "before_execute"
    ALWAYS = "always"

    @property
    def strictness(self) -> int:
        """0, 1 or 2; the effective approval is the one with the greatest."""
        return (Approval.NONE, Approval.BEFORE_EXECUTE, Approval.ALWAYS).index(self)


class Origin(StrEnum):
    """Whose call it is: the two never answer each other in a replay."""

    SNIPPET = "snippet"
    CHECK = "check"
    DIRECT = "direct"


class Provenance(StrEnum):
    """Where an answer came from, for the audit."""

    DIRECT = "direct"
    CODE = "code"
    CHECK = "check"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True)
class Answer:
    """The exact answer that a box was given, denials too; a replay gives these bytes again."""

    ok: bool
    """True: `body` is the encoded value. False: `body` is the encoded error object of the wire."""
    body: bytes
    """UTF-8 JSON."""


@dataclass(frozen=True, slots=True)
class Call:
    """One use of a stub. Built once from a frame; `moved` is the only way on."""

    id: str
    """`ITERATION.NUMBER`, unique in a run: the call number that the box gave, within its iteration."""
    run: str
    lineage: str
    """The chain of repairs that shares keys and journal."""
    iteration: int
    """1-based."""
    attempt: int
    """1-based; rises when a run is resumed in a new box, and fences the former."""
    origin: Origin
    task: str
    """Path of the asyncio task or thread in the box, `0`, `0.1`, `0.1.2`: deterministic by creation order."""
    tool: str
    """The wire name that was asked for; not yet known to exist."""
    arguments: Mapping[str, Json]
    """As they go to the tool: what the box sent, with the bound scope values added by the host."""
    content: str
    """SHA-256 hex over tool and canonical arguments as sent: what a replay matches by."""
    occurrence: int
    """1-based count of equal (lineage, origin, task, content)."""
    received_at: float
    """Seconds since the epoch."""
    digest: str = ""
    """SHA-256 hex over tool, tool and contract version, principal, scope and arguments: what an approval binds."""
    key: str = ""
    """Idempotency key; empty where the tool has none."""
    effect: Effect = Effect.WRITE
    state: State = State.RECEIVED
    ordinal: int = 0
    """1-based count of equal (lineage, origin, content) over all tasks of an iteration: what a `derived` key counts by,
    so that a repair which moves a call to another task meets the same key. 0: take `occurrence`."""

    def moved(self, *events: Event) -> "Call":
        """The call after these events, one after the other. Raises IllegalTransition."""
        state = self.state
        for event in events:
            state = advance(state, event)
        # Built in one go: `replace` costs twice as much, and every call moves three times.
        return Call(
            self.id,
            self.run,
            self.lineage,
            self.iteration,
            self.attempt,
            self.origin,
            self.task,
            self.tool,
            self.arguments,
            self.content,
            self.occurrence,
            self.received_at,
            self.digest,
            self.key,
            self.effect,
            state,
            self.ordinal,
        )
