"""The guards that compiled snippets call where an attribute's name is computed or guarded, and before a match.

Plain attribute reads, items, iteration and unpacking have no guard: no plain name leads anywhere (see
docs/decisions/0005-thin-guards.md). Standard library only.
"""

import datetime
import types
from collections.abc import Callable
from typing import Any

from sandbox_image.language.formats import vetted
from sandbox_image.language.kinds import MAIN, TYPE_STAND_IN, module_of, mro_of
from sandbox_image.language.names import GUARDED, is_special
from sandbox_image.language.ownership import (
    Attributes,
    Forbidden,
    checked_name,
    is_own,
    is_private,
    may_change,
    own,
    refuse,
    write,
)

__all__ = ["MAX_FREE_NAMES", "VIEWS", "Views", "augment", "match", "read", "read_name"]

_FREE_NAMES: set[str] = set()
"""Names that were looked at and may be read of anything."""
MAX_FREE_NAMES = 10_000
"""Of them are remembered; the names of a snippet are some hundreds."""


class Views:
    """What guards need from the run; set by the namespace."""

    now: Callable[[Any], datetime.datetime] | None = None
    """The run's clock, by time zone; None leaves the machine's."""
    loop: Callable[[Any], Any] = staticmethod(lambda loop: loop)
    """An event loop as the snippet may have it."""
    value: Callable[[Any], Any] = staticmethod(lambda value: value)
    """What stands behind a promise."""


VIEWS = Views()


def read_name(value: Any, name: object, *default: Any) -> Any:
    """`getattr`, with the rules of an attribute that is written out."""
    if type(name) is str and name in _FREE_NAMES:
        return getattr(value, name, *default)
    text = checked_name(name)
    if text in GUARDED:
        found = getattr(value, text, *default)
        return found if default and found is default[0] else read(value, text)
    if is_private(text):
        own(value)
    elif len(_FREE_NAMES) < MAX_FREE_NAMES:
        _FREE_NAMES.add(text)
    return getattr(value, text, *default)


def read(value: Any, name: str) -> Any:
    """An attribute whose name is guarded. Raises Forbidden where it would give more than a value.

    What is judged is what was found, so that no object in between hides what it leads to.
    """
    reader = _BY_VALUE.get(name)
    if reader is not None:
        return reader(value, name)
    found = getattr(value, name)
    if isinstance(found, types.BuiltinMethodType):
        return _bound(found, name)
    if isinstance(found, types.MethodDescriptorType):
        return _unbound(found, name)
    return found


def _bound(found: Any, name: str) -> Any:
    """A method of C code, with the object that it belongs to."""
    owner = found.__self__
    if name in ("format", "format_map") and isinstance(owner, str):
        return vetted(str.__str__(owner), name, refuse)
    if name == "mro" and isinstance(owner, type):
        refuse(name)
    if name in ("now", "utcnow") and isinstance(owner, type) and issubclass(owner, datetime.datetime):
        return _clock_of(owner, name) if VIEWS.now else found
    if name == "get_loop":
        return lambda: VIEWS.loop(found())
    return found


def _unbound(found: Any, name: str) -> Any:
    """A method of C code as its class has it: its first argument is the object."""
    if name in ("format", "format_map") and found.__objclass__ is str:
        return lambda text, /, *args, **values: vetted(str.__str__(text), name, refuse)(*args, **values)
    if name == "mro":
        refuse(name)
    if name == "get_loop":
        return lambda task: VIEWS.loop(found(task))
    return found


def _clock_of(kind: Any, name: str) -> Callable[..., Any]:
    def now(tz: Any = None) -> Any:
        assert VIEWS.now is not None
        moment = VIEWS.now(tz)
        return moment if kind is type(moment) else kind.combine(moment.date(), moment.timetz())

    return now if name == "now" else lambda: now(datetime.UTC).replace(tzinfo=None)


def _read_obj(value: Any, name: str) -> Any:
    value = VIEWS.value(value)
    if isinstance(value, AttributeError | types.GenericAlias) or type(value) is super:
        raise Forbidden("`obj` of an AttributeError cannot be used here; use e.name or str(e)")
    return getattr(value, name)


def _read_dict(value: Any, name: str) -> Any:
    if isinstance(value, type | types.FunctionType) or type(value) is super or not is_own(value):
        kind = value.__name__ if isinstance(value, type) else type(value).__name__
        raise Forbidden(f"`__dict__` can be used on objects of your own classes; `{kind}` is none of them")
    found = getattr(value, name)
    return Attributes(value) if type(found) is dict else found


def _read_annotations(value: Any, name: str) -> Any:
    """A copy: dataclasses write code of the names in it."""
    return dict(getattr(own(value), name))


def _read_setter(value: Any, name: str) -> Callable[..., None]:
    """`object.__setattr__`, `super().__setattr__` and the like, which look at the name that they are given."""
    act = getattr(value, name)

    def bound(attribute: object, *new: Any) -> None:
        act(may_change(attribute), *new)

    def unbound(target: Any, attribute: object, *new: Any) -> None:
        text = may_change(attribute)
        act(own(target) if is_private(text) else write(target), text, *new)

    if isinstance(value, type):
        return unbound
    own(value)
    return bound


_BY_VALUE: dict[str, Callable[[Any, str], Any]] = {
    "__class__": lambda value, name: TYPE_STAND_IN(value),  # the checker lets it stand on `self` alone
    "obj": _read_obj,
    "__dict__": _read_dict,
    "__annotations__": _read_annotations,
    "__setattr__": _read_setter,
    "__delattr__": _read_setter,
}


def augment(value: Any, name: str) -> Any:
    """`value`, where `value.name += …` may read and write. Raises Forbidden where the guard gives something else."""
    if read(write(value), name) is not getattr(value, name):
        refuse(name)
    return value


# --- match -----------------------------------------------------------------------------------------------------------


def match(subject: Any, *kinds: Any) -> Any:
    """`subject`, where the classes that a match takes apart by position name attributes that may be read."""
    for kind in kinds:
        if isinstance(kind, type):
            _check_positions(kind)
    return subject


def _check_positions(kind: type) -> None:
    if module_of(type(kind)) == MAIN:
        raise Forbidden(f"`{kind.__name__}` has a metaclass of its own: name the attributes, {kind.__name__}(x=…)")
    is_mine = module_of(kind) == MAIN
    for base in mro_of(kind):
        names = type.__getattribute__(base, "__dict__").get("__match_args__", ())
        if type(names) is not tuple:
            raise Forbidden(f"`__match_args__` of `{kind.__name__}` must be a tuple of names")
        for name in names:
            text = checked_name(name)
            if text in GUARDED or is_special(text) or (is_private(text) and not is_mine):
                refuse(text)
