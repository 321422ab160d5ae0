"""What stands in for parts of abc, dataclasses and typing: no class is made with special names of any kind.

Standard library only.
"""

import dataclasses
import typing
from collections.abc import Iterable, Mapping
from typing import Any

from sandbox_image.language.kinds import MAIN, TYPE_STAND_IN, ABCMeta, checked_body
from sandbox_image.language.names import is_special

__all__ = ["OURS", "dataclass", "get_args", "get_origin", "make_dataclass"]


def dataclass(cls: Any = None, /, **settings: Any) -> Any:
    """`dataclasses.dataclass`, which makes code of the names of fields: they must be names."""
    if cls is None:
        return lambda kind: dataclass(kind, **settings)
    if isinstance(cls, type):
        notes = vars(cls).get("__annotations__", {})  # the very object that is used, not a copy of it
        for name in notes if type(notes) is dict else (notes,):
            if type(name) is not str or not name.isidentifier() or is_special(name):
                raise TypeError(f"`{name}` is no name of a field")
    return dataclasses.dataclass(cls, **settings)


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
    body = {"__module__": MAIN, **checked_body(namespace or {})}
    return dataclasses.make_dataclass(cls_name, fields, bases=bases, namespace=body, **settings)


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
