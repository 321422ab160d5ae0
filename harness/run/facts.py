"""The facts that the expressions of a contract see of a live run, and the id of the environment it runs in."""

import platform
import sys
from collections.abc import Mapping
from functools import cache

from harness.core.budget import Amount
from harness.core.call import Json
from harness.core.canonical import digest
from harness.run.state import RunState

__all__ = ["environment_id", "run_facts"]


def run_facts(run: RunState, iteration: int, output: Json, checks: Mapping[str, Json]) -> dict[str, Json]:
    """What `success`, `stop`, `escalate` and checks may read, as of now."""
    effective = run.effective
    left = {name: _number(run.budget.remaining(name)) for name in effective.limits if ":" not in name}
    return {
        "output": output,
        "inputs": run.terms.inputs,
        "params": dict(effective.contract.params),
        "run": {"id": run.id, "iteration": iteration},
        "checks": checks,
        "budget": left,
        "principal": effective.principal.to_cel(),
    }


def _number(amount: Amount | None) -> Json:
    """Expressions know no exact decimals: money is a float there, and only there."""
    return amount if isinstance(amount, int | float) or amount is None else float(amount)


@cache
def environment_id(backend: str) -> str:
    """Short hex that differs where kernel, machine, Python or kind of box differ: what evidence was seen in."""
    uname = platform.uname()
    return digest([uname.system, uname.release, uname.machine, uname.node, sys.version, backend])[:16]
