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
    """`read`, `write` or `destructive`."""
    idempotency: IdempotencyWord = NO_IDEMPOTENCY
    """`none`, `natural` (safe to repeat), `derived` (the harness names the operation) or `key("argument")`."""
    approval: ApprovalWord = Approval.NONE
    """`none`, `before_execute` (once per digest in a run) or `always`."""
    timeout_s: float = DEFAULT_TIMEOUT_SECONDS
    """Seconds for one attempt."""
    errors: Mapping[type[BaseException], ErrorRule] = field(default_factory=dict)
    """Error class → rule, mostly `no_effect(…)`; after any other raise a call with an effect is UNKNOWN."""
    retry: RetryRule = NO_RETRY
    """`retry(attempts=3)`: only for classes that are declared retryable, only where repeating is safe."""
    scope: tuple[str, ...] = ()
    """Arguments that a contract may bind or limit."""
    identity: IdentityWord = Identity.SERVICE
    """`service` or `caller`: whose credentials it acts with."""
    data: Mapping[str, str] = field(default_factory=dict)
    """Data class by field path of the result, `rows[].email`, for masks."""
    cost: Cost | None = None
    """`usd("0.002")`, or a function of the result."""
    precondition: str = ""
    """CEL over `args`."""
    postcondition: str = ""
    """CEL over `args` and `result`."""
    preview: Preview = ""
    """Text with `{argument}` in it, or a deterministic function of the arguments."""
    reconcile: Callable[..., object] | None = None
    """How to learn what became of a call whose ending was not seen."""
    compensate: Callable[..., object] | None = None
    """How to undo a call, where that exists."""
    inline: bool = False
    """Quick, and never blocks: may run on the loop itself."""
    name: str = ""
    """Wire name; empty for the function's own."""
    description: str | None = None
    """None for the function's docstring."""
    result: object = UNSAID
    """Type of the result where the function's annotation is missing or untrue."""
    arguments: Mapping[str, object] = field(default_factory=dict)
    """Types of arguments where the annotations are missing or untrue; not for the decorator."""
