"""Classes in a restricted snippet: what they may be derived from and made of, and the builtin `type` as it has it.

Standard library only.
"""

import abc
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Type, Union  # noqa: UP035 (see `TypeStandIn.__getitem__`)

from sandbox_image.language.names import DEFINABLE, SUBSTITUTES, is_special, words

__all__ = [
    "MAIN",
    "MAX_ORDINARY",
    "TYPE_STAND_IN",
    "ABCMeta",
    "OwnMeta",
    "TypeStandIn",
    "build_class",
    "checked_bases",
    "checked_body",
    "checked_fields",
    "is_clean",
    "module_of",
    "mro_of",
]

MAIN = "__main__"
"""The module of every class and function that a snippet makes."""

module_of: Callable[[type], Any] = type.__dict__["__module__"].__get__
"""`kind.__module__`, whatever a metaclass says."""
mro_of: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
"""`kind.__mro__`, whatever a metaclass says."""

_CLEAN_MODULES = words(
    "abc builtins calendar collections collections.abc contextlib csv datetime decimal _decimal _pydecimal _io io "
    "enum fractions functools html ipaddress json.decoder json.encoder numbers _random random statistics string "
    "textwrap tools tool_stubs.runtime.errors tool_stubs.runtime.models types typing uuid zoneinfo _thread pprint "
    "difflib ast array sandbox_image.language.kinds sandbox_image.language.formats sandbox_image.readonly "
    "urllib.parse graphlib"
)
"""Modules whose public classes a snippet may derive from: their private attributes lead nowhere."""
_CLEAN_CLASSES = frozenset((("threading", "Thread"), ("threading", "Timer"), ("concurrent.futures._base", "Executor")))
_UNCLEAN_CLASSES = frozenset((("builtins", "super"), ("builtins", "type"), ("functools", "singledispatchmethod")))

_MADE_BY_PYTHON = words(
    "__module__ __qualname__ __annotations__ __annotate__ __annotate_func__ __classcell__ __classdict__ "
    "__classdictcell__ __firstlineno__ __static_attributes__ __orig_bases__ __type_params__ __parameters__ "
    "__abstractmethods__"
)
"""What the body of a class holds without the snippet's doing."""


_BOX = words("sandbox_image tool_stubs tools __main__")
"""Packages of the box itself; any other that is no part of Python was admitted as a whole (A16)."""


def is_clean(kind: type) -> bool:
    """Whether a class of others may be derived from, and its private attributes be the deriving class's own."""
    place = module_of(kind), kind.__name__
    if place in _CLEAN_CLASSES:
        return True
    top = str(place[0]).partition(".")[0]
    is_admitted = top not in sys.stdlib_module_names and top not in _BOX
    return (place[0] in _CLEAN_MODULES or is_admitted) and place not in _UNCLEAN_CLASSES


def checked_bases(bases: Iterable[Any]) -> None:
    """Raises TypeError where a class cannot be derived from one of them."""
    for base in types.resolve_bases(bases):
        if isinstance(base, type) and module_of(base) != MAIN and not is_clean(base):
            raise TypeError(f"a class cannot be derived from `{base.__name__}` here; keep one in an attribute instead")


def checked_fields(notes: Mapping[Any, Any]) -> dict[str, Any]:
    """Annotations of a class, as a dict of its own: dataclasses write code of their names."""
    if type(notes) is not dict:
        raise TypeError("annotations of a class are a dict")
    for name in notes:
        if type(name) is not str or not name.isidentifier() or is_special(name):
            raise TypeError(f"`{name!s:.40}` cannot be the name of a field here")
    return dict(notes)


def checked_body(body: Mapping[Any, Any]) -> dict[str, Any]:
    """What a class is made of, as a dict of its own. Raises TypeError for a special name that is refused."""
    copied = dict(body)
    for name in copied:
        if type(name) is not str:
            raise TypeError(f"names of a class are texts, not `{type(name).__name__}`")
        if is_special(name) and name not in DEFINABLE and name not in _MADE_BY_PYTHON:
            hint = SUBSTITUTES.get(name, "give the method a plain name")
            raise TypeError(f"the special name `{name}` cannot be defined here; {hint}")
    if "__annotations__" in copied:
        copied["__annotations__"] = checked_fields(copied["__annotations__"])
    return copied


def build_class(build: Callable[..., Any]) -> Callable[..., Any]:
    """What a class statement calls: Python's own, after a look at the bases."""

    def built(body: Any, name: str, /, *bases: Any, **settings: Any) -> Any:
        if bases:
            checked_bases(bases)
        return build(body, name, *bases, **settings)

    return built


class OwnMeta(type):
    """The metaclass that `class Meta(type)` derives from."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: Mapping[str, Any], **settings: Any) -> Any:
        checked_bases(bases)
        return super().__new__(mcs, name, bases, checked_body(body), **settings)


class ABCMeta(abc.ABCMeta):
    """`abc.ABCMeta`, which looks at what it makes a class of."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: Mapping[str, Any], /, **settings: Any) -> Any:
        checked_bases(bases)
        return super().__new__(mcs, name, bases, checked_body(body), **settings)


_ORDINARY: set[type] = set()
"""Classes that are no metaclasses of others: `type` of their objects is told as it is."""
MAX_ORDINARY = 10_000
"""Of them are remembered."""


class TypeStandIn:
    """In place of the builtin `type`; one object, `TYPE_STAND_IN`.

    Tells the kind of a value, stands in annotations and as a base. It makes no classes of computed special names, and
    never gives Python's own `type`, which would (A01, A03).
    """

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
        checked_bases(bases)
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
        return Type[item]  # noqa: UP006 (`type[item]` can be called, and would make a class unseen)

    def __or__(self, other: Any) -> Any:
        return Union[type, other]  # noqa: UP007 (`other` may be what `|` does not take)

    __ror__ = __or__

    def __repr__(self) -> str:
        return "<class 'type'>"


TYPE_STAND_IN = TypeStandIn()
