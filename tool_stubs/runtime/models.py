"""Classes of the box that stand for the host's dataclasses, models and enums; cheap to make, dataclasses to everyone.

`dataclasses.fields`, `asdict`, `replace`, `==`, `repr` and `match` work; the real dataclass machinery runs only when
somebody asks for it.
"""

import dataclasses
import enum
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["MISSING", "Field", "Model", "make_enum", "make_model"]

MISSING: Any = object()
"""No default."""


class Field:
    """One field of a model."""

    __slots__ = ("default", "name", "wire")

    def __init__(self, name: str, wire: str, default: Any = MISSING) -> None:
        self.name = name
        self.wire = wire
        """Its name in JSON."""
        self.default = default
        """JSON value, or MISSING."""


class _DataclassFields:
    """`__dataclass_fields__` of a class and its instances, made when it is first asked for."""

    def __get__(self, instance: object, owner: "type[Model]") -> dict[str, Any]:
        if owner.__made_fields__ is None:
            fields: list[tuple[str, Any, Any]] = [
                (each.name, Any, _dataclass_field(each)) for each in owner.__wire_fields__
            ]
            made: Any = dataclasses.make_dataclass(owner.__name__, fields, kw_only=True)
            owner.__made_fields__ = made.__dataclass_fields__
        return owner.__made_fields__


def _dataclass_field(field: Field) -> Any:
    if field.default is MISSING:
        return dataclasses.field()
    return dataclasses.field(default_factory=_constant(field.default))


class Model:
    """Base of the generated classes: equality and text by fields, in their order."""

    __dataclass_fields__ = _DataclassFields()
    __made_fields__: dict[str, Any] | None = None
    __wire_fields__: tuple[Field, ...] = ()
    __frozen__ = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        fields = type(self).__wire_fields__
        name = type(self).__name__
        if len(args) > len(fields):
            raise TypeError(f"{name}() takes {len(fields)} positional arguments but {len(args)} were given")
        given = {field.name: value for field, value in zip(fields, args, strict=False)}
        for key, value in kwargs.items():
            if key in given:
                raise TypeError(f"{name}() got multiple values for argument '{key}'")
            given[key] = value
        values = {}
        for field in fields:
            if field.name in given:
                values[field.name] = given.pop(field.name)
            elif field.default is not MISSING:
                values[field.name] = type(self).__default__(field)
            else:
                raise TypeError(f"{name}() missing 1 required argument: '{field.name}'")
        if given:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(given))}'")
        self.__dict__.update(values)

    @classmethod
    def __default__(cls, field: Field) -> Any:
        return _constant(field.default)()

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        if not type(self).__frozen__:
            raise TypeError(f"unhashable type: '{type(self).__name__}'")
        return hash(tuple(self.__dict__.values()))

    def __setattr__(self, name: str, value: Any) -> None:
        if type(self).__frozen__:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field '{name}'")
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        fields = ", ".join(f"{field.name}={self.__dict__.get(field.name)!r}" for field in type(self).__wire_fields__)
        return f"{type(self).__name__}({fields})"


def make_model(
    name: str,
    fields: Sequence[Field],
    frozen: bool,
    to_wire: Callable[[Model, str, int], Any],
    read_default: Callable[[Field], Any],
) -> type[Model]:
    """A class with these fields. `to_wire` makes JSON of an instance, `read_default` a value of a field's default."""
    return type(
        name,
        (Model,),
        {
            "__module__": "tools",
            "__wire_fields__": tuple(fields),
            "__frozen__": frozen,
            "__match_args__": tuple(field.name for field in fields),
            "__annotations__": dict.fromkeys((field.name for field in fields), "Any"),
            "__wire__": to_wire,
            "__default__": classmethod(lambda cls, field: read_default(field)),
        },
    )


def make_enum(name: str, base: str, members: Sequence[tuple[str, Any]]) -> type[enum.Enum]:
    """An enum; `base` is `str` or `int` where its members are texts or numbers as well, else empty."""
    bases: dict[str, Any] = {"str": _TextEnum, "int": enum.IntEnum}
    made: type[enum.Enum] = bases.get(base, enum.Enum)(name, list(members), module="tools")
    return made


class _TextEnum(str, enum.Enum):  # noqa: UP042 - StrEnum prints as its value, the host's `class X(str, Enum)` does not
    """Members are texts as well."""


def _constant(value: Any) -> Callable[[], Any]:
    """A factory of fresh copies of a JSON value."""

    def copy() -> Any:
        return _copied(value)

    return copy


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return {name: _copied(item) for name, item in value.items()} if isinstance(value, dict) else value
