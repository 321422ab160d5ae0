"""What checks know: the grants of a run compiled once, and the live facts that they may read.

Reading a fact changes nothing; nothing here decides.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Protocol

from harness.contract.effective import Terms
from harness.contract.expression import Predicate, compile_predicate
from harness.contract.grants import Grant
from harness.contract.schema import Validator, compile_schema
from harness.contract.tool import ToolContract
from harness.core.budget import Amount, Dimension, Shortage, tool_calls
from harness.core.call import Call, Effect, Idempotency, Json
from harness.core.canonical import canonical
from harness.core.ports import Receipt, ReceiptKey
from harness.enforcement.limits import Limit, compile_limit
from harness.enforcement.words import parameter_kinds

__all__ = [
    "NO_APPROVAL",
    "ApprovalFact",
    "ApprovalStatus",
    "Compiled",
    "CoveredBy",
    "ToolFacts",
    "View",
]


class ApprovalStatus(StrEnum):
    """What a person has said of a call."""

    NONE = "none"
    """Nothing yet."""
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"


class CoveredBy(StrEnum):
    """How far an approval reaches; a tool that wants a person every time takes only the first."""

    CALL = "call"
    """Given to this very call: run, lineage, occurrence and digest."""
    DIGEST = "digest"
    """Given earlier in this run to a call of the same digest."""
    GRANT = "grant"
    """A bounded grant: this tool, this run, so many calls, while a condition holds, until then."""


@dataclass(frozen=True, slots=True)
class ApprovalFact:
    """What is recorded about a person's word on one call."""

    status: ApprovalStatus
    id: str = ""
    """Id of the approval or grant; empty where there is none."""
    digest: str = ""
    """The digest that was approved; empty for a grant, which is not bound to one."""
    covered_by: CoveredBy = CoveredBy.CALL
    condition: Predicate | None = None
    """Of a grant: must be true over `args`."""
    reference: str = ""
    """Public reference of the bundle, which the snippet may be told."""
    reason: str = ""
    """What the person gave as a reason for a rejection, for the snippet; empty where none was given."""


NO_APPROVAL = ApprovalFact(ApprovalStatus.NONE)


class View(Protocol):
    """The live facts. Every method only reads, and may be asked more than once."""

    def receipt(self, key: ReceiptKey) -> Receipt | None:
        """The outcome stored under a key; includes what was handed over and is not yet on disk."""

    def in_flight(self, key: ReceiptKey) -> str:
        """Id of the call of this run that holds `key` and has not ended; empty where none does."""

    def unknown(self, call: Call) -> str:
        """Id of another call of this lineage with the same content whose ending is not known; empty where none is."""

    def shortage(self, request: Mapping[str, Amount]) -> Shortage | None:
        """The first limit that `request` would exceed."""

    def approval(self, call: Call) -> ApprovalFact:
        """What a person has said of `call`; its digest is set."""


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """One granted tool, with everything that need not be worked out again for each call."""

    name: str
    """Wire name."""
    grant: Grant
    effect: Effect
    idempotency: Idempotency
    key_argument: str
    """Of `key(argument)`; else empty."""
    repeatable: bool
    """True where a keyed call whose ending is unknown may be made again under its key: the tool declares an error class
    retryable without calling it free of effect, which says that it honours the key."""
    validator: Validator
    """Over the whole input schema, bound arguments included."""
    limits: tuple[Limit, ...]
    defaults: Mapping[str, Json]
    """Schema defaults of the limited arguments: filled in, so that what is judged is what the tool gets."""
    precondition: Predicate | None
    request: Mapping[str, Amount]
    """What one call reserves."""
    prefix: Any
    """`hashlib` state over everything in the digest but the arguments."""
    key_prefix: Any
    """`hashlib` state over what all derived keys of the tool share."""
    parameters: Mapping[str, str]
    """What the snippet may pass: name → short description of its type."""

    @property
    def signature(self) -> str:
        """The parameters as a sentence lists them."""
        return ", ".join(f"{name}: {kind}" for name, kind in self.parameters.items()) or "none"


class Compiled:
    """The terms of one run, compiled for deciding. Immutable once made.

    Raises nothing that binding the contract has not raised before.
    """

    __slots__ = ("holder", "names", "tools")

    def __init__(self, terms: Terms) -> None:
        self.holder: str = terms.effective.principal.holder
        self.tools: Mapping[str, ToolFacts] = {name: _facts(grant, terms) for name, grant in terms.grants.items()}
        self.names: tuple[str, ...] = tuple(sorted(self.tools))


def _facts(grant: Grant, terms: Terms) -> ToolFacts:
    tool = grant.tool
    schema = tool.input_schema
    limited = {constraint.argument for constraint in grant.limits}
    properties = schema.get("properties", {})
    return ToolFacts(
        name=tool.name,
        grant=grant,
        effect=tool.effect,
        idempotency=tool.idempotency.kind,
        key_argument=tool.idempotency.argument,
        repeatable=_repeatable(tool),
        validator=compile_schema(schema),
        limits=tuple(compile_limit(constraint) for constraint in grant.limits),
        defaults=MappingProxyType(
            {name: properties[name]["default"] for name in limited if "default" in properties.get(name, {})}
        ),
        precondition=compile_predicate(tool.precondition, {"args": schema}) if tool.precondition else None,
        request=MappingProxyType(_request(grant)),
        prefix=_prefix(grant, terms),
        key_prefix=hashlib.sha256(_framed("derived key", tool.name)),
        parameters=MappingProxyType(parameter_kinds(grant.visible_schema)),
    )


def _repeatable(tool: ToolContract) -> bool:
    keyed = tool.idempotency.kind in (Idempotency.KEY, Idempotency.DERIVED)
    return keyed and any(rule.retry and not rule.no_effect for rule in tool.errors.values())


def _request(grant: Grant) -> dict[str, Amount]:
    request: dict[str, Amount] = {Dimension.CALLS.value: 1}
    if grant.calls is not None:
        request[tool_calls(grant.tool.name)] = 1
    if grant.tool.cost_usd is not None:
        request[Dimension.COST_USD.value] = grant.tool.cost_usd
    request.update(grant.share)
    return request


def _prefix(grant: Grant, terms: Terms) -> Any:
    """The digest's state: tool, its version, the contract's digest, the principal, the scope; arguments follow."""
    effective = terms.effective
    scope = {
        "bound": dict(grant.bound),
        "limits": [[limit.argument, str(limit.kind), limit.value] for limit in grant.limits],
    }
    principal = [effective.principal.name, effective.principal.holder]
    return hashlib.sha256(_framed(grant.tool.name, grant.tool.digest, effective.digest, principal, scope))


def _framed(*values: Json) -> bytes:
    """As `harness.core.canonical.digest` frames what it hashes."""
    texts = [canonical(value) for value in values]
    return b"".join(len(text).to_bytes(8, "big") + text for text in texts)
