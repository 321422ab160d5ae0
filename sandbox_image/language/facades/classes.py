"""What stands in for parts of abc, dataclasses and typing: no class is made with special names of any kind.

Standard library only.
"""

import dataclasses
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sandbox_image.language.kinds import (
    MAIN,
    TYPE_STAND_IN,
    ABCMeta,
    checked_bases,
    checked_body,
    checked_fields,
    module_of,
    mro_of,
)
from sandbox_image.language.ownership import write

__all__ = ["OURS", "dataclass", "get_args", "get_origin", "make_dataclass"]


def dataclass(cls: Any = None, /, **settings: Any) -> Any:
    """`dataclasses.dataclass`, for classes of the snippet whose fields are names: it writes code of them."""
    decorate: Callable[[Any], Any] = dataclasses.dataclass(**settings)

    def decorated(kind: Any) -> Any:
        _look_at_fields(mro_of(write(kind)))
        return decorate(kind)

    return decorated if cls is None else decorated(cls)


def _look_at_fields(kinds: Iterable[type]) -> None:
    """What dataclasses make code of: the fields of every class, as nothing but the class itself can tell them."""
    for kind in kinds:
        if module_of(type(kind)) == MAIN:
            raise TypeError(f"`{kind.__name__}` has a metaclass of its own, and cannot be a dataclass here")
        checked_fields(vars(kind).get("__annotations__", {}))
        fields = vars(kind).get("__dataclass_fields__", {})
        if type(fields) is not dict or any(type(field) is not dataclasses.Field for field in fields.values()):
            raise TypeError(f"the fields of `{kind.__name__}` were not made by dataclasses")
        checked_fields({field.name: field for field in fields.values()})


def make_dataclass(
    cls_name: str,
    fields: Iterable[Any],
    *,
    bases: tuple[type, ...] = (),
    namespace: Mapping[str, Any] | None = None,
    **settings: Any,
) -> type:
    """`dataclasses.make_dataclass`; what it makes is a class of the snippet."""
    settings.pop("module", None)
    rows = [each if isinstance(each, str) else tuple(each) for each in fields]
    checked_fields(dict.fromkeys(row if isinstance(row, str) else row[0] for row in rows))
    checked_bases(bases)
    _look_at_fields(line for base in bases for line in mro_of(base))
    body = {"__module__": MAIN, **checked_body(namespace or {})}
    return dataclasses.make_dataclass(cls_name, rows, bases=bases, namespace=body, **settings)


def _shown(kind: Any) -> Any:
    return TYPE_STAND_IN if kind is type else kind


def get_origin(tp: Any) -> Any:
    """`typing.get_origin`."""
    return _shown(typing.get_origin(tp))


def get_args(tp: Any) -> tuple[Any, ...]:
    """`typing.get_args`."""
    return tuple(map(_shown, typing.get_args(tp)))


OURS: Mapping[str, Mapping[str, Any]] = {
    "abc": {"ABCMeta": ABCMeta},
    "typing": {"get_origin": get_origin, "get_args": get_args},
    "dataclasses": {"dataclass": dataclass, "make_dataclass": make_dataclass},
}
