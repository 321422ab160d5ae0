"""The guards that compiled snippets call: who may use a private attribute, write to an object, read a guarded name.

Plain attribute reads, items, iteration and unpacking have no guard: no plain name leads anywhere (see
docs/decisions/0005-thin-guards.md). Standard library only.
"""

import collections
import datetime
import types
from collections.abc import Callable
from typing import Any, NoReturn

from sandbox_image.language.formats import vetted
from sandbox_image.language.kinds import MAIN, TYPE_STAND_IN, module_of, mro_of
from sandbox_image.language.names import (
    CHANGEABLE,
    GUARDED,
    LIBRARY_PRIVATE,
    OPAQUE,
    READABLE,
    SUBSTITUTES,
    is_special,
)

__all__ = [
    "MAX_FREE_NAMES",
    "VIEWS",
    "Forbidden",
    "Views",
    "change",
    "checked_name",
    "delete",
    "is_own",
    "match",
    "own",
    "read",
    "read_name",
    "refuse",
    "write",
]

_OWN_TYPES: set[type] = set()
"""Types of which every object is the snippet's own; looked up before anything else."""

_PRIVATE_TYPES: set[type] = set()
"""Those of them whose private attributes are all the snippet's: asyncio's keep the event loop in theirs."""

_FREE_NAMES: set[str] = set()
"""Names that were looked at and may be read of anything."""
MAX_FREE_NAMES = 10_000
"""Of them are remembered; the names of a snippet are some hundreds."""

_WRITABLE = frozenset(
    {
        ("types", "SimpleNamespace"),
        ("builtins", "BaseException"),
        ("decimal", "Context"),
        ("threading", "Thread"),
        ("_thread", "_local"),
        ("textwrap", "TextWrapper"),
        ("pprint", "PrettyPrinter"),
        ("collections", "UserDict"),
        ("collections", "UserList"),
        ("csv", "Dialect"),
        ("csv", "DictReader"),
        ("csv", "DictWriter"),
    }
)
"""Classes of others whose objects are made to be written to, by module and name."""


class Forbidden(AttributeError):
    """The language does not allow what the snippet tried; the text says what to write instead."""


class Views:
    """What guards need from the run; set by the namespace."""

    now: Callable[[Any], datetime.datetime] | None = None
    """The run's clock, by time zone; None leaves the machine's."""
    loop: Callable[[Any], Any] = staticmethod(lambda loop: loop)
    """An event loop as the snippet may have it."""
    value: Callable[[Any], Any] = staticmethod(lambda value: value)
    """What stands behind a promise."""


VIEWS = Views()


def is_own(value: Any) -> bool:
    """Whether the snippet made it: an object of a class of its own, such a class, a function, a namespace."""
    kind = type(value)
    if kind in _OWN_TYPES:
        return True
    if issubclass(kind, type):
        return bool(module_of(value) == MAIN)
    if module_of(kind) == MAIN or kind is types.SimpleNamespace:
        _OWN_TYPES.add(kind)
        return True
    if kind is types.FunctionType:
        return bool(value.__globals__.get("__name__") == MAIN)
    return kind is super and is_own(value.__thisclass__)


def own(value: Any) -> Any:
    """`value`, where its private attributes are the snippet's to use. Raises Forbidden elsewhere."""
    if type(value) in _PRIVATE_TYPES:
        return value
    if not is_own(value):
        raise Forbidden(f"{_UNDERSCORE}; {_whose(value)}")
    kind = _kind_of(value)
    if any(str(module_of(base)).startswith("asyncio") for base in mro_of(kind)):
        raise Forbidden(f"{_UNDERSCORE}; `{kind.__name__}` is derived from asyncio's: {_PLAIN}")
    if type(value) in _OWN_TYPES:
        _PRIVATE_TYPES.add(type(value))
    return value


_UNDERSCORE = "names that start with an underscore belong to the one who made the object"
_PLAIN = "give your own attributes plain names"


def _kind_of(value: Any) -> Any:
    """The class whose attributes an object has: its own where it is a class, the one that `super()` was called in."""
    if isinstance(value, type):
        return value
    return getattr(value, "__thisclass__") if type(value) is super else type(value)  # noqa: B009 (not known to mypy)


