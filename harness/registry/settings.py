"""What a tool's author says beside the function: the operational half of a tool contract, as written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from harness.contract.tool import (
    DEFAULT_TIMEOUT_SECONDS,
    NO_IDEMPOTENCY,
    NO_RETRY,
    ErrorRule,
    IdempotencyRule,
    Identity,
    RetryRule,
)
from harness.core.budget import Amount
from harness.core.call import Approval, Effect

__all__ = ["UNSAID", "ApprovalWord", "Cost", "EffectWord", "IdempotencyWord", "IdentityWord", "Preview", "Settings"]

EffectWord = Effect | Literal["read", "write", "destructive"]
ApprovalWord = Approval | Literal["none", "before_execute", "always"]
IdentityWord = Identity | Literal["service", "caller"]
IdempotencyWord = IdempotencyRule | Literal["none", "natural", "derived"]
Cost = Decimal | Callable[[Any], Mapping[str, Amount] | Decimal]
"""Money of every call, or what the result says that a call used: `{"tokens": …, "cost_usd": …}`, or money alone."""
Preview = str | Callable[..., str]
"""A template over the arguments, or a function of them (by keyword)."""


class _Unsaid:
    """Stands where nothing was said, None included."""

    def __repr__(self) -> str:
        return "UNSAID"


UNSAID = _Unsaid()


@dataclass(frozen=True, slots=True)
class Settings:
    """Strict where nothing is said: effect `write`, no idempotency, approval as the policy says."""

    effect: EffectWord = Effect.WRITE
    idempotency: IdempotencyWord = NO_IDEMPOTENCY
    approval: ApprovalWord = Approval.NONE
    timeout_s: float = DEFAULT_TIMEOUT_SECONDS
    """Seconds."""
    errors: Mapping[type[BaseException], ErrorRule] = field(default_factory=dict)
    retry: RetryRule = NO_RETRY
    scope: tuple[str, ...] = ()
    identity: IdentityWord = Identity.SERVICE
    data: Mapping[str, str] = field(default_factory=dict)
    cost: Cost | None = None
    precondition: str = ""
    postcondition: str = ""
    preview: Preview = ""
    reconcile: Callable[..., object] | None = None
    compensate: Callable[..., object] | None = None
    inline: bool = False
    name: str = ""
    """Wire name; empty for the function's own."""
    description: str | None = None
    """None for the function's docstring."""
    result: object = UNSAID
    """Type of the result where the function's annotation is missing or untrue."""
    arguments: Mapping[str, object] = field(default_factory=dict)
    """Types of arguments where the annotations are missing or untrue."""
