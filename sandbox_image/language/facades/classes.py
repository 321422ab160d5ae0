"""What stands in for parts of abc and dataclasses: no class is made with a special name that it could not define.

Standard library only.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from sandbox_image.language.kinds import MAIN, ABCMeta, checked_body

__all__ = ["OURS", "make_dataclass"]


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


OURS: Mapping[str, Mapping[str, Any]] = {
    "abc": {"ABCMeta": ABCMeta},
    "dataclasses": {"make_dataclass": make_dataclass},
}
