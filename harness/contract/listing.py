"""What a contract grants before anyone has named inputs: for descriptions and catalogues, never for a run."""

from dataclasses import replace

from harness.contract.effective import Effective
from harness.contract.filling import Filler, visible_schema
from harness.contract.grants import Grant
from harness.contract.references import Values

__all__ = ["listed_grants"]


def listed_grants(effective: Effective) -> dict[str, Grant]:
    """The grants by tool. What hangs on inputs that are not known is left out of limits; bound arguments are gone."""
    contract = effective.contract
    values = Values("run", {}, contract.params, effective.principal.to_cel())
    grants = Filler(contract, values).grants(effective.tools, effective.approvals)
    for said in contract.permissions.tools:
        grant = grants.get(said.tool)
        if grant is None:
            continue
        bound = {name: None for name, limits in said.scope.items() if limits.bind} | dict(grant.bound)
        schema = visible_schema(grant.tool.input_schema, frozenset(bound))
        grants[said.tool] = replace(grant, bound=bound, visible_schema=schema)
    return grants
