"""What makes a tool contract refused on registration, wherever it came from: names, predicates, previews, schemas."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from harness.contract.expression import expression_faults
from harness.contract.schema import schema_faults
from harness.contract.tool import ToolContract
from harness.core.call import Approval, Effect, Idempotency
from harness.core.errors import Fault, Place
from harness.registry.nearest import did_you_mean
from harness.registry.preview import template_names
from tool_stubs.dialect import normalise
from tool_stubs.problem import StubRefused
from tool_stubs.schemas import merged
from tool_stubs.types import Types

__all__ = ["contract_faults"]


def contract_faults(contract: ToolContract, place: Place) -> list[Fault]:
    """Every fault of a tool contract; empty where it can be registered."""
    faults = [*_schema_faults(contract, place)]
    if faults:
        return faults
    return [
        *_argument_faults(contract, place),
        *_number_faults(contract, place),
        *_predicates(contract, place),
        *_preview_faults(contract, place),
        *_data_faults(contract, place),
    ]


def _schema_faults(contract: ToolContract, place: Place) -> Iterator[Fault]:
    if contract.input_schema.get("type") != "object":
        yield Fault("bad_schema", "the schema of the arguments is no object", "write `type: object`", place)
    yield from schema_faults(contract.input_schema, place)
    if contract.output_schema is not None:
        yield from schema_faults(contract.output_schema, place)
    for schema in (contract.input_schema, contract.output_schema):
        if schema is not None:
            try:
                document = normalise(schema, contract.name)
                Types([]).of(document, contract.name).shape(document, "Value")
            except StubRefused as refused:
                yield Fault("bad_schema", f"no stub can be made: {refused.path or '#'}: {refused.reason}", "", place)


def _argument_faults(contract: ToolContract, place: Place) -> Iterator[Fault]:
    known = list(contract.input_schema.get("properties", {}))
    for name in contract.scope:
        if name not in known:
            yield Fault(
                "bad_scope", f"the scope names `{name}`, which is no argument", did_you_mean(name, known), place
            )
    rule = contract.idempotency
    if rule.kind is Idempotency.KEY and rule.argument not in known:
        hint = did_you_mean(rule.argument, known)
        yield Fault("bad_idempotency", f"the key `{rule.argument}` is no argument", hint, place)
    elif rule.kind is Idempotency.KEY and rule.argument not in contract.input_schema.get("required", ()):
        hint = "take away its default: a call without a key could not be repeated safely"
        yield Fault("bad_idempotency", f"the key `{rule.argument}` may be left out", hint, place)


def _number_faults(contract: ToolContract, place: Place) -> Iterator[Fault]:
    if not (math.isfinite(contract.timeout_s) and contract.timeout_s > 0):
        yield Fault("bad_metadata", f"`timeout_s` is `{contract.timeout_s}`", "a number of seconds above zero", place)
    if contract.retry.attempts > 1 and not any(rule.retry for rule in contract.errors.values()):
        hint = "declare the classes with `errors={RateLimited: no_effect(retry=True)}`"
        yield Fault("bad_metadata", "`retry` is set, and no error class is declared retryable", hint, place)


def _predicates(contract: ToolContract, place: Place) -> Iterator[Fault]:
    env: dict[str, Any] = {"args": contract.input_schema}
    if contract.precondition:
        yield from expression_faults(contract.precondition, env, _key(place, "precondition"))
    if contract.postcondition:
        env["result"] = contract.output_schema or {}
        yield from expression_faults(contract.postcondition, env, _key(place, "postcondition"))


def _preview_faults(contract: ToolContract, place: Place) -> Iterator[Fault]:
    must = contract.effect is Effect.DESTRUCTIVE or contract.approval is Approval.ALWAYS
    if must and not contract.has_preview:
        why = "a destructive tool" if contract.effect is Effect.DESTRUCTIVE else "a tool with approval `always`"
        hint = 'write `preview="remove the record {record_id}"`, or a function of the arguments'
        yield Fault("no_preview", f"{why} needs a preview that a person can read", hint, _key(place, "preview"))
    if not contract.preview:
        return
    try:
        names = template_names(contract.preview)
    except ValueError as error:
        yield Fault("bad_preview", f"the preview has {error}", "", _key(place, "preview"))
        return
    known = list(contract.input_schema.get("properties", {}))
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or "a field is the bare name of an argument"
            yield Fault(
                "bad_preview", f"the preview names `{name}`, which is no argument", hint, _key(place, "preview")
            )


def _data_faults(contract: ToolContract, place: Place) -> Iterator[Fault]:
    """A label on a field that cannot be there masks nothing: refused where the schema is sure of it."""
    if contract.output_schema is None:
        return
    names = _field_names(contract)
    for path in contract.data:
        missing = [step for step in path.replace("[]", "").split(".") if step and step != "*" and step not in names]
        if names and missing:
            hint = did_you_mean(missing[0], sorted(names))
            yield Fault("bad_data_label", f"`{path}` names no field of the result", hint, _key(place, "data"))


def _field_names(contract: ToolContract) -> set[str]:
    """Every member name that the result's schema declares; empty where it leaves members open."""
    document = normalise(contract.output_schema, contract.name)
    found: set[str] = set()
    stack: list[Any] = [document, *(document.get("$defs", {}).values() if isinstance(document, dict) else ())]
    while stack:
        node = stack.pop()
        if not isinstance(node, Mapping):
            continue
        flat = merged(document, node, contract.name) if "allOf" in node else node
        found |= set(flat.get("properties", {}))
        if node.get("type") == "object" and "properties" not in flat and node.get("additionalProperties") is not False:
            return set()
        for key in ("properties", "patternProperties"):
            stack += list(flat.get(key, {}).values())
        for key in ("anyOf", "oneOf", "prefixItems"):
            stack += list(flat.get(key, ()))
        stack += [flat[key] for key in ("items", "additionalProperties") if isinstance(flat.get(key), Mapping)]
    return found


def _key(place: Place, name: str) -> Place:
    return Place(place.file, place.line, place.column, f"{place.key}.{name}" if place.key else name)
