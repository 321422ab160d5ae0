"""From a document to an effective contract in one step: shape, rules, tools, policy and claims are all looked at, and
every fault of all of them is told at once."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.contract.effective import Effective, bind, claim_faults
from harness.contract.faults import refusal
from harness.contract.later import NOT_AVAILABLE, unavailable_faults
from harness.contract.load import inspect_contract
from harness.contract.model import Contract
from harness.contract.narrowing import policy_faults
from harness.contract.policy import Policy
from harness.contract.principal import Principal
from harness.contract.tool import ToolContract
from harness.core.errors import Fault

__all__ = ["bind_source"]


def bind_source(
    source: Contract | Path | str | Mapping[str, Any],
    policy: Policy,
    principal: Principal,
    tools: Mapping[str, ToolContract],
) -> Effective:
    """Load and bind. Raises ContractRefused with every fault of document, tools, policy and principal together."""
    if isinstance(source, Contract):
        return bind(source, policy, principal, tools)

    def further(contract: Contract) -> Iterable[Fault]:
        yield from policy_faults(contract, policy, principal, tools)
        yield from claim_faults(contract, principal)
        yield from unavailable_faults(contract, policy)

    contract, faults = inspect_contract(source, tools, further)
    if contract is None or any(fault.code != NOT_AVAILABLE for fault in faults):
        raise refusal(faults)
    return bind(contract, policy, principal, tools)
