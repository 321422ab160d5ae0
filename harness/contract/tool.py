"""The tool contract: a host function with its operational metadata, whatever source it comes from.

Not the binding to the function: that is the registry's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any

from harness.core.call import Approval, Effect, Idempotency
from harness.core.canonical import digest

__all__ = [
    "DEFAULT_TIMEOUT_SECONDS",
    "NO_IDEMPOTENCY",
    "NO_RETRY",
    "ErrorRule",
    "IdempotencyRule",
    "Identity",
    "RetryRule",
    "ToolContract",
]

DEFAULT_TIMEOUT_SECONDS = 30.0
"""A tool that says nothing gets half of the default wall limit of a run."""


class Identity(StrEnum):
    """Whose credentials a tool acts with."""

    SERVICE = "service"
    CALLER = "caller"


@dataclass(frozen=True, slots=True)
class IdempotencyRule:
    """Whether a call may be repeated, and what makes two calls the same."""

    kind: Idempotency
    argument: str = ""
    """Name of the argument that holds the key, for `key`; else empty."""

    def __str__(self) -> str:
        return f"key({self.argument})" if self.kind is Idempotency.KEY else self.kind.value


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """What a declared error class says of a call that raised it."""

    no_effect: bool
    """True: nothing happened; the call FAILED. False: its ending is unknown, where the tool has an effect."""
    retry: bool = False
    """The harness may try again, within `RetryRule` and only where repeating is safe."""
    hint: str = ""
    """For the snippet's author."""


@dataclass(frozen=True, slots=True)
class RetryRule:
    """How often, and after what pauses, the harness tries again."""

    attempts: int
    """All attempts, the first included; at least 1."""
    wait_s: float = 0.1
    """Seconds before the second attempt; doubles each time."""
    max_wait_s: float = 5.0
    """Seconds: the longest single pause."""


NO_IDEMPOTENCY = IdempotencyRule(Idempotency.NONE)
"""The strict value where a source says nothing."""
NO_RETRY = RetryRule(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContract:
    """The operational metadata of one tool. Every default is the strict value."""

    name: str
    """Wire name, as the source gives it; need not be an identifier."""
    input_schema: dict[str, Any]
    """JSON Schema 2020-12 of an object: the arguments by name."""
    description: str = ""
    """Purpose, for the stub's docstring."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema of the result in its JSON form; None where the source does not say."""
    effect: Effect = Effect.WRITE
    idempotency: IdempotencyRule = NO_IDEMPOTENCY
    approval: Approval = Approval.NONE
    """The tool's own wish; policy and contract may only be stricter."""
    timeout_s: float = DEFAULT_TIMEOUT_SECONDS
    """Seconds for one attempt."""
    errors: Mapping[str, ErrorRule] = field(default_factory=dict)
    """By class name of the error."""
    retry: RetryRule = NO_RETRY
    scope: tuple[str, ...] = ()
    """Arguments that a contract may bind or limit."""
    identity: Identity = Identity.SERVICE
    data: Mapping[str, str] = field(default_factory=dict)
    """Data class by field path of the result, `rows[].email`."""
    cost_usd: Decimal | None = None
    """Declared fixed cost of one call; None where there is none or it is reported."""
    reports_cost: bool = False
    """True where a function of the result says what the call used."""
    precondition: str = ""
    """CEL over `args`; empty for none."""
    postcondition: str = ""
    """CEL over `args` and `result`; empty for none."""
    preview: str = ""
    """Template over the arguments; empty where there is none, or a function."""
    has_preview: bool = False
    """True where a template or a function writes the preview."""
    has_reconcile: bool = False
    has_compensate: bool = False
    inline: bool = False
    """Quick and non-blocking: may run on the loop itself."""
    source: str = ""
    """Place of the definition, for conflicts; not part of the digest."""
    digest: str = field(init=False)
    """SHA-256 hex over the whole definition but `source`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", digest(self.definition()))

    @property
    def version(self) -> str:
        """The digest: a tool has no other version."""
        return self.digest

    @property
    def arguments(self) -> dict[str, Any]:
        """The schema of every argument, by name."""
        properties = self.input_schema.get("properties")
        return properties if isinstance(properties, dict) else {}

    def definition(self) -> dict[str, Any]:
        """Every field as JSON but `source` and `digest`: what the digest covers, what a conflict compares."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
            "effect": self.effect.value,
            "idempotency": str(self.idempotency),
            "approval": self.approval.value,
            "timeout_s": self.timeout_s,
            "errors": {name: [rule.no_effect, rule.retry, rule.hint] for name, rule in self.errors.items()},
            "retry": [self.retry.attempts, self.retry.wait_s, self.retry.max_wait_s],
            "scope": list(self.scope),
            "identity": self.identity.value,
            "data": dict(self.data),
            "cost_usd": None if self.cost_usd is None else str(self.cost_usd),
            "reports_cost": self.reports_cost,
            "precondition": self.precondition,
            "postcondition": self.postcondition,
            "preview": self.preview,
            "has_preview": self.has_preview,
            "has_reconcile": self.has_reconcile,
            "has_compensate": self.has_compensate,
            "inline": self.inline,
        }
