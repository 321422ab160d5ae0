"""Every line of a policy for a reviewer: what it says, where that comes from, why it is there, and against what."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from harness.contract.base import Section
from harness.contract.policy import Policy
from harness.core.call import Json

__all__ = ["LINES", "Explained", "Line", "explain_policy"]


@dataclass(frozen=True, slots=True)
class Line:
    """Why a key of the policy exists."""

    reason: str
    threat: str
    """What happens without it."""


@dataclass(frozen=True, slots=True)
class Explained:
    """One line as it holds."""

    key: str
    """Dotted."""
    value: Json
    source: str
    """`FILE:LINE`, or `default`."""
    reason: str
    threat: str


_HOLDS_BOX = "one run starves the host or its neighbours"
LINES: Mapping[str, Line] = MappingProxyType(
    {
        "ceilings.tokens": Line("a long session of a large model", "a loop that talks to a model empties an account"),
        "ceilings.cost_usd": Line("a mistake that one person can answer for", "spending without end"),
        "ceilings.wall_seconds": Line("an hour: longer work should pause, not hold a box", _HOLDS_BOX),
        "ceilings.retries": Line("a flaky service is asked some times more", "one failure becomes a flood of requests"),
        "ceilings.iterations": Line("agents that need more are stuck", "an agent that tries for ever"),
        "ceilings.calls": Line("twice the largest table worth going through call by call", "a service is flooded"),
        "ceilings.cpu_seconds": Line(
            "data that is worked through in the box", "mining, endless loops, exploding patterns"
        ),
        "ceilings.memory_mb": Line("eight such boxes fit a small host", _HOLDS_BOX),
        "ceilings.pids": Line("a pool of threads and as much again", "fork bombs"),
        "ceilings.disk_mb": Line("work files count as memory", "filling the disk or the host's memory"),
        "ceilings.output_bytes": Line("printed text for an agent", "floods of text fill logs and contexts"),
        "ceilings.result_bytes": Line("just under the largest frame", "a result that nobody can take in"),
        "ceilings.journal_bytes": Line("a run of the most calls", "the record fills the disk"),
        "effects": Line("which kinds of tools may ever be listed", "a contract lists what nobody meant to give out"),
        "tools": Line("which tools may ever be listed", "a contract lists what nobody meant to give out"),
        "approval.read": Line("reads seldom need a person", "what is read cannot be unread"),
        "approval.write": Line("listed writes are what contracts are for", "a write that nobody looked at"),
        "approval.destructive": Line(
            "what cannot be undone waits for a person", "data is destroyed by a plausible program"
        ),
        "tool_approval": Line("single tools need more than their kind", "one dangerous tool hides among harmless ones"),
        "approvers": Line("decisions count only with a key of a named person", "anybody who finds the link says yes"),
        "approvals_needed": Line("how many different people a destructive call needs", "one stolen key is enough"),
        "grants": Line("whether a person may say yes in advance", "a yes to one thing becomes a yes to many"),
        "callers": Line("who may run which contract", "a contract runs with somebody else's claims"),
        "claims": Line("what this machine's users are", "a scope is bound to a claim that nobody gave"),
        "backends": Line("both hold every wall", "a way of making boxes that nobody reviewed"),
        "runtimes": Line("runtimes beside the engine's own", "a runtime that drops limits without a word"),
        "images": Line("images beside the harness's own, by digest", "a box of somebody else's making"),
        "languages": Line("the first is what a contract gets that states none", "real Python where it was not meant"),
        "imports": Line("modules of which none gives a way out", "a module hands out the interpreter"),
        "destinations": Line("where results may go", "results leave for an address that a contract made up"),
        "secrets": Line(
            "which secret may stand in which field, sent to which host", "a credential is sent to a stranger"
        ),
        "private_hosts": Line(
            "private addresses that the harness's own requests may reach",
            "a webhook's address leads to a service that trusts its neighbours, or to a cloud's credentials",
        ),
        "max_read_age": Line("how old a read behind an approval may be", "a person approves what is no longer true"),
        "metered": Line("how a dimension must be counted to count", "a budget that only hopes"),
        "mask_unlabelled": Line(
            "whether fields that nobody labelled are masked", "a field that was forgotten gets out"
        ),
    }
)
"""By key; a mapping's own keys share its line."""
_ONE_BY_ONE = ("ceilings", "approval")


def explain_policy(policy: Policy) -> tuple[Explained, ...]:
    """Every line of the policy, stated or not, in the order of its keys."""
    whole: dict[str, Any] = policy.model_dump(by_alias=True, mode="json")
    return tuple(
        Explained(key, value, _source(policy, key), line.reason, line.threat)
        for key, value in _flat(whole)
        for line in [LINES.get(key) or LINES[key.split(".")[0]]]
    )


def _flat(whole: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    for name, value in whole.items():
        if name in ("policy", "version"):
            continue
        if name in _ONE_BY_ONE or (isinstance(value, Mapping) and value):
            yield from ((f"{name}.{inner}", each) for inner, each in value.items())
        else:
            yield name, value


def _source(policy: Policy, key: str) -> str:
    name, _, inner = key.partition(".")
    section: object = getattr(policy, name)
    stated = section.model_fields_set if isinstance(section, Section) else None
    if name not in policy.model_fields_set or (stated is not None and inner not in stated):
        return "default"
    place = policy.place(key)
    return f"{place.file}:{place.line}" if place.line else "stated"
