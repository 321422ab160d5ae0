"""Bundles: the gated calls of one turn put together as one decision, each with what a person must see of it.

Makes values; it stores and announces nothing.
"""

import re
import secrets
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from harness.core.bundle import Ask, Bundle
from harness.core.call import Call, Effect, Json
from harness.core.canonical import canonical

__all__ = [
    "MAX_CALLS",
    "MAX_PREVIEW_CHARS",
    "Asked",
    "Gathered",
    "Shown",
    "asked_first",
    "issue",
    "preview_line",
    "shown",
]

MAX_CALLS = 500
"""Calls of one bundle: what a person can still go through in a table; the next ones form the next bundle."""
MAX_PREVIEW_CHARS = 300
"""Characters of a preview's line; one that was cut must be opened in full before it is approved."""
ID_BYTES = 32
"""Random bytes of a bundle's id: nobody guesses 256 bits."""
REFERENCE_BYTES = 5
"""Random bytes of a reference: short enough to be read out; it opens nothing."""

_HTML = re.compile("[<>&]")
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
"""Unicode categories that are not shown as they are: controls, formats (bidirectional, zero width), line breaks."""


def preview_line(text: str) -> tuple[str, bool]:
    """One line that is safe on a terminal and in HTML, and whether it was cut.

    Control, bidirectional and zero-width characters and `<`, `>`, `&` become visible escapes.
    """
    head = text[: MAX_PREVIEW_CHARS + 1]
    line = _HTML.sub(lambda found: _escape(found[0]), "".join(map(_visible, head)))
    return (line, False) if len(text) <= MAX_PREVIEW_CHARS else (line[:MAX_PREVIEW_CHARS] + "…", True)


def _visible(character: str) -> str:
    if character == " " or (unicodedata.category(character) not in _HIDDEN and not character.isspace()):
        return character
    return _escape(character)


def _escape(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" if number < 65536 else f"\\U{number:08x}"


@dataclass(frozen=True, slots=True)
class Asked:
    """One call that wants a person's word."""

    call: Call
    """Its digest and effect are set."""
    preview: str
    """What the tool's preview says of it, as it came; empty for its canonical arguments."""
    rule: str
    """The approval that asks: `before_execute` or `always`."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a bundle says beside its calls."""

    run: str
    lineage: str
    iteration: int
    attempt: int
    kind: str
    """`approval`, `question` or `outcome`."""
    now: float
    """Seconds since the epoch."""
    expires_s: float
    """Seconds until nobody may decide any more."""
    about: Mapping[str, Json]
    """Contract, version, principal, goal: who asks for what."""
    oldest_read: float = 0.0
    """When the oldest read behind these calls was answered, seconds since the epoch; 0 where there was none."""


def issue(gathered: Gathered, calls: Sequence[Asked]) -> list[Bundle]:
    """The bundles for `calls`, in the order of their submission; one, or several where there are very many."""
    if not calls:
        raise ValueError("a bundle holds at least one call")
    return [_bundle(gathered, calls[start : start + MAX_CALLS]) for start in range(0, len(calls), MAX_CALLS)]


def _bundle(gathered: Gathered, calls: Sequence[Asked]) -> Bundle:
    destructive = sum(each.call.effect is Effect.DESTRUCTIVE for each in calls)
    about = {
        **gathered.about,
        "calls": len(calls),
        "destructive": destructive,
        "totals": _totals(calls),
        "oldest_read": gathered.oldest_read,
    }
    return Bundle(
        id=secrets.token_urlsafe(ID_BYTES),
        reference=f"ask-{secrets.token_hex(REFERENCE_BYTES)}",
        run=gathered.run,
        lineage=gathered.lineage,
        iteration=gathered.iteration,
        attempt=gathered.attempt,
        kind=gathered.kind,
        created_at=gathered.now,
        expires_at=gathered.now + gathered.expires_s,
        asks=tuple(map(_ask, calls)),
        document=canonical(about),
    )


def _ask(asked: Asked) -> Ask:
    call = asked.call
    arguments = canonical(call.arguments)
    line, cut = preview_line(asked.preview or f"{call.tool} {arguments.decode('utf-8')}")
    document = {
        "preview": line,
        "cut": cut,
        "arguments": msgspec.json.decode(arguments),
        "effect": call.effect.value,
        "rule": asked.rule,
    }
    return Ask(
        id=secrets.token_urlsafe(16),
        call=call.id,
        origin=call.origin.value,
        task=call.task,
        tool=call.tool,
        content=call.content,
        occurrence=call.occurrence,
        digest=call.digest,
        document=canonical(document),
    )


def _totals(calls: Sequence[Asked]) -> dict[str, Json]:
    """Calls and sums of numeric arguments by tool: what a whole table comes to."""
    totals: dict[str, dict[str, Any]] = {}
    for asked in calls:
        row = totals.setdefault(asked.call.tool, {"calls": 0, "sums": {}})
        row["calls"] += 1
        for name, value in asked.call.arguments.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                row["sums"][name] = row["sums"].get(name, 0) + value
    return totals


# --- reading -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shown:
    """One call of a bundle as a person sees it."""

    ask: Ask
    preview: str
    """One line, escaped."""
    cut: bool
    """True where the preview was cut: the call must be opened in full."""
    effect: Effect
    rule: str
    arguments: Json
    """As they go to the tool."""


def shown(ask: Ask) -> Shown:
    """What a person sees of an ask."""
    document = msgspec.json.decode(ask.document)
    return Shown(
        ask, document["preview"], document["cut"], Effect(document["effect"]), document["rule"], document["arguments"]
    )


def asked_first(bundle: Bundle) -> list[Shown]:
    """The calls of a bundle, destructive ones first, else in the order of submission."""
    lines = list(map(shown, bundle.asks))
    return sorted(lines, key=lambda line: line.effect is not Effect.DESTRUCTIVE)
