"""JSON Schemas of Python types, through pydantic, with the marks that let a value arrive as what it left as."""

import enum
import sys
import types
from collections.abc import Sequence
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints, is_typeddict
from weakref import WeakKeyDictionary

import typing_extensions
from pydantic import TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUndefinedAnnotation, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import core_schema

__all__ = ["SCHEMA_ERRORS", "adapter_of", "document"]

SCHEMA_ERRORS = (PydanticSchemaGenerationError, PydanticUserError, PydanticUndefinedAnnotation, NameError, TypeError)
"""What pydantic raises for a type that it has no schema for."""

_DATETIME = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d(:\d\d)?)?$"
_TIME = r"^\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?$"
_DURATION = r"^[+-]?P(\d+W)?(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d{1,6})?S)?)?$"
_DECIMAL = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?$"
_BASE64 = r"^[A-Za-z0-9+/]*={0,2}$"
_KEY_KINDS = {"int": "int", "date": "date", "datetime": "datetime", "uuid": "uuid"}
_TWINS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""Typed dicts of the standard library → their twins, so that one class has one schema."""


class _Schemas(GenerateJsonSchema):
    """Schemas without titles of their own. Formats of Python values are ours where the standard's say something else:
    Python's datetime and time may lack a zone, RFC 3339's may not."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonSchemaValue:
        return {"type": "string", "format": "iso-datetime", "pattern": _DATETIME}

    def time_schema(self, schema: core_schema.TimeSchema) -> JsonSchemaValue:
        return {"type": "string", "format": "iso-time", "pattern": _TIME}

    def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> JsonSchemaValue:
        return {"type": "string", "format": "iso-duration", "pattern": _DURATION}

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        return {"type": "string", "format": "decimal", "pattern": _DECIMAL}

    def bytes_schema(self, schema: core_schema.BytesSchema) -> JsonSchemaValue:
        return {"type": "string", "contentEncoding": "base64", "pattern": _BASE64}

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        result = super().enum_schema(schema)
        cls: type[enum.Enum] = schema["cls"]
        members = schema["members"]
        if "enum" not in result:
            result["enum"] = [result.pop("const")] if "const" in result else [each.value for each in members]
        base = "str-enum" if issubclass(cls, str) else "int-enum" if issubclass(cls, int) else "enum"
        return {**result, "title": cls.__name__, "x-enum-varnames": [each.name for each in members], "x-python": base}

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        result = super().dataclass_schema(schema)
        cls = schema["cls"]
        frozen = cls.__dataclass_params__.frozen if hasattr(cls, "__dataclass_params__") else False
        return _marked(result, cls.__name__, bool(frozen or schema.get("frozen")))

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        result = super().model_schema(schema)
        frozen = bool(schema["cls"].model_config.get("frozen"))
        return result if schema.get("root_model") else _marked(result, schema["cls"].__name__, frozen)

    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonSchemaValue:
        return {**super().tuple_schema(schema), "x-python": "tuple"}

    def set_schema(self, schema: core_schema.SetSchema) -> JsonSchemaValue:
        return {**super().set_schema(schema), "x-python": "set"}

    def frozenset_schema(self, schema: core_schema.FrozenSetSchema) -> JsonSchemaValue:
        return {**super().frozenset_schema(schema), "x-python": "set"}

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        result = super().dict_schema(schema)
        key = _KEY_KINDS.get(str(schema.get("keys_schema", {}).get("type", "")))
        if key is None:
            return result
        result.pop("propertyNames", None)
        result.pop("patternProperties", None)
        return {**result, "x-python-keys": key}


def _marked(result: JsonSchemaValue, name: str, frozen: bool) -> JsonSchemaValue:
    if result.get("type") != "object":
        return result
    marks: JsonSchemaValue = {"title": name, "x-python": "dataclass"}
    return {**result, **marks, **({"x-frozen": True} if frozen else {})}


def adapter_of(annotation: Any) -> TypeAdapter[Any]:
    """A pydantic adapter for an annotation. Raises one of SCHEMA_ERRORS."""
    return TypeAdapter(_portable(annotation))


def document(
    adapters: Sequence[tuple[str, TypeAdapter[Any]]], mode: JsonSchemaMode
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The schemas of several adapters by name, and the `$defs` that they share. Raises one of SCHEMA_ERRORS."""
    schemas, shared = TypeAdapter.json_schemas(
        [(name, mode, adapter) for name, adapter in adapters], schema_generator=_Schemas
    )
    return {name: schemas[name, mode] for name, _ in adapters}, shared.get("$defs", {})


def _portable(annotation: Any) -> Any:
    """`annotation` with `typing.TypedDict` classes as the backport's: before Python 3.12 pydantic wants those."""
    if sys.version_info >= (3, 12):
        return annotation
    if is_typeddict(annotation) and type(annotation).__module__ == "typing":
        return _TWINS[annotation] if annotation in _TWINS else _backport(annotation)
    arguments = get_args(annotation)
    origin = get_origin(annotation)
    if not arguments or origin is None:
        return annotation
    if origin is Annotated:
        return Annotated[(_portable(arguments[0]), *arguments[1:])]
    changed = tuple(
        [_portable(each) for each in argument] if isinstance(argument, list) else _portable(argument)
        for argument in arguments
    )
    if changed == arguments:
        return annotation
    if origin in (Union, types.UnionType):
        return Union[changed]  # noqa: UP007 - made of values
    return annotation.copy_with(changed) if hasattr(annotation, "copy_with") else origin[changed]


def _backport(cls: Any) -> Any:
    """A copy of a typed dict as `typing_extensions` makes it; it may hold itself."""
    make: Any = typing_extensions.TypedDict
    twin: Any = make(cls.__name__, {})
    _TWINS[cls] = twin
    hints = get_type_hints(cls, include_extras=True)
    twin.__annotations__ = {name: _portable(hint) for name, hint in hints.items()}
    twin.__required_keys__ = frozenset(cls.__required_keys__)
    twin.__optional_keys__ = frozenset(cls.__optional_keys__)
    twin.__total__ = cls.__total__
    twin.__doc__ = cls.__doc__
    twin.__module__ = cls.__module__
    twin.__qualname__ = cls.__qualname__
    return twin
