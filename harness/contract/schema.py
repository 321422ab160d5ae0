"""JSON Schema as contracts use it: checked when loaded, compiled once, its faults told in our own words.

Nothing is ever fetched: a remote reference is a fault. Patterns run in a linear-time engine.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

import jsonschema_rs

from harness.contract.schema_words import SchemaFault, instance_fault, schema_fault
from harness.core.call import Json
from harness.core.canonical import canonical
from harness.core.errors import ContractRefused, Fault, HostileInput, Place

__all__ = ["DRAFTS", "MAX_FAULTS", "SchemaFault", "Validator", "compile_schema", "schema_faults"]

DRAFTS: Mapping[str, Any] = {
    "https://json-schema.org/draft/2020-12/schema": jsonschema_rs.Draft202012Validator,
    "https://json-schema.org/draft/2019-09/schema": jsonschema_rs.Draft201909Validator,
    "http://json-schema.org/draft-07/schema": jsonschema_rs.Draft7Validator,
    "http://json-schema.org/draft-06/schema": jsonschema_rs.Draft6Validator,
    "http://json-schema.org/draft-04/schema": jsonschema_rs.Draft4Validator,
}
"""What `$schema` may name; a schema that names nothing is of 2020-12."""
MAX_FAULTS = 100
"""So many faults of one value are told; a hostile value may have millions."""
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class Validator:
    """A compiled schema. Thread-safe; validating a small value takes under a microsecond."""

    __slots__ = ("_inner", "schema")

    def __init__(self, schema: Mapping[str, Any] | bool) -> None:
        self.schema = schema
        self._inner = _compile(schema)

    def ok(self, value: Json) -> bool:
        """Whether `value` fits; False for a value that is no JSON."""
        try:
            return bool(self._inner.is_valid(value))
        except (ValueError, TypeError, RecursionError, OverflowError):
            return False

    def faults(self, value: Json) -> list[SchemaFault]:
        """The first `MAX_FAULTS` ways in which `value` does not fit; empty where it does."""
        try:
            return [instance_fault(error) for error in islice(self._inner.iter_errors(value), MAX_FAULTS)]
        except (ValueError, TypeError, RecursionError, OverflowError):
            return [SchemaFault("$", "the value is no JSON value", "JSON", type(value).__name__, "type")]


def compile_schema(schema: Mapping[str, Any] | bool) -> Validator:
    """The validator of a schema; equal schemas share one. Raises ContractRefused where it is none."""
    try:
        return _cached(canonical(schema), _Held(schema))
    except HostileInput as error:
        raise ContractRefused([Fault("bad_schema", f"the schema is no JSON: {error.message}")]) from error


class _Held:
    """A schema beside its cache key, without taking part in it."""

    __slots__ = ("schema",)

    def __init__(self, schema: Mapping[str, Any] | bool) -> None:
        self.schema = schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=4096)
def _cached(key: bytes, held: _Held) -> Validator:
    return Validator(held.schema)


def _compile(schema: Mapping[str, Any] | bool) -> Any:
    faults = schema_faults(schema, Place())
    if faults:
        raise ContractRefused(faults)
    return _build(schema)


def _build(schema: Mapping[str, Any] | bool) -> Any:
    return _validator_class(schema)(_plain(schema), validate_formats=True, pattern_options=_PATTERNS, retriever=_never)


def _never(uri: str) -> Any:
    raise ValueError(f"the reference `{uri}` leads outside")


_PATTERNS = jsonschema_rs.RegexOptions()
"""The linear-time engine: a pattern cannot run away (B23); it has no look-around and no back-references."""


def _validator_class(schema: Mapping[str, Any] | bool) -> Any:
    named = schema.get("$schema") if isinstance(schema, Mapping) else None
    return DRAFTS[named.removesuffix("#")] if isinstance(named, str) else jsonschema_rs.Draft202012Validator


def schema_faults(schema: Any, place: Place) -> list[Fault]:
    """What is wrong with a schema; empty where it compiles. Nothing is fetched."""
    if not isinstance(schema, Mapping | bool):
        return [
            Fault("bad_schema", f"a schema is a mapping, not `{type(schema).__name__}`", "write `type: object`", place)
        ]
    try:
        canonical(schema)
    except HostileInput as error:
        return [Fault("bad_schema", f"the schema is no JSON: {error.message}", "", place)]
    remote = sorted({reference for reference in _references(schema) if not reference.startswith("#")})
    if remote:
        hint = "copy the definition under `$defs` and refer to it as `#/$defs/NAME`"
        return [Fault("remote_reference", f"the reference `{each}` leads outside", hint, place) for each in remote]
    named = schema.get("$schema") if isinstance(schema, Mapping) else None
    if named is not None and (not isinstance(named, str) or named.removesuffix("#") not in DRAFTS):
        said = f"the schema is of `{str(named)[:120]}`, which is not known"
        return [Fault("bad_schema", said, "leave out `$schema`: it is read as 2020-12", place)]
    try:
        _build(schema)
    except jsonschema_rs.ValidationError as error:
        return [schema_fault(error, place)]
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        said = f"the schema does not compile: {_first_line(error)}"
        return [Fault("bad_schema", said, "see JSON Schema 2020-12", place)]
    return []


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        for name, value in schema.items():
            if name in REFERENCES and isinstance(value, str):
                yield value
            elif name not in ("const", "enum", "default", "examples"):
                yield from _references(value)
    elif isinstance(schema, list | tuple):
        for value in schema:
            yield from _references(value)


def _plain(schema: Any) -> Any:
    """The schema in dict and list, which is what the compiler takes."""
    if isinstance(schema, Mapping):
        return {name: _plain(value) for name, value in schema.items()}
    if isinstance(schema, list | tuple):
        return [_plain(value) for value in schema]
    return schema


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
