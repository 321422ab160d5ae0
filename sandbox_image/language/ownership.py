"""Whose an object is: what a snippet made itself is its own, to write to and to have private attributes.

Standard library only.
"""

import types
from typing import Any, NoReturn

from sandbox_image.language.kinds import MAIN, is_clean, module_of, mro_of
from sandbox_image.language.names import CHANGEABLE, GUARDED, LIBRARY_PRIVATE, OPAQUE, READABLE, SUBSTITUTES, is_special

__all__ = [
    "Attributes",
    "Forbidden",
    "change",
    "checked_name",
    "delete",
    "is_own",
    "is_private",
    "may_change",
    "own",
    "parent",
    "refuse",
    "write",
]

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
    }
)
"""Classes of others whose objects are made to be written to, by module and name."""


class Forbidden(AttributeError):
    """The language does not allow what the snippet tried; the text says what to write instead."""


def is_own(value: Any) -> bool:
    """Whether the snippet made it: an object of a class of its own, such a class, a function, a namespace."""
    kind = type(value)
    if kind in _OWN_TYPES:
        return True
    if issubclass(kind, type):
        return _is_own_class(value)
    if kind is types.SimpleNamespace or _is_own_class(kind):
        _OWN_TYPES.add(kind)
        return True
    if kind is types.FunctionType:
        return bool(value.__globals__.get("__name__") == MAIN)
    return kind is super and _is_own_class(value.__thisclass__)


def _is_own_class(kind: type) -> bool:
    """A class of the snippet, whose foreign bases have nothing to hide."""
    if module_of(kind) != MAIN:
        return False
    return all(module_of(base) == MAIN or is_clean(base) or base is type for base in mro_of(kind))


def own(value: Any) -> Any:
    """`value`, where its private attributes are the snippet's to use. Raises Forbidden elsewhere."""
    if type(value) in _OWN_TYPES or is_own(value):
        return value
    raise Forbidden(f"names that start with an underscore belong to the one who made the object; {_whose(value)}")


def parent(kind: Any, value: Any) -> Any:
    """`super(kind, value)`, above a class of the snippet: what is above those of others is what they stand in for."""
    if not isinstance(kind, type) or module_of(kind) != MAIN:
        raise Forbidden("`super` begins above a class of your own; write super().name(…) in one of its methods")
    return super(kind, value)


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


def is_private(name: str) -> bool:
    """Whether a name belongs to the one who made the object."""
    return name.startswith("_") and not is_special(name) and name not in LIBRARY_PRIVATE


def may_change(name: object) -> str:
    """The name of an attribute that can be set on what is the snippet's own. Raises as `checked_name` does."""
    text = checked_name(name)
    if is_special(text) and text not in CHANGEABLE:
        refuse(text)
    return text


# --- writing by name -------------------------------------------------------------------------------------------------


def change(value: Any, name: object, new: Any, /) -> None:
    """`setattr`, with the rules of an assignment that is written out."""
    text = may_change(name)
    setattr(own(value) if is_private(text) else write(value), text, new)


def delete(value: Any, name: object, /) -> None:
    """`delattr`, with the same rules."""
    text = may_change(name)
    delattr(own(value) if is_private(text) else write(value), text)


class Attributes(dict[str, Any]):
    """`vars(x)`: the attributes of an object as they are now; what is set here is set there, by the same rules."""

    __slots__ = ("_of",)

    def __init__(self, of: Any) -> None:
        super().__init__(of.__dict__)
        self._of = of

    def __setitem__(self, name: str, new: Any) -> None:
        change(self._of, name, new)
        super().__setitem__(name, new)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        delete(self._of, name)

    def update(self, *others: Any, **more: Any) -> None:
        """Set several."""
        for name, new in dict(*others, **more).items():
            self[name] = new

    def __ior__(self, other: Any) -> "Attributes":  # type: ignore[override,misc]
        self.update(other)
        return self

    def setdefault(self, name: str, default: Any = None, /) -> Any:
        """An attribute, set first where it is missing."""
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:
        """An attribute, which is deleted."""
        if name not in self and default:
            return default[0]
        found = self[name]
        del self[name]
        return found

    def popitem(self) -> tuple[str, Any]:
        """The last attribute, which is deleted."""
        name = next(reversed(self))
        return name, self.pop(name)

    def clear(self) -> None:
        """Delete every attribute."""
        for name in list(self):
            del self[name]

    def copy(self) -> dict[str, Any]:
        """An ordinary dict."""
        return dict(self)

    __copy__ = copy

    def __reduce__(self) -> Any:
        return dict, (dict(self),)
