"""The guards that compiled snippets call: who may use a private attribute, write to an object, read a guarded name.

Plain attribute reads, items, iteration and unpacking have no guard: no plain name leads anywhere (see
docs/decisions/0005-thin-guards.md). Standard library only.
"""

import types
from collections.abc import Callable
from typing import Any, NoReturn

from sandbox_image.language.formats import vetted_format
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
    "MAIN",
    "Forbidden",
    "changed",
    "checked_name",
    "deleted",
    "is_own",
    "match",
    "own",
    "read",
    "read_name",
    "use_clock",
    "write",
]

MAIN = "__main__"
"""The module of every class and function that a snippet makes."""

_module_of: Callable[[type], Any] = type.__dict__["__module__"].__get__
_mro_of: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
_OWN_TYPES: set[type] = set()
"""Types of which every object is the snippet's own; looked up before anything else."""

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
        ("difflib", "SequenceMatcher"),
    }
)
"""Classes of others whose objects are made to be written to, by module and name."""


class Forbidden(AttributeError):
    """The language does not allow what the snippet tried; the text says what to write instead."""


def is_own(value: object) -> bool:
    """Whether the snippet made it: an object of a class of its own, such a class, a function, a namespace."""
    kind = type(value)
    if kind in _OWN_TYPES:
        return True
    if issubclass(kind, type):
        return _module_of(value) == MAIN  # type: ignore[arg-type]
    if _module_of(kind) == MAIN or kind is types.SimpleNamespace:
        _OWN_TYPES.add(kind)
        return True
    if kind is types.FunctionType:
        return value.__globals__.get("__name__") == MAIN  # type: ignore[attr-defined]
    return kind is super and is_own(value.__thisclass__)  # type: ignore[attr-defined]


def own(value: Any) -> Any:
    """`value`, where its private attributes are the snippet's to use. Raises Forbidden elsewhere."""
    if type(value) in _OWN_TYPES or is_own(value):
        return value
    raise Forbidden(f"names that start with an underscore belong to the one who made the object; {_whose(value)}")


def write(value: Any) -> Any:
    """`value`, where its attributes may be set or deleted. Raises Forbidden elsewhere."""
    if type(value) in _OWN_TYPES or is_own(value):
        return value
    for base in () if isinstance(value, type | types.ModuleType) else _mro_of(type(value)):
        if (_module_of(base), base.__name__) in _WRITABLE or (_module_of(base) == "tools" and _is_model(base)):
            return value
    raise Forbidden(f"attributes of others cannot be set; {_whose(value)}")


def _is_model(kind: type) -> bool:
    return "__wire_fields__" in vars(kind)


def _whose(value: object) -> str:
    if isinstance(value, types.ModuleType):
        return "this is a module: keep what you need in a variable of your own"
    if isinstance(value, type):
        return f"`{value.__name__}` is not a class of the snippet: derive one from it"
    return f"`{type(value).__name__}` is not a class of the snippet: use its public methods"


# --- reading by name ---------------------------------------------------------------------------------------------------


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


def read_name(value: Any, name: object, *default: Any) -> Any:
    """`getattr`, with the same rules as an attribute that is written out."""
    text = checked_name(name)
    if text in GUARDED:
        try:
            return read(value, text)
        except Forbidden:
            raise
        except AttributeError:
            if default:
                return default[0]
            raise
    if text.startswith("_") and not is_special(text) and text not in LIBRARY_PRIVATE:
        own(value)
    return getattr(value, text, *default)


def read(value: Any, name: str) -> Any:
    """An attribute whose name is guarded. Raises Forbidden where it would give more than a value."""
    return _READERS[name](value, name)


def _read_format(value: Any, name: str) -> Any:
    of_text = isinstance(value, str) or (isinstance(value, type) and issubclass(value, str))
    found = getattr(value, name)
    if not of_text or isinstance(found, types.MethodType | types.FunctionType):
        return found
    return vetted_format(value, name, read_name)


