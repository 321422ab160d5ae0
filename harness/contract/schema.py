"""JSON Schema as contracts use it: checked when loaded, compiled once, its faults told in our own words.

Nothing is ever fetched: a remote reference is a fault. Patterns run in a linear-time engine.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jsonschema_rs

from harness.core.call import Json
from harness.core.canonical import canonical
from harness.core.errors import ContractRefused, Fault, HostileInput, Place

__all__ = ["DRAFT", "SchemaFault", "Validator", "compile_schema", "schema_faults"]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
MAX_SHOWN = 80
"""Characters of a value that a fault shows."""
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """One way in which a value does not fit."""

    path: str
    """`$` is the value itself; `$.items[0].name`."""
    message: str
    """One line in our words."""
    expected: str
    got: str
    keyword: str = ""
    """The schema's keyword that was not met."""


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
        """Every way in which `value` does not fit; empty where it does."""
        try:
            return [_fault(error) for error in self._inner.iter_errors(value)]
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
    draft = str(schema.get("$schema", "")) if isinstance(schema, Mapping) else ""
    if "draft-07" in draft:
        return jsonschema_rs.Draft7Validator
    return jsonschema_rs.Draft202012Validator


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
    try:
        _build(schema)
    except (ValueError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
        return [
            Fault("bad_schema", f"the schema does not compile: {_first_line(error)}", "see JSON Schema 2020-12", place)
        ]
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


# --- faults in our words -------------------------------------------------------------------------------------

_EXPECTED = {
    "minimum": "at least {limit}",
    "maximum": "at most {limit}",
    "exclusiveMinimum": "more than {limit}",
    "exclusiveMaximum": "less than {limit}",
    "minLength": "at least {limit} characters",
    "maxLength": "at most {limit} characters",
    "minItems": "at least {limit} items",
    "maxItems": "at most {limit} items",
    "minProperties": "at least {limit} members",
    "maxProperties": "at most {limit} members",
    "multipleOf": "a multiple of {limit}",
    "pattern": "text that matches `{limit}`",
    "format": "a {limit}",
}


def _fault(error: Any) -> SchemaFault:
    path = "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path)
    keyword, detail = str(error.kind.name), error.kind.value
    expected = _expected(keyword, detail)
    got = _got(keyword, detail, error.instance)
    return SchemaFault(path, f"expected {expected}, got {got}", expected, got, keyword)


def _expected(keyword: str, detail: Any) -> str:
    if keyword == "type":
        return " or ".join(str(each) for each in detail) if isinstance(detail, list) else str(detail)
    if keyword == "required":
        return f"the member `{detail}`"
    if keyword in ("additionalProperties", "unevaluatedProperties", "false"):
        return "no other members"
    if keyword == "enum":
        return "one of " + _shown(detail)
    if keyword == "const":
        return _shown(detail)
    if keyword in _EXPECTED:
        return _EXPECTED[keyword].format(limit=detail)
    return f"what `{keyword}` asks for"


def _got(keyword: str, detail: Any, instance: Any) -> str:
    if keyword == "required":
        return "nothing there"
    if keyword in ("additionalProperties", "unevaluatedProperties") and isinstance(detail, list):
        return ", ".join(f"`{str(each)[:MAX_SHOWN]}`" for each in detail[:10])
    if keyword == "type":
        return f"{_kind(instance)} {_shown(instance)}"
    return _shown(instance)


def _kind(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    return "null" if value is None else names.get(type(value), type(value).__name__)


def _shown(value: Any) -> str:
    try:
        text = canonical(value).decode("utf-8")
    except HostileInput:
        text = f"a {type(value).__name__}"
    return f"`{text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + '…'}`"
