"""A contract against the tools of a host: are they there, do the scopes fit their arguments, do checks only read?"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from harness.contract.faults import nearest
from harness.contract.grants import ConstraintKind
from harness.contract.model import Contract
from harness.contract.references import references
from harness.contract.schema import compile_schema
from harness.contract.scope import Limits, is_closed
from harness.contract.sections import Check, ToolGrant
from harness.contract.shape import shape_of
from harness.contract.tool import ToolContract
from harness.core.call import Effect, Json
from harness.core.canonical import canonical
from harness.core.errors import ContractRefused, Fault, Place

__all__ = ["argument_schema", "limit_faults", "tool_faults"]

_TEXT_KINDS = ("string", "array", "")
_NUMBER_KINDS = ("integer", "number", "string", "array", "")


def tool_faults(contract: Contract, tools: Mapping[str, ToolContract]) -> list[Fault]:
    """Every fault of grants and checks that shows only beside the tools."""
    faults: list[Fault] = []
    counts = Counter(grant.name for grant in contract.permissions.tools)
    for index, grant in enumerate(contract.permissions.tools):
        key = f"permissions.tools[{index}]"
        if counts[grant.name] > 1:
            said = f"`{grant.name}` is listed twice"
            faults.append(Fault("duplicate_tool", said, "put both into one entry", contract.place(key)))
        if grant.tool and grant.tool not in tools:
            faults.append(_unregistered(grant.tool, tools, contract.place(f"{key}.tool")))
        elif grant.tool:
            faults += _scope_faults(contract, key, grant, tools[grant.tool])
    for kind in ("preconditions", "invariants", "postconditions"):
        for index, check in enumerate(getattr(contract.checks, kind)):
            if check.tool:
                faults += _check_faults(contract, f"checks.{kind}[{index}]", check, tools)
    return faults


def _unregistered(name: str, tools: Mapping[str, ToolContract], place: Place) -> Fault:
    hint = nearest(name, tools, of="this host has")
    return Fault("unregistered_tool", f"the tool `{name[:80]}` is not registered", hint, place)


def _scope_faults(contract: Contract, key: str, grant: ToolGrant, tool: ToolContract) -> Iterator[Fault]:
    for argument, limits in grant.scope.items():
        place = contract.place(f"{key}.scope.{argument}")
        if argument not in tool.arguments:
            said = f"`{tool.name}` has no argument `{argument[:80]}`"
            yield Fault("unknown_argument", said, nearest(argument, tool.arguments, of="it has"), place)
            continue
        if tool.scope and argument not in tool.scope:
            said = f"`{tool.name}` does not let a contract bind or limit `{argument}`"
            yield Fault("not_scopable", said, f"it lets {', '.join(f'`{each}`' for each in tool.scope)}", place)
        if not is_closed(limits):
            said = f"`{argument}` is open to whatever the caller passes"
            yield Fault("open_scope", said, "add `one_of`, `under` or `max` with values of the contract", place)
        yield from limit_faults(tool, argument, limits, place)


def limit_faults(tool: ToolContract, argument: str, limits: Limits, place: Place) -> Iterator[Fault]:
    """What is wrong with the values of one argument; those with references are looked at when they are known."""
    schema = argument_schema(tool, argument)
    kind = shape_of(schema).kind
    for rule, value in limits.rules:
        if rule in (ConstraintKind.UNDER, ConstraintKind.MATCH) and kind not in _TEXT_KINDS:
            said = f"`{rule}` limits text, and `{argument}` is {kind}"
            yield Fault("scope_mismatch", said, "use `one_of` or `max`", place)
        elif rule is ConstraintKind.MAX and kind not in _NUMBER_KINDS:
            yield Fault("scope_mismatch", f"`max` limits numbers, and `{argument}` is {kind}", "use `one_of`", place)
        elif rule is ConstraintKind.MATCH:
            yield from _pattern_faults(value, place)
        elif rule is ConstraintKind.EQUALS:
            yield from _value_faults(tool.name, argument, schema, [value], place)
        elif rule is ConstraintKind.ONE_OF:
            items = shape_of(schema).schema.get("items") if kind == "array" else None
            accepted = {"anyOf": [schema, {**_definitions(tool), **items}]} if isinstance(items, Mapping) else schema
            yield from _value_faults(tool.name, argument, accepted, value, place)


def _pattern_faults(pattern: str, place: Place) -> Iterator[Fault]:
    try:
        compile_schema({"type": "string", "pattern": pattern})
    except ContractRefused:
        hint = "it is matched in a linear-time engine: no look-around, no back-references"
        yield Fault("bad_pattern", f"`{pattern[:80]}` is no pattern", hint, place)


def _value_faults(
    tool: str, argument: str, schema: dict[str, Any], values: list[Json], place: Place
) -> Iterator[Fault]:
    validator = compile_schema(schema)
    for value in values:
        if any(references(value)) or validator.ok(value):
            continue
        shown = canonical(value).decode("utf-8")[:80]
        why = next(iter(validator.faults(value))).message
        hint = "quote it to make it text" if isinstance(value, int | float) else "write a value that the tool takes"
        yield Fault("scope_mismatch", f"`{argument}` of `{tool}` does not take `{shown}`: {why}", hint, place)


def argument_schema(tool: ToolContract, argument: str) -> dict[str, Any]:
    """The schema of one argument, with the definitions that it refers to."""
    schema = tool.arguments[argument]
    return {**_definitions(tool), **schema} if isinstance(schema, dict) else {}


def _definitions(tool: ToolContract) -> dict[str, Any]:
    return {name: tool.input_schema[name] for name in ("$defs", "definitions") if name in tool.input_schema}


def _check_faults(contract: Contract, key: str, check: Check, tools: Mapping[str, ToolContract]) -> Iterator[Fault]:
    place = contract.place(f"{key}.tool")
    tool = tools.get(check.tool)
    if tool is None:
        yield _unregistered(check.tool, tools, place)
        return
    if tool.effect is not Effect.READ:
        said = f"the check `{check.id}` would act: `{tool.name}` is {tool.effect}"
        yield Fault("check_acts", said, "checks use tools with the effect `read`", place)
    place = contract.place(f"{key}.args")
    for name in check.args:
        if name not in tool.arguments:
            hint = nearest(name, tool.arguments, of="it has")
            yield Fault("unknown_argument", f"`{tool.name}` has no argument `{name[:80]}`", hint, place)
        else:
            yield from _value_faults(tool.name, name, argument_schema(tool, name), [check.args[name]], place)
    for name in tool.input_schema.get("required", ()):
        if name not in check.args:
            yield Fault(
                "argument_missing", f"`{tool.name}` needs `{name}`", f"add it to the args of `{check.id}`", place
            )
