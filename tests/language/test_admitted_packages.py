"""Packages that a platform team admits: listed one by one, given as they are, trusted as a whole."""

# ruff: noqa: E501 (a snippet stands on one line)

import sys

import pytest

from harness.core.errors import SnippetRefused
from tests.language.inbox import checked, run

MAIN = """
import os
from admitted_pkg import inner
VALUE = 7
_hidden = 8

def leak():
    import os
    return os.getpid() > 0

class Thing:
    x = 1
"""


@pytest.fixture(autouse=True)
def package(tmp_path, monkeypatch):
    """A package on the path, with a module in it."""
    folder = tmp_path / "admitted_pkg"
    folder.mkdir()
    (folder / "__init__.py").write_text(MAIN)
    (folder / "inner.py").write_text("import sys\nDEEP = 9\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in ("admitted_pkg", "admitted_pkg.inner"):
        sys.modules.pop(name, None)


def refusal(source: str, *imports: str) -> str:
    """Why a snippet is refused."""
    with pytest.raises(SnippetRefused) as caught:
        checked(source, imports=imports)
    return str(caught.value)


def test_what_nobody_listed_is_not_there():
    """A02, A16: an allow-list, so a package that is only installed cannot be imported."""
    assert refusal("import admitted_pkg", "json") == (
        "line 1:8: module `admitted_pkg` is not in the contract's imports (allowed: json)"
    )


def test_a_listed_package_gives_its_public_names_and_no_module():
    """A11, A16: values, functions and classes as they are; what it imported for itself stays its own."""
    source = (
        "import admitted_pkg\nfrom admitted_pkg import VALUE, Thing\n"
        "return [VALUE, Thing().x, hasattr(admitted_pkg, 'os'), hasattr(admitted_pkg, 'inner'), dir(admitted_pkg)]"
    )
    assert run(source, imports=["admitted_pkg"]) == [7, 1, False, False, ["Thing", "VALUE", "leak"]]


def test_what_its_functions_do_inside_is_not_looked_at():
    """A16: each listed package is trusted as a whole; the box's limits still hold around it."""
    assert run("import admitted_pkg\nreturn admitted_pkg.leak()", imports=["admitted_pkg"]) is True


def test_its_modules_are_listed_one_by_one():
    """A16: the list is explicit, never transitive, in neither direction."""
    assert refusal("import admitted_pkg.inner", "admitted_pkg") == (
        "line 1:8: module `admitted_pkg.inner` is not in the contract's imports (allowed: admitted_pkg)"
    )
    source = "import admitted_pkg.inner as inner, admitted_pkg\nreturn [inner.DEEP, dir(inner), dir(admitted_pkg)]"
    assert run(source, imports=["admitted_pkg.inner"]) == [9, ["DEEP"], ["inner"]]


def test_a_module_of_python_without_a_facade_is_never_admitted():
    """A02, A10: listing `os` does not help: in the restricted language there is no such façade."""
    assert refusal("import os", "os", "json") == (
        "line 1:8: module `os` is not in the contract's imports (there are no files and no processes; "
        "time and chance come from `time` and `random`; allowed: json)"
    )


def test_classes_of_a_package_cannot_be_changed():
    """A22: what is admitted is given, not lent."""
    with pytest.raises(AttributeError) as caught:
        run("from admitted_pkg import Thing\nThing.x = 2", imports=["admitted_pkg"])
    assert str(caught.value) == (
        "attributes of others cannot be set; `Thing` is not a class of the snippet: derive one from it"
    )


def test_a_snippet_can_derive_from_its_classes():
    """A class of an admitted package is a base like those of the listed modules."""
    source = "from admitted_pkg import Thing\nclass Mine(Thing):\n    def f(self):\n        self._y = 2\n        return self.x + self._y\nreturn Mine().f()"
    assert run(source, imports=["admitted_pkg"]) == 3
