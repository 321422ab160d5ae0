"""The globals in which a snippet runs, by language: guards, builtins, importer, and what the run gives it.

`plain` has Python's own; there the box alone holds. Standard library only.
"""

import builtins
import copy
import importlib
import sys
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from sandbox_image import chance
from sandbox_image.language import guards, ownership
from sandbox_image.language.builtin_names import EXCEPTIONS, REAL
from sandbox_image.language.evaluate import evaluator
from sandbox_image.language.facades.build import facade
from sandbox_image.language.kinds import MAIN, TYPE_STAND_IN, build_class
from sandbox_image.language.modules import MODULES, covered
from sandbox_image.language.names import AUGMENT, MATCH, OWN, READ, STAR, SUPER, TYPE, VALUE, WRITE

__all__ = ["PLAIN", "RESTRICTED", "build", "warm"]

RESTRICTED, PLAIN = "restricted", "plain"


def build(
    language: str, imports: Collection[str], tools: types.ModuleType, extras: Mapping[str, Any]
) -> dict[str, Any]:
    """The globals of a snippet. `extras` are the names that the run gives it; `__value__` is what resolves a promise.

    Raises ValueError for a language that is not known: nothing runs in a language by mistake (A19).
    """
    main = types.ModuleType(MAIN)
    names = main.__dict__
    for loader in ("__loader__", "__spec__", "__package__"):
        names.pop(loader, None)
    names[VALUE] = _same
    names.update(extras)
    if language == PLAIN:
        chance.patch_datetime()
        names["__builtins__"] = builtins
        names[STAR] = _star(importlib.import_module, names)
    elif language == RESTRICTED:
        _restrict(names, frozenset(imports), tools)
    else:
        raise ValueError(f"`{language}` is no language of a snippet")
    sys.modules[MAIN] = main
    return names


def warm() -> None:
    """Import what façades are made of, so that a fork need not; leaves nothing of any run."""
    for name in MODULES:
        importlib.import_module(name)


def _look_up_on_the_class(value: Any, name: str, *default: Any) -> Any:
    """`getattr` of the module copy: how an object is taken apart is its class's word, not an attribute's."""
    if name not in ("__reduce_ex__", "__reduce__"):
        return getattr(value, name, *default)
    found = getattr(type(value), name)
    return lambda *protocol: found(value, *protocol)


def _same(value: Any) -> Any:
    return value


def _restrict(names: dict[str, Any], imports: frozenset[str], tools: types.ModuleType) -> None:
    guards.VIEWS.now = chance.now
    guards.VIEWS.value = names[VALUE]
    vars(copy)["getattr"] = _look_up_on_the_class
    load = _importer(imports, tools)
    names["__builtins__"] = _builtins(names, load)
    names[OWN], names[WRITE], names[READ], names[MATCH] = ownership.own, ownership.write, guards.read, guards.match
    names[TYPE], names[SUPER], names[AUGMENT] = type, ownership.parent, guards.augment
    names[STAR] = _star(lambda module: load(module, fromlist=("*",)), names)


def _star(load: Callable[[str], Any], names: dict[str, Any]) -> Callable[[str], None]:
    """`from module import *` at the top of a snippet."""

    def star(module: str) -> None:
        found = load(module)
        listed = getattr(found, "__all__", None)
        public = [name for name in vars(found) if not name.startswith("_")] if listed is None else listed
        names.update((name, getattr(found, name)) for name in public)

    return star


# --- import ----------------------------------------------------------------------------------------------------------


def _importer(imports: frozenset[str], tools: types.ModuleType) -> Callable[..., Any]:
    """`__import__`, which gives façades and the tools module, and knows no other module."""
    made: dict[str, types.ModuleType] = {}

    def get(name: str) -> types.ModuleType:
        if name not in made:
            made[name] = facade(name, imports)
        return made[name]

    def load(name: str, parts: Sequence[str], level: int) -> types.ModuleType:
        if level:
            raise ImportError("relative imports have nothing to be relative to: a snippet is one module")
        if name == "tools":
            return tools
        if not covered(name, imports):
            allowed = ", ".join(sorted(imports)) or "nothing"
            raise ImportError(f"module `{name}` is not among the contract's imports ({allowed})", name=name)
        found = get(name)
        for part in parts:
            if part != "*" and part not in vars(found):
                getattr(found, part)
        return found if parts else get(name.partition(".")[0])

    whole: dict[str, types.ModuleType] = {}

    def import_(
        name: str,
        globals: object = None,
        locals: object = None,
        fromlist: "Sequence[str] | None" = (),
        level: int = 0,
    ) -> "types.ModuleType | None":
        if type(fromlist) is list:
            # Python's own C code (strptime, strftime): it looks among the loaded modules itself, and gives none away.
            importlib.import_module(name)
            return None
        if not fromlist and not level and name in whole:
            return whole[name]
        try:
            found = load(name, fromlist or (), level)
        except AttributeError as error:
            raise ImportError(str(error)) from None
        if not fromlist:
            whole[name] = found
        return found

    return import_


# --- builtins --------------------------------------------------------------------------------------------------------


def _builtins(names: dict[str, Any], import_: Callable[..., Any]) -> dict[str, Any]:
    found = {name: getattr(builtins, name) for name in REAL | EXCEPTIONS}

    def own_names() -> dict[str, Any]:
        """The snippet's global names, as a copy."""
        return {name: value for name, value in names.items() if name.isidentifier() and not name.startswith("__")}

    def vars_(*value: Any) -> Any:
        """The attributes of an object of the snippet's own classes."""
        return guards.read(value[0], "__dict__") if value else own_names()

    def dir_(*value: Any) -> list[str]:
        """The public names of an object, or of the snippet."""
        return [name for name in (dir(value[0]) if value else sorted(own_names())) if not name.startswith("_")]

    found.update(
        getattr=guards.read_name,
        setattr=ownership.change,
        delattr=ownership.delete,
        globals=own_names,
        vars=vars_,
        dir=dir_,
        eval=evaluator(names, lambda: found),
        type=TYPE_STAND_IN,
        __import__=import_,
        __build_class__=build_class(builtins.__build_class__),
    )
    return found