def write(value: Any) -> Any:
    """`value`, where its attributes may be set or deleted. Raises Forbidden elsewhere."""
    if type(value) in _OWN_TYPES or is_own(value):
        return value
    for base in () if isinstance(value, type | types.ModuleType) else mro_of(type(value)):
        if (module_of(base), base.__name__) in _WRITABLE or "__wire_fields__" in vars(base):
            return value
    raise Forbidden(f"attributes of others cannot be set; {_whose(value)}")


def _whose(value: object) -> str:
    if isinstance(value, types.ModuleType):
        return "this is a module: keep what you need in a variable of your own"
    if isinstance(value, type):
        return f"`{value.__name__}` is not a class of the snippet: derive one from it"
    return f"`{type(value).__name__}` is not a class of the snippet: use its public methods"


# --- names -----------------------------------------------------------------------------------------------------------


def checked_name(name: object) -> str:
    """A computed attribute name as plain text. Raises TypeError, and Forbidden for one that is never allowed."""
    if not isinstance(name, str):
        raise TypeError(f"attribute name must be string, not '{type(name).__name__}'")
    text = str.__str__(name)
    if text in OPAQUE or (is_special(text) and text not in READABLE and text not in GUARDED):
        refuse(text)
    return text


def refuse(name: str) -> NoReturn:
    """Raise Forbidden for a name."""
    raise Forbidden(f"`{name}` cannot be used here; {SUBSTITUTES.get(name, 'no object gives it away')}")


def _is_private(name: str) -> bool:
    return name.startswith("_") and not is_special(name) and name not in LIBRARY_PRIVATE


def _changeable(name: object) -> str:
    text = checked_name(name)
    if is_special(text) and text not in CHANGEABLE:
        refuse(text)
    return text


# --- reading by name -------------------------------------------------------------------------------------------------


def read_name(value: Any, name: object, *default: Any) -> Any:
    """`getattr`, with the rules of an attribute that is written out."""
    if type(name) is str and name in _FREE_NAMES:
        return getattr(value, name, *default)
    text = checked_name(name)
    if text in GUARDED:
        found = getattr(value, text, *default)
        return found if default and found is default[0] else read(value, text)
    if _is_private(text):
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
    if name in ("format", "format_map") and getattr(found, "__func__", found) in _FORMATS_OF_OTHERS:
        return _format_of(found, name)
    if type(found) is types.BuiltinMethodType:
        return _bound(found, name)
    if type(found) is types.MethodDescriptorType:
        return _unbound(found, name)
    return found


_FORMATS_OF_OTHERS = (collections.UserString.format, collections.UserString.format_map)
"""Methods in Python that hand a text of their own to `str.format`."""


def _format_of(found: Any, name: str) -> Any:
    if isinstance(found, types.MethodType):
        return vetted(str(found.__self__), name, refuse)
    return lambda text, /, *args, **values: vetted(str(text), name, refuse)(*args, **values)


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
        raise Forbidden(f"`__dict__` can be used on objects of your own classes; {_whose(value)}")
    return getattr(value, name)


def _read_setter(value: Any, name: str) -> Callable[..., None]:
    """`object.__setattr__`, `super().__setattr__` and the like, which look at the name that they are given."""
    act = getattr(value, name)

    def bound(attribute: object, *new: Any) -> None:
        act(_changeable(attribute), *new)

    def unbound(target: Any, attribute: object, *new: Any) -> None:
        text = _changeable(attribute)
        act(own(target) if _is_private(text) else write(target), text, *new)

    if isinstance(value, type):
        return unbound
    own(value)
    return bound


_BY_VALUE: dict[str, Callable[[Any, str], Any]] = {
    "__class__": lambda value, name: TYPE_STAND_IN(value),  # the checker lets it stand on `self` alone
    "obj": _read_obj,
    "__dict__": _read_dict,
    "__annotations__": lambda value, name: getattr(own(value), name),
    "__setattr__": _read_setter,
    "__delattr__": _read_setter,
}


# --- writing by name -------------------------------------------------------------------------------------------------


def change(value: Any, name: object, new: Any, /) -> None:
    """`setattr`, with the rules of an assignment that is written out."""
    text = _changeable(name)
    setattr(own(value) if _is_private(text) else write(value), text, new)


def delete(value: Any, name: object, /) -> None:
    """`delattr`, with the same rules."""
    text = _changeable(name)
    delattr(own(value) if _is_private(text) else write(value), text)


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
            if text in GUARDED or is_special(text) or (_is_private(text) and not is_mine):
                refuse(text)
