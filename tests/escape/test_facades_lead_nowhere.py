"""A10, A11: from no vetted module and no builtin does a chain of public names lead to a module, a frame or a loop."""

import asyncio
import builtins
import importlib
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox_image.language import namespace
from sandbox_image.language.facades.build import facade
from sandbox_image.language.modules import MODULES, STANDARD
from sandbox_image.language.names import GUARDED, LIBRARY_PRIVATE, OPAQUE, READABLE
from tests.language.inbox import RESTRICTED, run

DEPTH = 3
POWERS = [
    *(builtins.exec, builtins.eval, builtins.compile, builtins.open, builtins.__import__, builtins.type),
    *(builtins.getattr, builtins.setattr, builtins.delattr, builtins.vars, builtins.globals, builtins.locals),
]
ENDS = (
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)
"""What C code is called by: its public attributes are its name and its text."""
MACHINERY = {"os", "posix", "subprocess", "importlib", "_imp", "marshal", "ctypes", "inspect", "gc", "shutil", "socket"}


def readable(name: str) -> bool:
    """Whether a snippet may read an attribute of this name of anything."""
    if name in OPAQUE or name in GUARDED:
        return False
    return not name.startswith("_") or name in LIBRARY_PRIVATE or name in READABLE


def is_power(value: Any) -> bool:
    """Whether having it would be a way out of the language."""
    if isinstance(value, types.ModuleType):
        return not value.__name__.endswith("(restricted)")
    if isinstance(value, types.FrameType | types.CodeType | asyncio.AbstractEventLoop):
        return True
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType) and value.__module__ in MACHINERY:
        return True
    return any(value is power for power in POWERS)


def powers(path: str, value: Any, seen: dict[int, Any], depth: int = 0) -> Iterator[str]:
    """The paths below `path` that reach what no snippet may have."""
    if id(value) in seen:
        return
    seen[id(value)] = value
    if is_power(value):
        yield path
        return
    if depth == DEPTH or isinstance(value, ENDS):
        return
    for name in filter(readable, dir(value)):
        try:
            found = getattr(value, name)
        except Exception:  # noqa: BLE001 (whatever a property raises, it gave nothing)
            continue
        yield from powers(f"{path}.{name}", found, seen, depth + 1)
    for item in (
        value.values() if type(value) is dict else value if type(value) in (tuple, list, set, frozenset) else ()
    ):
        yield from powers(f"{path}[…]", item, seen, depth + 1)


@pytest.mark.parametrize("module", STANDARD)
def test_a_module_leads_nowhere(module):
    """Three steps of public names from its façade meet no module outside the list, no frame, no event loop."""
    assert list(powers(module, facade(module, frozenset(STANDARD)), {})) == []


def test_the_builtins_lead_nowhere(monkeypatch):
    """Nor do they from the builtins; `__import__` and `__build_class__` are there for Python's own statements alone."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    names = namespace.build("restricted", STANDARD, types.ModuleType("tools"), {})
    seen: dict[int, Any] = {}
    found = {name: value for name, value in names["__builtins__"].items() if not name.startswith("__")}
    assert [path for name, value in found.items() for path in powers(name, value, seen)] == []


@pytest.mark.parametrize("module", STANDARD)
def test_every_listed_name_exists_and_no_other_is_given(module):
    """The table tells the truth: what it lists is there on this Python, and what it does not is not."""
    made = facade(module, frozenset(STANDARD))
    given = {name for name in vars(made) if not name.startswith("__")}
    below = {name.rpartition(".")[2] for name in MODULES if name.rpartition(".")[0] == module}
    late = {"stdout", "stderr"} if module == "sys" else set()
    assert given | late == MODULES[module].names | (below & given)


@pytest.mark.parametrize("module", STANDARD)
def test_what_stands_in_is_named(module):
    """A name whose value is not the real module's is listed as ours."""
    real, made = importlib.import_module(module), facade(module, frozenset(STANDARD))
    other = {
        name for name in MODULES[module].names if name in vars(made) and vars(made)[name] is not getattr(real, name)
    }
    assert other <= MODULES[module].stands_in


@pytest.mark.parametrize("module", STANDARD)
def test_every_way_of_importing_works(module):
    """`import m`, `import m as x`, `from m import *` and `from m import name`, as in Python."""
    name = min(MODULES[module].names)
    imports = f"import {module}\nimport {module} as x\nfrom {module} import *\nfrom {module} import {name} as y\n"
    assert run(f"{imports}return y is x.{name}", RESTRICTED) is True
