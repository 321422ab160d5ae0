"""What must hold inside one contract, beyond its shape: schemas, references, ids, expressions; with tools, also scopes.

Every fault is found in one pass, each with its place.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from harness.contract.expression import Gives, expression_faults
from harness.contract.facts_env import RESERVED_CHECK_ID, check_env, inputs_schema, run_env
from harness.contract.faults import nearest
from harness.contract.model import Contract
from harness.contract.references import Root, references
from harness.contract.schema import schema_faults
from harness.contract.sections import Check
from harness.contract.tool import ToolContract
from harness.contract.tool_rules import tool_faults
from harness.contract.words import FILE
from harness.core.call import Json
from harness.core.errors import Fault

__all__ = ["contract_faults"]

_WHOLE = {
    Root.RUN: "`${run.id}`",
    Root.INPUTS: "`${inputs.NAME}`",
    Root.PARAMS: "`${params.NAME}`",
    Root.PRINCIPAL: "`${principal.CLAIM}`",
    Root.SECRET: "`${secret:NAME}`",
}
_FACTS = (Root.RUN, Root.INPUTS, Root.PARAMS, Root.PRINCIPAL)
HELD_BY_PERMISSIONS = "permissions"


def contract_faults(contract: Contract, tools: Mapping[str, ToolContract] | None = None) -> list[Fault]:
    """Every fault of a contract; with `tools`, of its grants and checks against them too."""
    schemas = list(_schema_faults(contract))
    faults = [*schemas, *_id_faults(contract), *_non_goal_faults(contract), *_destination_faults(contract)]
    faults += _reference_faults(contract)
    if not schemas:
        faults += _expression_faults(contract, tools)
    if tools is not None:
        faults += tool_faults(contract, tools)
    return faults


def _schema_faults(contract: Contract) -> Iterator[Fault]:
    if contract.output.schema_ is not None:
        yield from schema_faults(contract.output.schema_, contract.place("output.schema"))
    if contract.inputs is not None:
        place = contract.place("inputs")
        yield from schema_faults(inputs_schema(contract), place)
        if contract.inputs.get("type", "object") != "object":
            yield Fault("bad_schema", "the inputs are not an object", "write `type: object`", place)


def _checks(contract: Contract) -> Iterator[tuple[str, Check]]:
    """Every check with its key."""
    for kind in ("preconditions", "invariants", "postconditions"):
        for index, check in enumerate(getattr(contract.checks, kind)):
            yield f"checks.{kind}[{index}]", check


def _id_faults(contract: Contract) -> Iterator[Fault]:
    counts = Counter(check.id for _key, check in _checks(contract))
    listed = {grant.tool for grant in contract.permissions.tools}
    for key, check in _checks(contract):
        place = contract.place(f"{key}.id")
        if check.id == RESERVED_CHECK_ID:
            yield Fault("reserved_id", "the check id `passed` is taken", "`checks.passed` means all checks", place)
        if counts[check.id] > 1:
            yield Fault("duplicate_id", f"two checks have the id `{check.id}`", "give each its own", place)
        if check.require != "all":
            wanted, of = (int(each) for each in check.require.split(" of "))
            if of != check.repeat or wanted > of:
                said = f"`{check.require}` does not go with `repeat: {check.repeat}`"
                hint = f"write `K of {check.repeat}`"
                yield Fault("bad_requirement", said, hint, contract.place(f"{key}.require"))
        if check.guards and ".invariants[" not in key:
            hint = "move it to `checks.invariants`"
            yield Fault("bad_guard", "only an invariant guards tools", hint, contract.place(f"{key}.guards"))
        for tool in check.guards:
            if tool not in listed:
                hint = nearest(tool, listed, of="listed tools")
                said = f"the guarded tool `{tool}` is not in `permissions`"
                yield Fault("unlisted_tool", said, hint, contract.place(f"{key}.guards"))


def _non_goal_faults(contract: Contract) -> Iterator[Fault]:
    holders = {check.id for _key, check in _checks(contract)} | {HELD_BY_PERMISSIONS}
    for index, non_goal in enumerate(contract.non_goals):
        if non_goal.held_by and non_goal.held_by not in holders:
            said = f"`{non_goal.held_by}` is no check of this contract"
            hint = nearest(non_goal.held_by, holders, of="what can hold it")
            yield Fault("non_goal_not_held", said, hint, contract.place(f"non_goals[{index}].held_by"))


def _destination_faults(contract: Contract) -> Iterator[Fault]:
    counts = Counter(each.to for each in contract.destination)
    for index, destination in enumerate(contract.destination):
        place = contract.place(f"destination[{index}].to")
        shown = destination.to[:120]
        if not destination.kind:
            hint = "write `file:results/${run.id}.json`"
            yield Fault("bad_destination", f"`{shown}` is no URL", hint, place)
        if counts[destination.to] > 1:
            yield Fault("bad_destination", f"`{shown}` stands twice", "keep one of them", place)
        if destination.kind == FILE:
            path = re.sub(r"\$\{[^}]*\}", "x", destination.to.partition(":")[2])
            if path.startswith("/") or "\\" in path or "\x00" in path or ".." in path.split("/"):
                said = f"`{shown}` leads outside the host's folder"
                yield Fault("bad_destination", said, "write a path below it, without `..`", place)
            elif not path or path.endswith("/"):
                yield Fault("bad_destination", f"`{shown}` names no file", "add the file's name", place)
            if any(each.root is Root.SECRET for each in references(destination.to)):
                hint = "take it out of the path"
                yield Fault("secret_misplaced", "a secret would stand in a file's name", hint, place)


# --- references ------------------------------------------------------------------------------------------------


def _reference_places(contract: Contract) -> Iterator[tuple[str, Json, tuple[Root, ...]]]:
    """Every place that may hold references, with those that it takes."""
    for index, grant in enumerate(contract.permissions.tools):
        for argument, limits in grant.scope.items():
            taken = (Root.PARAMS, Root.PRINCIPAL) if limits.bind else (Root.PARAMS, Root.PRINCIPAL, Root.INPUTS)
            yield f"permissions.tools[{index}].scope.{argument}", [value for _kind, value in limits.rules], taken
    for index, destination in enumerate(contract.destination):
        yield f"destination[{index}].to", destination.to, (*_FACTS, Root.SECRET)
        for number, notify in enumerate(destination.notify):
            where = "webhook" if notify.webhook else "bus"
            url = notify.webhook or notify.bus
            yield f"destination[{index}].notify[{number}].{where}", url, (*_FACTS, Root.SECRET)
    for key, check in _checks(contract):
        yield f"{key}.args", check.args, _FACTS
    for index, escalation in enumerate(contract.escalate):
        yield f"escalate[{index}].ask", escalation.ask, _FACTS


def _reference_faults(contract: Contract) -> Iterator[Fault]:
    known = inputs_schema(contract).get("properties")
    inputs = known if isinstance(known, Mapping) else {}
    for key, value, taken in _reference_places(contract):
        place = contract.place(key)
        for reference in dict.fromkeys(references(value)):
            shown = reference.text[:80]
            if reference.root is Root.BAD:
                hint = f"there are {', '.join(_WHOLE[root] for root in taken)}; `$${{` is a literal"
                yield Fault("bad_reference", f"`{shown}` is no reference", hint, place)
            elif reference.root not in taken:
                hint = f"this place takes {', '.join(_WHOLE[root] for root in taken)}"
                yield Fault("reference_misplaced", f"`{shown}` may not stand here", hint, place)
            elif reference.root is Root.INPUTS and inputs and reference.path[0] not in inputs:
                hint = nearest(reference.path[0], inputs, of="inputs")
                yield Fault("bad_reference", f"`{shown}` names no input", hint, place)
            elif reference.root is Root.INPUTS and contract.inputs is None:
                yield Fault("bad_reference", f"`{shown}` names no input", "declare it under `inputs`", place)
            elif reference.root is Root.PARAMS and reference.path[0] not in contract.params:
                hint = nearest(reference.path[0], contract.params, of="params")
                yield Fault("bad_reference", f"`{shown}` names no param", hint, place)


# --- expressions -----------------------------------------------------------------------------------------------


def _expression_faults(contract: Contract, tools: Mapping[str, ToolContract] | None) -> Iterator[Fault]:
    env = run_env(contract)
    completion = contract.completion
    yield from expression_faults(completion.success, env, contract.place("completion.success"))
    for index, stop in enumerate(completion.stop):
        key = f"completion.stop[{index}]"
        if stop.when:
            yield from expression_faults(stop.when, env, contract.place(f"{key}.when"))
        if stop.stalled is not None:
            place = contract.place(f"{key}.stalled.measure")
            yield from expression_faults(stop.stalled.measure, env, place, Gives.NUMBER)
    for index, escalation in enumerate(contract.escalate):
        yield from expression_faults(escalation.when, env, contract.place(f"escalate[{index}].when"))
    for key, check in _checks(contract):
        tool = (tools or {}).get(check.tool)
        result = tool.output_schema if tool is not None else None
        env_of_check = check_env(contract, result, check.args) if check.tool else env
        yield from expression_faults(check.expect, env_of_check, contract.place(f"{key}.expect"))
