"""What stands in for parts of abc, dataclasses and typing: no class is made with special names of any kind.

Standard library only.
"""

import dataclasses
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sandbox_image.language.kinds import MAIN, TYPE_STAND_IN, ABCMeta, checked_bases, checked_body, checked_fields
from sandbox_image.language.ownership import write

__all__ = ["OURS", "dataclass", "get_args", "get_origin", "make_dataclass"]


def dataclass(cls: Any = None, /, **settings: Any) -> Any:
    """`dataclasses.dataclass`, for classes of the snippet whose fields are names: it writes code of them."""
    decorate: Callable[[Any], Any] = dataclasses.dataclass(**settings)

    def decorated(kind: Any) -> Any:
        for base in write(kind).__mro__:
            checked_fields(vars(base).get("__annotations__", {}))
        return decorate(kind)

    return decorated if cls is None else decorated(cls)


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
