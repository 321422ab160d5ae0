"""The policy as data: complete for this Python, explained line by line, and the same in the documents."""

import ast
import importlib
import re
import types
from pathlib import Path

import pytest
from RestrictedPython.transformer import INSPECT_ATTRIBUTES, RestrictingNodeTransformer

from harness.contract.policy import STANDARD_MODULES
from harness.core.errors import Fault, Place
from harness.language.policy import KINDS, REFUSED_KINDS
from harness.language.restrict import MINIMUM_VERSION, Restricted, assert_version
from harness.language.survey import survey
from sandbox_image.language.facades.build import facade
from sandbox_image.language.modules import MODULES, STANDARD
from sandbox_image.language.names import OPAQUE
from tests.language.inbox import faults, run

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs/language.md").read_text("utf-8")

NOT_IN_A_SNIPPET = frozenset(["Module", "Interactive", "Expression", "FunctionType", "TypeIgnore"])
"""Roots of trees, and what only a comment makes."""
OLD = frozenset(
    ["Num", "Str", "Bytes", "NameConstant", "Ellipsis", "Index", "ExtSlice", "Suite", "AugLoad", "AugStore", "Param"]
)
"""What Python keeps for readers of old trees and never makes."""


def _kinds_of_python() -> set[str]:
    kinds = {kind.__name__ for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)}
    abstract = {base.__name__ for name in kinds for base in getattr(ast, name).__bases__} - {"Constant"}
    return kinds - abstract - NOT_IN_A_SNIPPET - OLD


def test_every_node_kind_of_this_python_is_decided():
    """D19: each stands in one of the two tables; what a later Python adds stands in neither, and is refused."""
    assert _kinds_of_python() - KINDS.keys() - REFUSED_KINDS.keys() == set()
    assert KINDS.keys() & REFUSED_KINDS.keys() == set()


def test_every_line_has_its_reason():
    """Kinds, refusals and modules: a reviewer reads why."""
    assert [name for name, kind in KINDS.items() if not kind.reason] == []
    assert [name for name, kind in REFUSED_KINDS.items() if not (kind.reason and kind.hint)] == []
    assert [name for name, module in MODULES.items() if not module.reason] == []


def test_an_invented_node_kind_is_refused():
    """D19: a statement of a Python to come, as the tree would hold it."""

    class Defer(ast.stmt):
        _fields = ("body",)

    source = "x = 1\nprint(x)"
    tree = ast.parse(source)
    tree.body[1] = ast.copy_location(Defer([tree.body[1]]), tree.body[1])
    assert Restricted(source, survey(ast.parse(source)), (), ()).check(tree) == [
        Fault(
            "syntax_kind",
            "the syntax `Defer` is not known to the restricted language",
            "write it in other words",
            Place(line=2, column=1),
        )
    ]


def test_new_syntax_of_newer_pythons():
    """D19: where this Python parses it, it is refused by name; where it does not, as syntax."""
    for source in ("type X = int", "def f[T](x: T): return x", "class A[T]: pass"):
        found = faults(source)
        assert len(found) == 1
        assert re.search(r"a type (statement|parameter) is not allowed|invalid syntax|expected|forgot", found[0])


def test_what_the_library_refuses_is_refused():
    """Names of frames and code, as RestrictedPython knows them, are a part of ours."""
    assert set() == INSPECT_ATTRIBUTES - OPAQUE


def test_the_check_is_the_librarys_transformer_at_a_version_that_is_asserted():
    """A09, A19: a subclass of it, with its refusal of unknown nodes, and never on an older release."""
    assert issubclass(Restricted, RestrictingNodeTransformer)
    assert MINIMUM_VERSION == (9, 0)
    assert_version()


@pytest.mark.parametrize("name", MODULES)
def test_a_facade_has_what_its_line_says(name):
    """Every listed name is there in this Python, and nothing that is not listed; no value of it is another's module."""
    made = facade(name, frozenset(MODULES))
    below = {each.rpartition(".")[2] for each in MODULES if each.rpartition(".")[0] == name}
    late = {"stdout", "stderr"} if name == "sys" else set()
    public = {each for each in vars(made) if not each.startswith("__")}
    assert public == (MODULES[name].names | below) - late
    assert {each for each in public - below if isinstance(getattr(made, each), types.ModuleType)} == set()


@pytest.mark.parametrize("name", STANDARD)
def test_a_standard_module_can_be_imported(name):
    """D14: each of the standard list, by its own name and by an alias."""
    assert run(f"import {name}\nimport {name} as alias\nreturn True") is True
    importlib.import_module(name)


def test_what_the_policy_lists_by_default_has_a_facade():
    """D14: no contract gets a module by default that the language then refuses."""
    assert set(STANDARD_MODULES) - MODULES.keys() == set()


def test_the_documents_list_the_modules_and_the_codes():
    """docs/language.md names every module that has a façade, and every code of a fault."""
    listed = re.search(r"These have one:\n\n(.*?)\n\n", DOCUMENT, re.S)
    assert listed
    names = {re.sub(r"\s*\(.*?\)", "", each).strip(" .\n") for each in re.split(r",\s", listed.group(1))}
    assert names == set(STANDARD)
    folder = Path(__file__).resolve().parents[2] / "harness/language"
    used = set()
    for path in folder.glob("*.py"):
        text = path.read_text("utf-8")
        used |= set(re.findall(r'(?:faults\.add\([a-z_.()]+, |Fault\(|return )"([a-z_]+)"', text))
    assert {code for code in used if f"`{code}`" not in DOCUMENT} <= {"more"}
