"""Which names a restricted snippet may bind and read: special, reserved, and the builtins that are left out."""

from collections.abc import Collection

from harness.language.survey import Survey
from sandbox_image.language.builtin_names import REFUSED
from sandbox_image.language.names import DEFINABLE, LIBRARY_PRIVATE, RESERVED, SUBSTITUTES, is_special

__all__ = ["Objection", "bound_name", "read_name"]

Objection = tuple[str, str, str]
"""Code, message, hint."""

_OF_A_MODULE = frozenset(("__all__", "__version__", "__author__", "__doc__"))
_READABLE = frozenset(("__name__", "__doc__", "__debug__")) | _OF_A_MODULE
_ENUM_WORDS = frozenset(("_ignore_", "_order_", "_value_repr_"))


def bound_name(name: str, in_class: bool) -> Objection | None:
    """What is wrong with giving something this name; None where nothing is."""
    if is_special(name):
        if name in (DEFINABLE if in_class else _OF_A_MODULE):
            return None
        what = "method" if in_class else "name"
        hint = SUBSTITUTES.get(name, f"give the {what} a plain name")
        return "special_name", f"the special {what} `{name}` cannot be defined", hint
    if RESERVED.fullmatch(name) and name not in LIBRARY_PRIVATE and name not in _ENUM_WORDS:
        return "reserved_name", f"names of the form `{name}` are reserved", f"call it `{name.strip('_')}`"
    return None


def read_name(name: str, found: Survey, tools: Collection[str]) -> Objection | None:
    """What is wrong with reading this name; None where nothing is."""
    if is_special(name) or name in REFUSED:
        if name in _READABLE or (name in DEFINABLE and name in found.bound):
            return None
        if name in REFUSED and not is_special(name) and found.binds(name):
            return None
        hint = REFUSED.get(name) or SUBSTITUTES.get(name, "there is no such thing here")
        return ("special_name" if is_special(name) else "builtin"), f"`{name}` is not available", hint
    if name in tools and not found.binds(name) and "tools" not in found.stars:
        hint = f"write `from tools import {name}` first"
        return "not_imported", f"the tool `{name}` is not imported", hint
    return bound_name(name, in_class=False)