def _read_mro(value: Any, name: str) -> Any:
    if isinstance(value, type) or value is TYPE_STAND_IN:
        refuse(name)
    return getattr(value, name)


def _read_obj(value: Any, name: str) -> Any:
    if isinstance(value, AttributeError):
        raise Forbidden("`obj` of an AttributeError cannot be used here; use e.name or str(e)")
    return getattr(value, name)


def _read_dict(value: Any, name: str) -> Any:
    if isinstance(value, type | types.FunctionType) or not is_own(value):
        raise Forbidden(f"`__dict__` can be used on objects of your own classes; {_whose(value)}")
    return getattr(value, name)


def _read_setter(value: Any, name: str) -> Callable[..., None]:
    """`object.__setattr__`, `super().__setattr__` and the like, which look at the name that they are given."""
    act = getattr(value, name)
    vet = changed if name == "__setattr__" else deleted

    def bound(attribute: object, *new: Any) -> None:
        act(_may_change(attribute), *new)

    def unbound(target: Any, attribute: object, *new: Any) -> None:
        vet(target, attribute, *new, act=act)

    return unbound if isinstance(value, type) else bound


_clock: Callable[[Any], Any] | None = None


def use_clock(now: Callable[[Any], Any]) -> None:
    """Let `datetime.now(zone)` and `utcnow()` be `now(zone)`: what a snippet sees of time is replayed."""
    global _clock
    _clock = now


def _read_now(value: Any, name: str) -> Any:
    found = getattr(value, name)
    if _clock is None or type(found) is not types.BuiltinMethodType:
        return found
    kind, clock = found.__self__, _clock
    if not isinstance(kind, type):
        kind = type(kind)

    def now(tz: Any = None) -> Any:
        moment = clock(tz)
        return kind.combine(moment.date(), moment.timetz()) if type(moment) is not kind else moment

    return now if name == "now" else lambda: now(_UTC).replace(tzinfo=None)


def _read_loop(value: Any, name: str) -> Any:
    return LOOP_STAND_IN(getattr(value, name))


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "format": _read_format,
    "format_map": _read_format,
    "mro": _read_mro,
    "obj": _read_obj,
    "now": _read_now,
    "utcnow": _read_now,
    "get_loop": _read_loop,
    "__dict__": _read_dict,
    "__setattr__": _read_setter,
    "__delattr__": _read_setter,
}


# --- writing by name ---------------------------------------------------------------------------------------------------


def _may_change(name: object) -> str:
    text = checked_name(name)
    if is_special(text) and text not in CHANGEABLE:
        refuse(text)
    return text


def changed(value: Any, name: object, new: Any, *, act: Callable[..., None] = setattr) -> None:
    """`setattr`, with the same rules as an assignment that is written out."""
    text = _may_change(name)
    act(own(value) if text.startswith("_") else write(value), text, new)


def deleted(value: Any, name: object, *, act: Callable[..., None] = delattr) -> None:
    """`delattr`, with the same rules."""
    text = _may_change(name)
    act(own(value) if text.startswith("_") else write(value), text)


# --- match -------------------------------------------------------------------------------------------------------------


def match(subject: Any, *kinds: Any) -> Any:
    """`subject`, where the classes that a match takes apart by position name plain attributes."""
    for kind in kinds:
        if not isinstance(kind, type):
            continue
        if _module_of(type(kind)) == MAIN:
            raise Forbidden(f"`{kind.__name__}` has a metaclass of its own: name the attributes, {kind.__name__}(x=…)")
        for base in _mro_of(kind):
            names = type.__getattribute__(base, "__dict__").get("__match_args__", ())
            if type(names) is not tuple:
                raise Forbidden(f"`__match_args__` of `{kind.__name__}` must be a tuple of names")
            for name in names:
                if checked_name(name) in GUARDED or str(name).startswith("_"):
                    refuse(str(name))
    return subject
