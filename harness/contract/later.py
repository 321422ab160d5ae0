"""What contracts may say and this version does not execute yet: one row each. A run with one of them is refused."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness.contract.model import Contract
from harness.contract.policy import Policy
from harness.contract.words import FILE, Form
from harness.core.budget import Metered
from harness.core.errors import Fault

__all__ = ["LATER", "LATER_POLICY", "NOT_AVAILABLE", "Later", "LaterPolicy", "unavailable_faults"]


NOT_AVAILABLE = "not_available"
"""The code of what is right and not executed yet."""


@dataclass(frozen=True, slots=True)
class Later:
    """One thing that is read, typed, and not executed."""

    name: str
    keys: Callable[[Contract], Iterator[str]]
    """The keys of a contract that ask for it."""
    hint: str
    verb: str = "are"


def _destinations(contract: Contract) -> Iterator[str]:
    for index, each in enumerate(contract.destination):
        if each.kind != FILE or each.format not in (Form.JSON, Form.JSONL):
            yield f"destination[{index}]"


def _notifications(contract: Contract) -> Iterator[str]:
    yield from (f"destination[{index}].notify" for index, each in enumerate(contract.destination) if each.notify)


def _retention(contract: Contract) -> Iterator[str]:
    for index, each in enumerate(contract.destination):
        if each.retention is not None:
            yield f"destination[{index}].retention"


def _children(contract: Contract) -> Iterator[str]:
    for index, each in enumerate(contract.permissions.tools):
        if each.contract:
            yield f"permissions.tools[{index}].contract"


def _output_model(contract: Contract) -> Iterator[str]:
    if contract.output.model:
        yield "output.model"


LATER: tuple[Later, ...] = (
    Later("this kind of destination", _destinations, "write `file:PATH` with the format json or jsonl", "is"),
    Later("notifications", _notifications, "leave `notify` out"),
    Later("retention", _retention, "leave `retention` out, and remove files yourself", "is"),
    Later("contracts as tools outside a host", _children, "bind the contract through `Harness`"),
    Later("output models", _output_model, "write `schema:`"),
)


@dataclass(frozen=True, slots=True)
class LaterPolicy:
    """One rule of policies that is read, typed, and not executed: silence would loosen it."""

    name: str
    key: str
    is_stated: Callable[[Policy], bool]


LATER_POLICY: tuple[LaterPolicy, ...] = (
    LaterPolicy(
        "proxied models", "metered", lambda policy: any(ways == (Metered.PROXIED,) for ways in policy.metered.values())
    ),
    LaterPolicy("masks of unlabelled fields", "mask_unlabelled", lambda policy: policy.mask_unlabelled),
)


def unavailable_faults(contract: Contract, policy: Policy) -> tuple[Fault, ...]:
    """Everything that a contract or its policy asks for and this version does not execute."""
    asked = [
        Fault(NOT_AVAILABLE, f"`{key}`: {row.name} {row.verb} not available yet", row.hint, contract.place(key))
        for row in LATER
        for key in row.keys(contract)
    ]
    asked += [
        Fault(
            NOT_AVAILABLE,
            f"`{rule.key}` of the policy: {rule.name} are not available yet",
            "leave it out of the policy",
            policy.place(rule.key),
        )
        for rule in LATER_POLICY
        if rule.is_stated(policy)
    ]
    return tuple(asked)
