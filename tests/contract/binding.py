"""What the tests of binding share."""

from typing import Any

from harness.contract.effective import Effective, bind
from harness.contract.load import load_contract, load_policy
from harness.contract.policy import BUILT_IN, Policy
from harness.contract.principal import Principal
from tests.contract.making import ANN, TOOLS, document, faults_of


def policy(**over: Any) -> Policy:
    """The built-in policy with some keys changed."""
    return load_policy({"policy": "p", "version": 1, **over})


def bound(values: dict | None = None, rules: Policy = BUILT_IN, principal: Principal = ANN, **tools: Any) -> Effective:
    """The small contract, bound."""
    return bind(load_contract(values or document()), rules, principal, {**TOOLS, **tools})


def refused(values: dict | None = None, rules: Policy = BUILT_IN, principal: Principal = ANN) -> list[tuple[str, str]]:
    """Codes and keys of a binding that must be refused."""
    faults = faults_of(bound, values, rules, principal)
    return [(fault.code, fault.place.key) for fault in faults]
