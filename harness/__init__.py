"""The harness in which model-written Python calls tools under an execution contract.

The public names are imported when they are first used, so that `import harness` stays quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.api import Harness
    from harness.contract.load import load_contract
    from harness.contract.principal import Principal
    from harness.core.ending import Outcome, ReasonCode
    from harness.core.errors import EnvironmentUnavailable, HarnessError, Refused
    from harness.executor.partial import Partial
    from harness.registry.decorator import key, no_effect, retry, tool, usd
    from harness.report import RunResult
    from harness.run.observation import Observation

__all__ = [
    "EnvironmentUnavailable",
    "Harness",
    "HarnessError",
    "Observation",
    "Outcome",
    "Partial",
    "Principal",
    "ReasonCode",
    "Refused",
    "RunResult",
    "key",
    "load_contract",
    "no_effect",
    "retry",
    "tool",
    "usd",
]

_HOMES = {
    "EnvironmentUnavailable": "harness.core.errors",
    "Harness": "harness.api",
    "HarnessError": "harness.core.errors",
    "Observation": "harness.run.observation",
    "Outcome": "harness.core.ending",
    "Partial": "harness.executor.partial",
    "Principal": "harness.contract.principal",
    "ReasonCode": "harness.core.ending",
    "Refused": "harness.core.errors",
    "RunResult": "harness.report",
    "key": "harness.registry.decorator",
    "load_contract": "harness.contract.load",
    "no_effect": "harness.registry.decorator",
    "retry": "harness.registry.decorator",
    "tool": "harness.registry.decorator",
    "usd": "harness.registry.decorator",
}


def __getattr__(name: str) -> Any:
    """Import a public name from its home on first use."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module `harness` has no attribute `{name}`")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value
