"""From a definition and the overlay's words for it to a tool contract."""

import re
from collections.abc import Mapping
from typing import Any

from harness.contract.tool import DEFAULT_TIMEOUT_SECONDS, NO_RETRY, IdempotencyRule, RetryRule, ToolContract
from harness.core.call import Effect, Idempotency
from harness.core.errors import Place, RegistryRefused
from harness.registry.checks import contract_faults
from harness.toolsets.definition import Definition
from harness.toolsets.errors import source_errors
from harness.toolsets.overlay import Content, ToolWords

__all__ = ["BYTES_SCHEMA", "build_contract", "effect_of", "result_schema", "wrapped"]

MARK = "x-fastmcp-wrap-result"
"""Set by servers that put a value which is no object into a member `result`."""
MAX_DESCRIPTION = 8_000
"""Characters of a source's description that a stub shows: two pages."""
BYTES_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "title": "File",
    "x-python": "dataclass",
    "properties": {
        "mime_type": {"type": "string"},
        "data": {"type": "string", "contentEncoding": "base64"},
    },
    "required": ["mime_type", "data"],
    "additionalProperties": False,
}
"""An image, a sound or a file as the snippet sees it."""

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def build_contract(definition: Definition, words: ToolWords, *, prefix: str, source: str, place: Place) -> ToolContract:
    """The tool contract. Raises RegistryRefused with every fault of it."""
    errors = {kind.__name__: rule for kind, rule in source_errors(_rules(words))}
    said = words.description if words.description is not None else definition.description
    contract = ToolContract(
        name=words.name or f"{prefix}{definition.name}",
        description=_CONTROL.sub("", said)[:MAX_DESCRIPTION],
        input_schema=_closed(definition.input_schema),
        output_schema=result_schema(definition, words),
        effect=effect_of(definition, words),
        idempotency=_idempotency(words.idempotency),
        approval=words.approval,
        timeout_s=float(words.timeout_s) if words.timeout_s is not None else DEFAULT_TIMEOUT_SECONDS,
        errors=errors,
        retry=_retry(words),
        scope=words.scope,
        identity=words.identity,
        data=dict(words.data),
        cost_usd=words.cost_usd,
        precondition=words.precondition,
        postcondition=words.postcondition,
        preview=words.preview,
        has_preview=bool(words.preview),
        source=source,
    )
    faults = contract_faults(contract, place)
    if faults:
        raise RegistryRefused(faults)
    return contract


def effect_of(definition: Definition, words: ToolWords) -> Effect:
    """†The overlay's word; else `write`, or what a hint tightens it to."""
    return words.effect or definition.hints.tightens or Effect.WRITE


def result_schema(definition: Definition, words: ToolWords) -> dict[str, Any] | None:
    """The schema of the result as the snippet sees it; None where nobody says."""
    if words.result is not None:
        return dict(words.result) if isinstance(words.result, Mapping) else {}
    if words.pages is not None:
        return _items(definition.output_schema or {}, words.pages.items)
    if definition.output_schema is not None:
        return _inner(definition.output_schema) if wrapped(definition, words) else dict(definition.output_schema)
    if words.content is Content.TEXT:
        return {"type": "string"}
    return dict(BYTES_SCHEMA) if words.content is Content.BYTES else None


def wrapped(definition: Definition, words: ToolWords) -> bool:
    """Whether the one member `result` of the structure is the result."""
    if words.unwrap is not None:
        return words.unwrap
    schema = definition.output_schema or {}
    if schema.get(MARK) is True:
        return True
    # the official server names the wrapper after the function, and nothing else it makes has that shape
    only = list(schema.get("properties", {})) == ["result"] and schema.get("required") == ["result"]
    return only and schema.get("title") == f"{definition.name}Output"


def _inner(schema: Mapping[str, Any]) -> dict[str, Any]:
    inner = schema.get("properties", {}).get("result", {})
    result = dict(inner) if isinstance(inner, Mapping) else {}
    for key in ("$defs", "definitions", "$schema"):
        if key in schema and key not in result:
            result[key] = schema[key]
    return result


def _items(schema: Mapping[str, Any], member: str) -> dict[str, Any]:
    """The list that all pages make together."""
    shared = schema.get("$defs", {})
    while isinstance(schema.get("$ref"), str):
        schema = shared.get(schema["$ref"].removeprefix("#/$defs/"), {})
    for step in member.split("."):
        properties = schema.get("properties")
        schema = properties.get(step, {}) if isinstance(properties, Mapping) else {}
    made = dict(schema) if schema.get("type") == "array" else {"type": "array"}
    return {**made, "$defs": shared} if shared else made


def _closed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that nobody declared are refused: an author who misspells one must hear of it (C29)."""
    closed = dict(schema)
    closed.setdefault("type", "object")
    closed.setdefault("properties", {})
    if not any(
        key in closed for key in ("additionalProperties", "allOf", "anyOf", "oneOf", "$ref", "patternProperties")
    ):
        closed["additionalProperties"] = False
    return closed


def _idempotency(text: str) -> IdempotencyRule:
    kind, _, argument = text.rstrip(")").partition("(")
    return IdempotencyRule(Idempotency(kind), argument)


def _rules(words: ToolWords) -> dict[str, Any]:
    return {name: said.rule for name, said in words.errors.items()}


def _retry(words: ToolWords) -> RetryRule:
    said = words.retry
    return NO_RETRY if said is None else RetryRule(said.attempts, float(said.wait_s), float(said.max_wait_s))
