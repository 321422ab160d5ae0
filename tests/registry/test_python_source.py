"""Python sources: files and modules that a host file names."""

import sys

import pytest

from harness.core.errors import Place, RegistryRefused
from harness.registry.python_source import load_python

TOOLS = '''
from helper_of_tools import GREETING
from harness.registry.decorator import tool


@tool(effect="read")
def hello(name: str) -> str:
    """Say hello."""
    return GREETING + name


def plain(x: int) -> int:
    return x


class Api:
    @tool(effect="read")
    def look(self) -> int:
        return 1

    def hidden(self) -> int:
        return 2


api = Api()
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "helper_of_tools.py").write_text("GREETING = 'hello '\n")
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def _names(folder, spec: str) -> list[str]:
    return [tool.contract.name for tool in load_python(spec, folder, Place("harness.yaml", key="tools[0]"))]


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ("tools.py", ["hello"]),
        ("tools.py:plain, hello", ["plain", "hello"]),
        ("tools.py:api", ["look"]),
        ("tools.py:api.hidden", ["hidden"]),
        ("tools:hello", ["hello"]),
        ("./tools.py", ["hello"]),
    ],
)
def test_a_source_gives_the_functions_that_it_names(folder, spec: str, names: list[str]) -> None:
    """Decorated ones where none is named; methods of objects; files that import what lies beside them."""
    assert _names(folder, spec) == names


@pytest.mark.parametrize(
    ("spec", "message", "hint"),
    [
        ("nope.py", "there is no file `nope.py`", "the path is relative to the host file"),
        ("tools.py:helo", "`tools.py` has no function `helo`", "did you mean `hello`?"),
        (
            "tools.py:Api",
            "`Api` in `tools.py` is a class, not an object",
            "make an object of it in the module, and name that: `tools.py:api`",
        ),
        (
            "helper_of_tools.py",
            "`helper_of_tools.py` holds no tool",
            "decorate a function with `@tool(...)`, or name it: `python: tools.py:read_record`",
        ),
        (
            "no_such_module_here",
            "there is no module `no_such_module_here`",
            "write a file with its ending, `tools.py`; a module must be installed, or lie beside the host file",
        ),
    ],
)
def test_a_source_that_cannot_be_found_is_told(folder, spec: str, message: str, hint: str) -> None:
    """With the key of the host file and a way out."""
    with pytest.raises(RegistryRefused) as refused:
        _names(folder, spec)
    fault = refused.value.faults[0]
    assert (fault.message, fault.hint, str(fault.place)) == (message, hint, "harness.yaml tools[0]")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\nraise RuntimeError('broken')\n", "importing `bad.py` raised RuntimeError in line 2: broken"),
        ("def f(:\n", "importing `bad.py` raised SyntaxError in line 1: invalid syntax (bad.py, line 1)"),
        (
            "import not_installed_here\n",
            "importing `bad.py` raised ModuleNotFoundError in line 1: No module named 'not_installed_here'",
        ),
    ],
)
def test_a_source_that_breaks_names_its_line(folder, text: str, message: str) -> None:
    """The user's own error, not a traceback through the harness."""
    (folder / "bad.py").write_text(text)
    with pytest.raises(RegistryRefused) as refused:
        _names(folder, "bad.py")
    assert refused.value.faults[0].message == message


def test_every_fault_of_a_source_is_told(folder) -> None:
    """Two wrong tools are two faults."""
    (folder / "two.py").write_text("def f(*a: int) -> None: ...\ndef g(**b: int) -> None: ...\n")
    with pytest.raises(RegistryRefused) as refused:
        _names(folder, "two.py:f,g,h")
    assert [fault.code for fault in refused.value.faults] == ["bad_annotation", "bad_annotation", "no_such_tool"]
