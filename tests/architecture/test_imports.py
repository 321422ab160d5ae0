"""Where imports may stand and which files may hold the dangerous ones."""

import ast
import sys

import pytest

from tests.architecture.source import ROOT, imports, modules, name, tree

SUBPROCESS_FILES = {
    "harness/sandbox/bwrap_program.py",
    "harness/sandbox/libraries.py",
    "harness/sandbox/process.py",
    "harness/toolsets/suite_box.py",
}
SOCKET_FILES = {
    "harness/front/selftest/machine.py",
    "harness/gateway/server.py",
    "harness/outbound/addresses.py",
    "harness/outbound/client.py",
    "harness/sandbox/bubblewrap.py",
    "harness/sandbox/docker_box.py",
    "harness/sandbox/local_box.py",
    "harness/sandbox/owner.py",
    "harness/sandbox/rendezvous.py",
    "harness/sandbox/stream.py",
    "harness/sandbox/undertaker.py",
    "harness/sandbox/zygote.py",
    "harness/testing/script_box.py",
    "harness/toolsets/egress_forward.py",
}


def _files_with(module: str) -> set[str]:
    return {
        name(path)
        for path in modules("harness", "tool_stubs")
        if any(found == module or found.startswith(module + ".") for found, _ in imports(path))
    }


def test_only_named_files_start_processes() -> None:
    """`subprocess` stands only where a reviewer looks for it."""
    assert _files_with("subprocess") == SUBPROCESS_FILES


def test_only_named_files_open_sockets() -> None:
    """`socket` stands only where a reviewer looks for it."""
    assert _files_with("socket") == SOCKET_FILES


def test_what_is_in_the_box_uses_the_standard_library_alone() -> None:
    """The box imports nothing that is not in Python itself, and nothing of the host."""
    own = {"sandbox_image", "tool_stubs"}
    foreign = [
        f"{name(path)}:{line} {module}"
        for path in modules("sandbox_image", "tool_stubs")
        for module, line in imports(path)
        if module.split(".")[0] not in sys.stdlib_module_names | own and not module.startswith(".")
    ]
    assert foreign == []


def test_imports_stand_at_the_top_of_a_file() -> None:
    """An import inside a function hides a dependency; the lazy exports of the package are the one exception."""
    hidden = [
        f"{name(path)}:{node.lineno}"
        for path in modules("harness", "tool_stubs")
        for function in ast.walk(tree(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert hidden == []


@pytest.mark.parametrize("path", [path for path in modules() if path.name != "__init__.py"], ids=name)
def test_all_is_equal_to_what_is_public(path) -> None:
    """`__all__` names every public function and class of the module, and nothing that is not there."""
    body = tree(path).body
    listed = next(
        (
            ast.literal_eval(node.value)
            for node in body
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
        ),
        None,
    )
    assert listed is not None, "the module has no __all__"
    defined = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    assigned = {
        name_node.id
        for node in body
        for target in (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for name_node in ast.walk(target)
        if isinstance(name_node, ast.Name)
    }
    imported = {
        (alias.asname or alias.name) for node in body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    public = {each for each in defined if not each.startswith("_")}
    assert set(listed) - (defined | assigned | imported) == set()
    assert public - set(listed) == set()
    assert len(listed) == len(set(listed))


def test_the_package_exports_what_it_says() -> None:
    """Every name of `harness.__all__` resolves."""
    sys.path.insert(0, str(ROOT))
    import harness

    assert [each for each in harness.__all__ if not hasattr(harness, each)] == []
