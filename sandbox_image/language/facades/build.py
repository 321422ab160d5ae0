"""Makes the façade of a module: a module of its own that holds the listed names and nothing else.

What is not in it cannot be reached through it, and a snippet cannot change it (A11, A22). Standard library only.
"""

import importlib
import types
from collections.abc import Callable, Mapping
from typing import Any

from sandbox_image.language.facades import classes, facts, reflection, running
from sandbox_image.language.modules import names_of, submodules_of

__all__ = ["facade"]

_OURS: Mapping[str, Mapping[str, Any]] = {**classes.OURS, **facts.OURS, **reflection.OURS, **running.OURS}
"""Module → name → what stands in for it."""
_NO_MODULE = " (restricted)"
"""Ends the `__name__` of a façade: Python looks for `name.part` among all loaded modules when a from-import fails."""


def facade(name: str, imports: frozenset[str]) -> types.ModuleType:
    """The module `name` as a snippet with these imports sees it. Raises ImportError where it does not exist."""
    real = importlib.import_module(name)
    made = types.ModuleType(name + _NO_MODULE, doc=None)
    names = names_of(name, imports)
    below = submodules_of(name, imports)
    ours = _OURS.get(name, {})
    late = facts.LATE if name == "sys" else {}
    for each in _public(real) if names is None else sorted(names - below - late.keys()):
        found = ours.get(each, getattr(real, each, _MISSING))
        if found is not _MISSING and not isinstance(found, types.ModuleType):
            made.__dict__[each] = found
    for part in sorted(below):
        made.__dict__[part] = facade(f"{name}.{part}", imports)
    if late:
        made.__dict__["__getattr__"] = _looked_up(late)
    return made


_MISSING = object()


def _public(real: types.ModuleType) -> list[str]:
    """Of a package that a platform team admitted: what it says is public."""
    listed = getattr(real, "__all__", None)
    return [each for each in (listed if listed is not None else vars(real)) if not each.startswith("_")]


def _looked_up(late: Mapping[str, Callable[[], Any]]) -> Callable[[str], Any]:
    def __getattr__(name: str) -> Any:
        if name in late:
            return late[name]()
        raise AttributeError(f"module 'sys (restricted)' has no attribute '{name}'")

    return __getattr__
