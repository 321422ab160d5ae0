"""The builtin `type` as a restricted snippet has it: tells the kind of a value, stands in annotations and as a base.

It does not make classes from computed names: special methods are looked at, wherever a class comes from (A01, A03).
Standard library only.
"""

import abc
from collections.abc import Callable, Mapping
from typing import Any, Union

from sandbox_image.language.names import DEFINABLE, SUBSTITUTES, is_special, words

__all__ = [
    "MAIN",
    "MAX_ORDINARY",
    "TYPE_STAND_IN",
    "ABCMeta",
    "OwnMeta",
    "TypeStandIn",
    "checked_body",
    "module_of",
    "mro_of",
]

MAIN = "__main__"
"""The module of every class and function that a snippet makes."""

module_of: Callable[[type], Any] = type.__dict__["__module__"].__get__
"""`kind.__module__`, whatever a metaclass says."""
mro_of: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
"""`kind.__mro__`, whatever a metaclass says."""

_MADE_BY_PYTHON = words(
    "__module__ __qualname__ __annotations__ __annotate__ __annotate_func__ __classcell__ __classdict__ "
    "__classdictcell__ __firstlineno__ __static_attributes__ __orig_bases__ __type_params__ __parameters__ "
    "__abstractmethods__ __dataclass_fields__ __dataclass_params__"
)
"""What the body of a class holds without the snippet's doing."""


def checked_body(body: Mapping[Any, Any]) -> dict[str, Any]:
    """What a class is made of, as a dict of its own. Raises TypeError for a special name that is refused."""
    copied = dict(body)
    for name in copied:
        if is_special(str(name)) and name not in DEFINABLE and name not in _MADE_BY_PYTHON:
            hint = SUBSTITUTES.get(str(name), "give the method a plain name")
            raise TypeError(f"the special name `{name}` cannot be defined here; {hint}")
    return copied


class OwnMeta(type):
    """The metaclass that `class Meta(type)` derives from."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: Mapping[str, Any], **settings: Any) -> Any:
        return super().__new__(mcs, name, bases, checked_body(body), **settings)


class ABCMeta(abc.ABCMeta):
    """`abc.ABCMeta`, which looks at what it makes a class of."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: Mapping[str, Any], /, **settings: Any) -> Any:
        return super().__new__(mcs, name, bases, checked_body(body), **settings)


_ORDINARY: set[type] = set()
"""Classes that are no metaclasses of others: `type` of their objects is told as it is."""
MAX_ORDINARY = 10_000
"""Of them are remembered."""


class TypeStandIn:
    """In place of `type`. One object, `TYPE_STAND_IN`."""

    __slots__ = ()
    __name__ = __qualname__ = "type"

    def __call__(self, value: Any, *made_of: Any, **settings: Any) -> Any:
        """`type(value)`; with three arguments a new class."""
        kind = type(value)
        if not made_of and kind in _ORDINARY:
            return kind
        if not made_of and not settings:
            return self._kind(kind)
        if len(made_of) != 2:
            raise TypeError("type() takes 1 or 3 arguments")
        bases, body = made_of
        return type(value, tuple(bases), {"__module__": MAIN, **checked_body(body)}, **settings)

    def _kind(self, kind: type) -> Any:
        if kind is TypeStandIn or (issubclass(kind, type) and module_of(kind) != MAIN):
            return self
        if len(_ORDINARY) < MAX_ORDINARY:
            _ORDINARY.add(kind)
        return kind

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, type | TypeStandIn)

    def __subclasscheck__(self, kind: Any) -> bool:
        return kind is self or issubclass(kind, type)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (OwnMeta,)

    def __getitem__(self, item: Any) -> Any:
        return type[item]

    def __or__(self, other: Any) -> Any:
        return Union[type, other]  # noqa: UP007 (`other` may be what `|` does not take)

    __ror__ = __or__

    def __repr__(self) -> str:
        return "<class 'type'>"


TYPE_STAND_IN = TypeStandIn()
