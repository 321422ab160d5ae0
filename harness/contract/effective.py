"""The effective contract: a contract under a policy, for a principal, over a tool surface; and its terms for one run.

Binding narrows: the strictest approval, the ceiling where nothing is stated, and a refusal with both numbers where
what is stated lies above it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from harness.contract.completion_terms import (
    CheckRule,
    EscalationRule,
    StopRule,
    check_rules,
    escalation_rules,
    filled,
    stop_rules,
)
from harness.contract.expression import Predicate, compile_predicate
from harness.contract.facts_env import inputs_schema, run_env
from harness.contract.faults import refusal
from harness.contract.filling import Filler
from harness.contract.grants import Constraint, ConstraintKind, DestinationTerms, Grant, NotifyTerms
from harness.contract.later import unavailable_faults
from harness.contract.model import Contract, contract_digest
from harness.contract.narrowing import narrowed_limits, policy_faults, strictest
from harness.contract.policy import Policy
from harness.contract.principal import Principal
from harness.contract.references import MissingReference, Root, Values, fill, references
from harness.contract.rules import contract_faults
from harness.contract.schema import Validator, compile_schema
from harness.contract.tool import ToolContract
from harness.contract.words import Language
from harness.core.budget import Amount
from harness.core.call import Approval, Json
from harness.core.canonical import canonical
from harness.core.errors import Fault, HostileInput

__all__ = [
    "Constraint",
    "ConstraintKind",
    "DestinationTerms",
    "Effective",
    "Grant",
    "NotifyTerms",
    "Terms",
    "bind",
    "claim_faults",
]

MAX_INPUT_FAULTS = 20
"""So many faults of the inputs one refusal lists."""


@dataclass(frozen=True, slots=True)
class Effective:
    """What a contract comes to here. Made by `bind`; holds for any number of runs."""

    contract: Contract
    stated: Json
    """The contract as it was stated, in plain JSON: what every run of it stores."""
    digest: str
    """SHA-256 hex of the contract's canonical form."""
    policy: Policy
    principal: Principal
    tools: Mapping[str, ToolContract]
    """The listed ones, by wire name."""
    limits: Mapping[str, Amount]
    """Every dimension, and `calls:TOOL` where a grant states one; named and measured as in `harness.core.budget`."""
    approvals: Mapping[str, Approval]
    """By tool: the strictest of policy, tool and contract."""
    language: Language
    imports: tuple[str, ...]
    """Modules that the snippet may import."""
    backends: tuple[str, ...]
    """Backends that may run it: the stated one, else those of the policy."""
    success: Predicate
    stops: tuple[StopRule, ...]
    """In the order in which they are written."""
    checks: tuple[CheckRule, ...]
    """All of them, in the order in which they are written; their arguments may still hold references."""
    escalations: tuple[EscalationRule, ...]
    output_validator: Validator
    inputs_validator: Validator
    unavailable: tuple[Fault, ...]
    """What contract or policy say and this version does not execute; a run is refused where there is any."""

    def for_run(self, run_id: str, inputs: Mapping[str, Json]) -> "Terms":
        """The terms of one run. Raises ContractRefused where the inputs do not fit, or lead outside a scope."""
        given = {**_defaults(self.contract), **inputs}
        faults = _input_faults(given, self.inputs_validator)
        if faults:
            raise refusal(faults)
        values = Values(run_id, given, self.contract.params, self.principal.to_cel())
        filler = Filler(self.contract, values)
        grants = filler.grants(self.tools, self.approvals)
        destinations = filler.destinations()
        checks = tuple(filled(self.checks, self.contract, values, filler.faults))
        if filler.faults:
            raise refusal(filler.faults)
        return Terms(run_id, given, grants, destinations, self, checks)


@dataclass(frozen=True, slots=True)
class Terms:
    """An effective contract with the references of one run filled in; secrets are still references."""

    run: str
    """Id of the run."""
    inputs: Mapping[str, Json]
    """What the caller passed, with the schema's defaults."""
    grants: Mapping[str, Grant]
    """By wire name."""
    destinations: tuple[DestinationTerms, ...]
    effective: Effective
    checks: tuple[CheckRule, ...] = ()
    """Those of the contract, their arguments filled in."""


def bind(contract: Contract, policy: Policy, principal: Principal, tools: Mapping[str, ToolContract]) -> Effective:
    """Bind a contract. Raises ContractRefused with every fault; what is not executed yet stands in `unavailable`."""
    try:
        digest = contract_digest(contract)
    except HostileInput as error:
        raise refusal([Fault("not_json", f"a value has no JSON form: {error.message}")]) from None
    faults = [
        *contract_faults(contract, tools),
        *policy_faults(contract, policy, principal, tools),
        *claim_faults(contract, principal),
    ]
    if faults:
        raise refusal(faults)
    env = run_env(contract)
    grants = [grant for grant in contract.permissions.tools if grant.tool]
    output = contract.output.schema_
    return Effective(
        contract=contract,
        stated=json.loads(canonical(contract.stated())),
        digest=digest,
        policy=policy,
        principal=principal,
        tools={grant.tool: tools[grant.tool] for grant in grants},
        limits=narrowed_limits(contract, policy),
        approvals={grant.tool: strictest(tools[grant.tool], grant, policy) for grant in grants},
        language=contract.sandbox.language or policy.languages[0],
        imports=contract.sandbox.imports if contract.sandbox.imports is not None else policy.imports,
        backends=(contract.sandbox.backend,) if contract.sandbox.backend else policy.backends,
        success=compile_predicate(contract.completion.success, env),
        stops=stop_rules(contract),
        checks=check_rules(contract, tools),
        escalations=escalation_rules(contract),
        output_validator=compile_schema(output if output is not None else True),
        inputs_validator=compile_schema(inputs_schema(contract)),
        unavailable=unavailable_faults(contract, policy),
    )


def _defaults(contract: Contract) -> dict[str, Json]:
    """The stated defaults of inputs."""
    properties = inputs_schema(contract).get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {
        name: each["default"] for name, each in properties.items() if isinstance(each, Mapping) and "default" in each
    }


def _input_faults(inputs: Mapping[str, Json], validator: Validator) -> list[Fault]:
    try:
        canonical(inputs)
    except HostileInput as error:
        return [Fault("bad_input", f"the inputs have no JSON form: {error.message}", "pass JSON values")]
    if validator.ok(dict(inputs)):
        return []
    faults = [
        Fault("bad_input", f"`{each.path.replace('$', 'inputs', 1)}`: {each.message}", "see `inputs` of the contract")
        for each in validator.faults(dict(inputs))[:MAX_INPUT_FAULTS]
    ]
    return faults or [Fault("bad_input", "the inputs do not fit their schema", "see `inputs` of the contract")]


def claim_faults(contract: Contract, principal: Principal) -> list[Fault]:
    """References to claims and params that name nothing; inputs are known only at a run."""
    values = Values("run", {}, contract.params, principal.to_cel())
    faults: list[Fault] = []
    for index, grant in enumerate(contract.permissions.tools):
        for argument, limits in grant.scope.items():
            place = contract.place(f"permissions.tools[{index}].scope.{argument}")
            for reference in references([value for _kind, value in limits.rules]):
                if reference.root not in (Root.PRINCIPAL, Root.PARAMS):
                    continue
                try:
                    fill(reference.text, values)
                except MissingReference as missing:
                    hint = f"the principal `{principal.name}` needs the claim, see `claims` of the policy"
                    faults.append(Fault("missing_reference", str(missing), hint, place))
    return faults
