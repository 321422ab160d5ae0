"""Python sources: `file.py`, `file.py:names` or `package.module:names`, imported, their tools collected."""

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.core.errors import Fault, Place, RegistryRefused
from harness.registry.decorator import settings_of
from harness.registry.from_function import from_function
from harness.registry.nearest import did_you_mean
from harness.registry.registry import Tool

__all__ = ["load_python"]


def load_python(spec: str, folder: Path, place: Place) -> list[Tool]:
    """The tools of one source. Names are functions, methods (`api.read`) or objects with decorated methods; without
    names every decorated function of the module counts.

    This runs the module: host files are trusted, as the platform team's own code is.
    Raises RegistryRefused with every fault.
    """
    where, _, names = spec.partition(":")
    module = _module(where.strip(), folder, place)
    tools: list[Tool] = []
    faults: list[Fault] = []
    for function in _functions(module, where, names, place, faults):
        try:
            tools.append(from_function(function))
        except RegistryRefused as refused:
            faults += refused.faults
    if not tools and not faults:
        hint = "decorate a function with `@tool(...)`, or name it: `python: tools.py:read_record`"
        faults.append(Fault("no_tools", f"`{where}` holds no tool", hint, place))
    if faults:
        raise RegistryRefused(faults)
    return tools


def _functions(
    module: ModuleType, where: str, names: str, place: Place, faults: list[Fault]
) -> Iterator[Callable[..., object]]:
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if not wanted:
        own = [each for each in vars(module).values() if getattr(each, "__module__", None) == module.__name__]
        yield from (each for each in own if not isinstance(each, type) and settings_of(each))
        return
    for name in wanted:
        value: Any = module
        for step in name.split("."):
            value = getattr(value, step, None)
        if isinstance(value, type):
            hint = f"make an object of it in the module, and name that: `{where}:{name.lower()}`"
            faults.append(Fault("no_such_tool", f"`{name}` in `{where}` is a class, not an object", hint, place))
        elif callable(value):
            yield value
        elif value is not None and (methods := list(_methods(value))):
            yield from methods
        else:
            known = [each for each, found in vars(module).items() if callable(found) and not each.startswith("_")]
            hint = did_you_mean(name, known)
            faults.append(Fault("no_such_tool", f"`{where}` has no function `{name}`", hint, place))


def _methods(value: object) -> Iterator[Callable[..., object]]:
    """The decorated methods of an object, as they stand in its class."""
    for cls in reversed(type(value).__mro__):
        for name in vars(cls):
            method = getattr(value, name, None) if not name.startswith("_") else None
            if callable(method) and settings_of(method):
                yield method


def _module(where: str, folder: Path, place: Place) -> ModuleType:
    if where.endswith(".py") or "/" in where:
        return _from_file(folder / where, where, place)
    beside = folder.joinpath(*where.split(".")).with_suffix(".py")
    if beside.is_file():  # the host's own file, whatever another host of this process has of that name
        return _from_file(beside, where, place)
    if str(folder.resolve()) not in sys.path:
        sys.path.append(str(folder.resolve()))
    try:
        return importlib.import_module(where)
    except ModuleNotFoundError as error:
        if error.name and (where == error.name or where.startswith(f"{error.name}.")):
            hint = "write a file with its ending, `tools.py`; a module must be installed, or lie beside the host file"
            raise RegistryRefused([Fault("no_such_source", f"there is no module `{where}`", hint, place)]) from error
        raise RegistryRefused([_failed(where, error, place)]) from error
    except Exception as error:
        raise RegistryRefused([_failed(where, error, place)]) from error


def _from_file(path: Path, where: str, place: Place) -> ModuleType:
    if not path.is_file():
        raise RegistryRefused(
            [Fault("no_such_source", f"there is no file `{where}`", "the path is relative to the host file", place)]
        )
    path = path.resolve()
    name = f"harness_tools_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RegistryRefused([Fault("no_such_source", f"`{where}` is no Python file", "", place)])
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise RegistryRefused([_failed(where, error, place)]) from error
    return module


def _failed(where: str, error: Exception, place: Place) -> Fault:
    """What importing raised, with the line of the user's file where it happened."""
    trace = error.__traceback__
    line = 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.endswith(where.rsplit("/", 1)[-1]):
            line = trace.tb_lineno
        trace = trace.tb_next
    if isinstance(error, SyntaxError):
        line = error.lineno or line
    text = str(error).strip().splitlines()[0] if str(error).strip() else ""
    spot = f" in line {line}" if line else ""
    message = f"importing `{where}` raised {type(error).__name__}{spot}{': ' if text else ''}{text}"
    return Fault("source_failed", message, "run the file on its own to see the whole traceback", place)
