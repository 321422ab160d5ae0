"""The effective contract: a contract under a policy, for a principal, over a tool surface; and its terms for one run.

Binding narrows: the strictest approval, the ceiling where nothing is stated, and a refusal with both numbers where
what is stated lies above it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.contract.expression import Predicate, compile_predicate
from harness.contract.facts_env import inputs_schema, run_env
from harness.contract.grants import Constraint, ConstraintKind, DestinationTerms, Grant, NotifyTerms
from harness.contract.later import unavailable_faults
from harness.contract.model import Contract, contract_digest
from harness.contract.policy import Policy
from harness.contract.principal import Principal
from harness.contract.references import MissingReference, Values, fill
from harness.contract.rules import contract_faults
from harness.contract.schema import Validator, compile_schema
from harness.contract.scope import Limits
from harness.contract.sections import ToolGrant
from harness.contract.tool import ToolContract
from harness.contract.words import Language
from harness.core.budget import Amount, Dimension, tool_calls
from harness.core.call import Approval, Json
from harness.core.errors import ContractRefused, Fault, Place

__all__ = ["Constraint", "ConstraintKind", "DestinationTerms", "Effective", "Grant", "NotifyTerms", "Terms", "bind"]


@dataclass(frozen=True, slots=True)
class Effective:
    """What a contract comes to here. Holds for any number of runs."""

    contract: Contract
    digest: str
    """SHA-256 hex of the contract's canonical form."""
    policy: Policy
    principal: Principal
    tools: Mapping[str, ToolContract]
    """The listed ones."""
    limits: Mapping[str, Amount]
    """Every dimension, and `calls:TOOL` where a grant states one."""
    approvals: Mapping[str, Approval]
    """By tool: the strictest of policy, tool and contract."""
    language: Language
    imports: tuple[str, ...]
    success: Predicate
    output_validator: Validator
    inputs_validator: Validator
    unavailable: tuple[Fault, ...] = ()
    """What it says and this version does not execute."""
    grants_by_tool: Mapping[str, ToolGrant] = field(default_factory=dict)

    def for_run(self, run_id: str, inputs: Mapping[str, Json]) -> "Terms":
        """The terms of one run. Raises ContractRefused where the inputs do not fit, or narrow a scope to nothing."""
        faults = [
            Fault("bad_input", f"the input {each.path.replace('$', 'inputs', 1)}: {each.message}")
            for each in self.inputs_validator.faults(dict(inputs))
        ]
        if faults:
            raise ContractRefused(faults)
        principal = {"name": self.principal.name, **self.principal.claims}
        values = Values(run_id, dict(inputs), dict(self.contract.params), principal)
        filled = _Filled(self, values)
        grants = {name: filled.grant(name, grant) for name, grant in self.grants_by_tool.items()}
        destinations = filled.destinations()
        if filled.faults:
            raise ContractRefused(filled.faults)
        return Terms(self, run_id, dict(inputs), grants, destinations)


@dataclass(frozen=True, slots=True)
class Terms:
    """An effective contract with the references of one run filled in; secrets are still references."""

    effective: Effective
    run: str
    inputs: Mapping[str, Json]
    grants: Mapping[str, Grant]
    destinations: tuple[DestinationTerms, ...]


def bind(contract: Contract, policy: Policy, principal: Principal, tools: Mapping[str, ToolContract]) -> Effective:
    """Bind a contract. Raises ContractRefused with every fault."""
    faults = [
        *contract_faults(contract, tools),
        *_ceiling_faults(contract, policy),
        *_permission_faults(contract, policy, tools),
        *_sandbox_faults(contract, policy),
        *_destination_faults(contract, policy),
        *_caller_faults(contract, policy, principal),
        *_reference_faults(contract, principal),
    ]
    if faults:
        raise ContractRefused(list(dict.fromkeys(faults)))
    grants = {grant.tool: grant for grant in contract.permissions.tools if grant.tool}
    return Effective(
        contract=contract,
        digest=contract_digest(contract),
        policy=policy,
        principal=principal,
        tools={name: tools[name] for name in grants},
        limits=_limits(contract, policy),
        approvals={name: _approval(tools[name], grant, policy) for name, grant in grants.items()},
        language=contract.sandbox.language or policy.languages[0],
        imports=contract.sandbox.imports if contract.sandbox.imports is not None else policy.imports,
        success=compile_predicate(contract.completion.success, run_env(contract)),
        output_validator=compile_schema(contract.output.schema_),
        inputs_validator=compile_schema(inputs_schema(contract)),
        unavailable=unavailable_faults(contract),
        grants_by_tool=grants,
    )


