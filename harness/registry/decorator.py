"""The decorator of tools, and the small words that stand in it."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from harness.contract.tool import (
    DEFAULT_TIMEOUT_SECONDS,
    NO_IDEMPOTENCY,
    NO_RETRY,
    ErrorRule,
    IdempotencyRule,
    Identity,
    RetryRule,
)
from harness.core.call import Approval, Effect, Idempotency
from harness.registry.settings import (
    UNSAID,
    ApprovalWord,
    Cost,
    EffectWord,
    IdempotencyWord,
    IdentityWord,
    Preview,
    Settings,
)

__all__ = ["MARK", "key", "no_effect", "retry", "settings_of", "tool", "usd"]

F = TypeVar("F", bound=Callable[..., object])

MARK = "__harness_tool__"
"""Attribute of a decorated function that holds its settings."""


def tool(
    *,
    effect: EffectWord = Effect.WRITE,
    idempotency: IdempotencyWord = NO_IDEMPOTENCY,
    approval: ApprovalWord = Approval.NONE,
    timeout_s: float = DEFAULT_TIMEOUT_SECONDS,
    errors: Mapping[type[BaseException], ErrorRule] | None = None,
    retry: RetryRule = NO_RETRY,
    scope: str | Sequence[str] = (),
    identity: IdentityWord = Identity.SERVICE,
    data: Mapping[str, str] | None = None,
    cost: Cost | None = None,
    precondition: str = "",
    postcondition: str = "",
    preview: Preview = "",
    reconcile: Callable[..., object] | None = None,
    compensate: Callable[..., object] | None = None,
    inline: bool = False,
    name: str = "",
    description: str | None = None,
    result: object = UNSAID,
) -> Callable[[F], F]:
    """Mark a function as a tool; it stays the function that it is. What is wrong is said on registration.

    Each parameter is described at the field of `Settings` that has its name; what is not given is the strict value.
    """
    settings = Settings(
        effect=effect,
        idempotency=idempotency,
        approval=approval,
        timeout_s=timeout_s,
        errors=dict(errors or {}),
        retry=retry,
        scope=(scope,) if isinstance(scope, str) else tuple(scope),
        identity=identity,
        data=dict(data or {}),
        cost=cost,
        precondition=precondition,
        postcondition=postcondition,
        preview=preview,
        reconcile=reconcile,
        compensate=compensate,
        inline=inline,
        name=name,
        description=description,
        result=result,
    )

    def mark(function: F) -> F:
        setattr(function, MARK, settings)
        return function

    return mark


def settings_of(function: object) -> Settings | None:
    """The settings of a decorated function or method; None where it is not decorated."""
    found = getattr(function, MARK, None)
    return found if isinstance(found, Settings) else None


def key(argument: str) -> IdempotencyRule:
    """The caller names the operation in this argument: the same key never acts twice. Raises ValueError if empty."""
    return IdempotencyRule(Idempotency.KEY, argument)


def no_effect(*, retry: bool = False, hint: str = "") -> ErrorRule:
    """An error class after which nothing has happened outside; with `retry` the harness may try again."""
    return ErrorRule(no_effect=True, retry=retry, hint=hint)


def retry(attempts: int = 3, *, wait_s: float = 0.2, max_wait_s: float = 5.0) -> RetryRule:
    """Tries in all, seconds before the first repeat (doubling), and the longest wait. Raises ValueError."""
    if attempts < 1 or not 0 <= wait_s <= max_wait_s:
        raise ValueError("a retry has at least one attempt, and waits from `wait_s` up to `max_wait_s` seconds")
    return RetryRule(attempts, wait_s, max_wait_s)


def usd(amount: str | int | Decimal) -> Decimal:
    """Money, exact: `usd("0.002")`. Raises ValueError for what is no finite amount of zero or more."""
    try:
        value = Decimal(amount) if not isinstance(amount, float) else None
    except InvalidOperation:
        value = None
    if value is None or not value.is_finite() or value < 0:
        raise ValueError(f'`{amount!r}` is no amount of money; write it as text, `usd("0.002")`')
    return value
