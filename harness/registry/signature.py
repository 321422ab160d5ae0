"""A function's signature as the harness sees it: JSON Schemas of arguments and result, and conversions."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from harness.contract.schema import compile_schema
from harness.core.call import Json
from harness.core.errors import Fault, Place
from harness.registry.docstrings import Told
from harness.registry.schemas import SCHEMA_ERRORS, adapter_of, document
from harness.registry.settings import UNSAID, Settings
from harness.registry.values import ResultShape, to_wire
from tool_stubs.dialect import normalise
from tool_stubs.runtime.codec import Codec
from tool_stubs.types import Types

__all__ = ["Signature", "read_signature"]

_AS_THEY_ARE = (str, int, bool, Any, type(None), inspect.Parameter.empty)
"""Types whose JSON is their value: nothing to convert once the schema has passed."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What was read."""

    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    decode: Callable[[dict[str, Json]], dict[str, Any]]
    """JSON arguments → Python values by name. Raises ValueError where a value fits the schema and not the type."""
    encode: Callable[[object], Json]
    """Result → JSON. Raises ResultShape."""
    positional_only: tuple[str, ...]


def read_signature(
    function: Callable[..., object], settings: Settings, told: Told, place: Place
) -> tuple[Signature | None, list[Fault]]:
    """The signature, or why there is none: every fault of it."""
    faults: list[Fault] = []
    bare = _bare(function)
    if inspect.isgeneratorfunction(bare) or inspect.isasyncgenfunction(bare):
        return None, [Fault("bad_annotation", "a generator has no result", "return a list", place)]
    try:
        parameters = inspect.signature(function).parameters
        hints = get_type_hints(inspect.unwrap(bare), include_extras=True)
    except (NameError, TypeError, ValueError, SyntaxError) as error:
        hint = "annotate with names that exist when the module has been imported"
        return None, [Fault("bad_annotation", f"the annotations cannot be read: {_line(error)}", hint, place)]
    adapters: dict[str, TypeAdapter[Any]] = {}
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            star = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            hint = "name every argument, or take one dict"
            faults.append(Fault("bad_annotation", f"`{star}{name}` has no schema", hint, _at(place, name)))
            continue
        annotation = _annotation(parameter, settings.arguments.get(name, hints.get(name, Any)))
        if (adapter := _adapter(annotation, _at(place, name), faults)) is not None:
            adapters[name] = adapter
    result = settings.result if settings.result is not UNSAID else hints.get("return", UNSAID)
    output = None if result is UNSAID else _adapter(result, _at(place, "return"), faults)
    if faults:
        return None, faults
    try:
        input_schema = _input_schema(adapters, parameters, told)
        output_schema = _output_schema(output, told)
    except SCHEMA_ERRORS as error:
        return None, [Fault("bad_annotation", f"no JSON Schema can be made: {_line(error)}", _HINT, place)]
    only = tuple(name for name, each in parameters.items() if each.kind is each.POSITIONAL_ONLY)
    decode = _decoder(input_schema, adapters)
    return Signature(input_schema, output_schema, decode, _encoder(output), only), []


_HINT = "use text, numbers, lists, dicts, dates, Decimal, UUID, bytes, enums, dataclasses, TypedDict or pydantic models"


def _bare(function: Any) -> Any:
    """The function that carries the annotations."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or inspect.isclass(function):
        return function
    return type(function).__call__


def _annotation(parameter: inspect.Parameter, annotation: Any) -> Any:
    """None as the default of another type says that None is taken."""
    if parameter.default is None and annotation is not Any:
        return annotation | None if isinstance(annotation, type) else _or_none(annotation)
    return annotation


def _or_none(annotation: Any) -> Any:
    try:
        return annotation | None
    except TypeError:
        return annotation


def _adapter(annotation: Any, place: Place, faults: list[Fault]) -> TypeAdapter[Any] | None:
    try:
        return adapter_of(annotation)
    except SCHEMA_ERRORS as error:
        shown = getattr(annotation, "__name__", None) or str(annotation)
        faults.append(Fault("bad_annotation", f"the type `{shown}` has no JSON Schema: {_line(error)}", _HINT, place))
        return None


def _input_schema(
    adapters: Mapping[str, TypeAdapter[Any]], parameters: Mapping[str, inspect.Parameter], told: Told
) -> dict[str, Any]:
    schemas, shared = document(list(adapters.items()), "validation")
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, schema in schemas.items():
        parameter = parameters[name]
        properties[name] = own = dict(schema)
        if name in told.arguments and "description" not in own:
            own["description"] = told.arguments[name]
        if parameter.default is parameter.empty:
            required.append(name)
        else:
            _add_default(own, adapters[name], parameter.default, shared)
    result: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        result["required"] = required
    result["additionalProperties"] = False
    keyword_only = [name for name, each in parameters.items() if each.kind is each.KEYWORD_ONLY]
    if keyword_only:
        result["x-keyword-only"] = keyword_only
    result["x-python"] = "function"
    if shared:
        result["$defs"] = shared
    return result


def _add_default(schema: dict[str, Any], adapter: TypeAdapter[Any], default: object, shared: dict[str, Any]) -> None:
    """The default, where it is a JSON value of the argument's own type; others stay the function's business."""
    schema.pop("default", None)
    try:
        wire = to_wire(adapter.dump_python(default, mode="python", by_alias=True, warnings=False))
    except (ResultShape, ValueError, TypeError):
        return
    if compile_schema({**schema, "$defs": shared}).ok(wire):
        schema["default"] = wire


def _output_schema(adapter: TypeAdapter[Any] | None, told: Told) -> dict[str, Any] | None:
    if adapter is None:
        return None
    schemas, shared = document([("return", adapter)], "serialization")
    result = dict(schemas["return"])
    if told.result and "description" not in result:
        result["description"] = told.result
    if shared:
        result["$defs"] = shared
    return result


def _decoder(
    schema: dict[str, Any], adapters: Mapping[str, TypeAdapter[Any]]
) -> Callable[[dict[str, Json]], dict[str, Any]]:
    """Leaves that pydantic reads differently (bytes) are read our way first; then each argument becomes its type."""
    leaves = _leaf_decoders(schema)
    converts = {
        name: adapter.validate_python
        for name, adapter in adapters.items()
        if not any(getattr(adapter, "_type", None) is plain for plain in _AS_THEY_ARE)
    }

    def decode(arguments: dict[str, Json]) -> dict[str, Any]:
        values = dict(arguments)
        for name, read in leaves.items():
            if name in values:
                values[name] = read(values[name])
        for name, convert in converts.items():
            if name in values:
                values[name] = convert(values[name])
        return values

    return decode


def _leaf_decoders(schema: dict[str, Any]) -> dict[str, Callable[[Any], Any]]:
    types = Types([])
    reader = types.of(normalise(schema, ""), "")
    specs = {name: reader.shape(each, name).codec for name, each in schema["properties"].items()}
    codec = Codec(types.table(), objects=False)
    return {name: codec.decoder(spec) for name, spec in specs.items() if spec is not None}


def _encoder(adapter: TypeAdapter[Any] | None) -> Callable[[object], Json]:
    if adapter is None:
        return to_wire

    def encode(value: object) -> Json:
        try:
            dumped = adapter.dump_python(value, mode="python", by_alias=True, warnings=False)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise ResultShape(f"`$` does not have the type that the tool declares: {_line(error)}") from error
        return to_wire(dumped)

    return encode


def _at(place: Place, name: str) -> Place:
    return Place(place.file, place.line, 0, f"{place.key}.{name}" if place.key else name)


def _line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__