def _approval(tool: ToolContract, grant: ToolGrant, policy: Policy) -> Approval:
    return max(policy.approval_for(tool), tool.approval, grant.approval, key=lambda each: each.strictness)


# --- policy --------------------------------------------------------------------------------------------------


def _limits(contract: Contract, policy: Policy) -> dict[str, Amount]:
    limits: dict[str, Amount] = {}
    for dimension in Dimension:
        stated = getattr(contract.budget, dimension.value)
        limits[dimension.value] = stated if stated is not None else policy.ceilings.limit(dimension)
    if contract.budget.disk_mb is None:
        limits["disk_mb"] = max(1, min(int(limits["disk_mb"]), int(limits["memory_mb"]) // 4))
    for grant in contract.permissions.tools:
        if grant.tool and grant.calls is not None:
            limits[tool_calls(grant.tool)] = grant.calls
    return limits


def _ceiling_faults(contract: Contract, policy: Policy) -> Iterator[Fault]:
    for dimension in Dimension:
        stated, ceiling = getattr(contract.budget, dimension.value), policy.ceilings.limit(dimension)
        if stated is not None and stated > ceiling:
            said = f"`{dimension}` is {stated}, and the policy `{policy.policy}` allows {ceiling}"
            place = contract.place(f"budget.{dimension}")
            yield Fault("above_ceiling", said, f"state {ceiling} or less, or leave it out", place)


def _permission_faults(contract: Contract, policy: Policy, tools: Mapping[str, ToolContract]) -> Iterator[Fault]:
    for index, grant in enumerate(contract.permissions.tools):
        place = contract.place(f"permissions.tools[{index}]")
        tool = tools.get(grant.tool)
        if tool is None:
            continue
        if not policy.allows_tool(tool):
            said = f"the policy `{policy.policy}` does not let a contract list `{tool.name}` ({tool.effect})"
            yield Fault("tool_not_allowed", said, "leave it out, or ask the platform team", place)
        if _approval(tool, grant, policy) is Approval.ALWAYS and not tool.has_preview:
            said = f"`{tool.name}` asks a person every time, and has no written preview"
            yield Fault("no_preview", said, "give the tool a `preview`", place)


def _sandbox_faults(contract: Contract, policy: Policy) -> Iterator[Fault]:
    sandbox = contract.sandbox
    if sandbox.language is not None and sandbox.language not in policy.languages:
        said = f"the policy `{policy.policy}` does not allow the language `{sandbox.language}`"
        allowed = ", ".join(f"`{each}`" for each in policy.languages)
        yield Fault("language_not_allowed", said, f"one of {allowed}", contract.place("sandbox.language"))
    for index, module in enumerate(sandbox.imports or ()):
        if module not in policy.imports:
            said = f"the policy `{policy.policy}` does not let a contract import `{module}`"
            hint = f"there are: {', '.join(policy.imports)}"
            yield Fault("import_not_allowed", said, hint, contract.place(f"sandbox.imports[{index}]"))
    if sandbox.backend and sandbox.backend not in {each.value for each in policy.backends}:
        said = f"the policy `{policy.policy}` does not allow the backend `{sandbox.backend}`"
        yield Fault("backend_not_allowed", said, "leave it out", contract.place("sandbox.backend"))
    if sandbox.runtime and sandbox.runtime not in policy.runtimes:
        said = f"the policy `{policy.policy}` does not allow the runtime `{sandbox.runtime}`"
        yield Fault("runtime_not_allowed", said, "leave it out", contract.place("sandbox.runtime"))
    if sandbox.image and sandbox.image not in policy.images:
        said = f"the policy `{policy.policy}` does not allow the image `{sandbox.image}`"
        yield Fault("image_not_allowed", said, "leave it out", contract.place("sandbox.image"))


def _destination_faults(contract: Contract, policy: Policy) -> Iterator[Fault]:
    for index, destination in enumerate(contract.destination):
        if not policy.allows_destination(destination.to, destination.kind):
            said = f"the policy `{policy.policy}` does not allow the destination `{destination.to}`"
            hint = f"there are: {', '.join(policy.destinations)}"
            yield Fault("destination_not_allowed", said, hint, contract.place(f"destination[{index}].to"))


def _caller_faults(contract: Contract, policy: Policy, principal: Principal) -> Iterator[Fault]:
    allowed = policy.callers.get(contract.contract)
    if allowed is not None and principal.name not in allowed:
        said = f"`{principal.name}` may not run the contract `{contract.contract}`"
        yield Fault("caller_not_allowed", said, "ask the platform team", contract.place("contract"))


def _reference_faults(contract: Contract, principal: Principal) -> Iterator[Fault]:
    """References to params and claims that name nothing; inputs are known only at a run."""
    known = {"name": principal.name, **principal.claims}
    values = Values("run", _Anything(), dict(contract.params), known)
    for index, grant in enumerate(contract.permissions.tools):
        for argument, limits in grant.scope.items():
            try:
                fill([value for _kind, value in limits.rules], values)
            except MissingReference as missing:
                place = contract.place(f"permissions.tools[{index}].scope.{argument}")
                yield Fault("missing_reference", str(missing), "give the claim in the policy, or a literal", place)


class _Anything(dict[str, Any]):
    """Inputs that are not known yet: every name is there."""

    def __contains__(self, name: object) -> bool:
        return True

    def __getitem__(self, name: str) -> Any:
        return "input"


# --- one run -------------------------------------------------------------------------------------------------


class _Filled:
    """Fills references in; what cannot be filled is collected."""

    def __init__(self, effective: Effective, values: Values) -> None:
        self._effective = effective
        self._values = values
        self.faults: list[Fault] = []

    def grant(self, name: str, written: ToolGrant) -> Grant:
        """The grant of a tool for this run."""
        tool = self._effective.tools[name]
        bound: dict[str, Json] = {}
        limits: list[Constraint] = []
        for argument, said in written.scope.items():
            for kind, value in self._rules(name, argument, said):
                if said.bind:
                    bound[argument] = value
                else:
                    limits.append(Constraint(argument, kind, value))
        allowed = set(self._effective.contract.permissions.data_classes)
        return Grant(
            tool=tool,
            bound=bound,
            limits=tuple(limits),
            calls=written.calls,
            approval=self._effective.approvals[name],
            visible_schema=_visible(tool.input_schema, frozenset(bound)),
            masks=frozenset(tool.data.values()) - allowed,
        )

    def _rules(self, tool: str, argument: str, said: Limits) -> list[tuple[ConstraintKind, Json]]:
        try:
            return [(kind, fill(value, self._values)) for kind, value in said.rules]
        except MissingReference as missing:
            self.faults.append(Fault("missing_reference", f"the scope of `{tool}.{argument}`: {missing}"))
            return []

    def destinations(self) -> tuple[DestinationTerms, ...]:
        """Where this run's result goes."""
        found = []
        for index, each in enumerate(self._effective.contract.destination):
            place = self._effective.contract.place(f"destination[{index}].to")
            url = self._text(each.to, place)
            notify = tuple(
                NotifyTerms(
                    self._text(note.webhook or note.bus, place),
                    "webhook" if note.webhook else "bus",
                    frozenset(str(wish) for wish in note.on),
                )
                for note in each.notify
            )
            found.append(DestinationTerms(url, each.format.value, each.retention, notify))
        return tuple(found)

    def _text(self, text: str, place: Place) -> str:
        try:
            return str(fill(text, self._values, segments=True))
        except MissingReference as missing:
            self.faults.append(Fault("missing_reference", str(missing), "", place))
            return ""


def _visible(schema: Mapping[str, Any], bound: frozenset[str]) -> dict[str, Any]:
    """The input schema without the bound arguments."""
    if not bound:
        return dict(schema)
    properties = {name: each for name, each in schema.get("properties", {}).items() if name not in bound}
    required = [name for name in schema.get("required", ()) if name not in bound]
    return {**schema, "properties": properties, "required": required}
