"""What stands in for the parts of functools, operator and string that read or set attributes by computed names (A10).

Standard library only.
"""

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sandbox_image.language.formats import formatter
from sandbox_image.language.guards import read_name
from sandbox_image.language.names import is_special
from sandbox_image.language.ownership import Forbidden, checked_name, write

__all__ = [
    "OURS",
    "attrgetter",
    "methodcaller",
    "singledispatch",
    "singledispatchmethod",
    "total_ordering",
    "update_wrapper",
    "wraps",
]


def attrgetter(*paths: str) -> Callable[[Any], Any]:
    """`operator.attrgetter`, with the rules of an attribute that is written out."""
    if not paths:
        raise TypeError("attrgetter expected at least 1 argument, got 0")
    parts = [[checked_name(part) for part in operator.methodcaller("split", ".")(path)] for path in paths]

    def one(value: Any, names: Sequence[str]) -> Any:
        for name in names:
            value = read_name(value, name)
        return value

    if len(parts) == 1:
        return lambda value, /: one(value, parts[0])
    return lambda value, /: tuple(one(value, names) for names in parts)


def methodcaller(name: str, /, *args: Any, **settings: Any) -> Callable[[Any], Any]:
    """`operator.methodcaller`, with the same rules."""
    method = checked_name(name)
    return lambda value, /: read_name(value, method)(*args, **settings)


def update_wrapper(
    wrapper: Any,
    wrapped: Any,
    assigned: Sequence[str] = functools.WRAPPER_ASSIGNMENTS,
    updated: Sequence[str] = functools.WRAPPER_UPDATES,
) -> Any:
    """`functools.update_wrapper`, for the names that it documents, onto what the snippet made."""
    names, dicts = tuple(assigned), tuple(updated)
    if not {*names} <= {*functools.WRAPPER_ASSIGNMENTS} or not {*dicts} <= {*functools.WRAPPER_UPDATES}:
        raise Forbidden(
            "`assigned` and `updated` can name what functools names itself; set other attributes one by one"
        )
    if type(wrapper) is not functools.partial:
        write(wrapper)
    for name in names:
        if hasattr(wrapped, name):
            setattr(wrapper, name, getattr(wrapped, name))
    if dicts:
        found = getattr(wrapped, "__dict__", {})
        wrapper.__dict__.update((name, value) for name, value in found.items() if not is_special(str(name)))
    wrapper.__wrapped__ = wrapped
    return wrapper


def wraps(
    wrapped: Any,
    assigned: Sequence[str] = functools.WRAPPER_ASSIGNMENTS,
    updated: Sequence[str] = functools.WRAPPER_UPDATES,
) -> Callable[[Any], Any]:
    """`functools.wraps`."""
    return lambda wrapper: update_wrapper(wrapper, wrapped, assigned, updated)


def total_ordering(cls: Any) -> Any:
    """`functools.total_ordering`, for classes of the snippet."""
    return functools.total_ordering(write(cls))


def singledispatch(func: Any) -> Any:
    """`functools.singledispatch`, which takes the class from an argument or an annotation, never from a text."""
    made: Any = functools.singledispatch(func)
    made.register = _register(made.register)
    return made


class singledispatchmethod(functools.singledispatchmethod):  # type: ignore[type-arg]
    """`functools.singledispatchmethod`, in the same way."""

    def __init__(self, func: Any) -> None:
        super().__init__(func)
        self.dispatcher = singledispatch(getattr(func, "__func__", func))


def _register(register: Callable[..., Any]) -> Callable[..., Any]:
    def registered(cls: Any, func: Any = None, method: Any = None) -> Any:
        func = method if func is None else func
        if func is None and not isinstance(cls, type) and hasattr(cls, "__annotations__"):
            notes = [note for name, note in cls.__annotations__.items() if name != "return"]
            if not notes or isinstance(notes[0], str):
                raise Forbidden("an annotation that is a text is not evaluated; write @f.register(int)")
            return register(notes[0], cls)
        return register(cls, func)

    return registered


OURS: Mapping[str, Mapping[str, Any]] = {
    "functools": {
        "WRAPPER_ASSIGNMENTS": functools.WRAPPER_ASSIGNMENTS,
        "WRAPPER_UPDATES": functools.WRAPPER_UPDATES,
        "singledispatch": singledispatch,
        "singledispatchmethod": singledispatchmethod,
        "total_ordering": total_ordering,
        "update_wrapper": update_wrapper,
        "wraps": wraps,
    },
    "operator": {"attrgetter": attrgetter, "methodcaller": methodcaller},
    "string": {"Formatter": formatter(read_name)},
}
