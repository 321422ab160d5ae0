"""Files stay small, functions short, parameters few: what the import rules cannot see."""

import ast

from tests.architecture.source import modules, name, tree

MAX_FILE_LINES = 350
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 6


def test_no_file_is_longer_than_350_lines() -> None:
    """A longer file holds a second concept; there is no exception list."""
    sizes = {name(path): len(path.read_text("utf-8").splitlines()) for path in modules()}
    assert {path: size for path, size in sizes.items() if size > MAX_FILE_LINES} == {}


def _functions(path):
    return (node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_no_function_is_longer_than_60_lines() -> None:
    """Counted from `def` to its last line."""
    long = {
        f"{name(path)}:{node.lineno} {node.name}": node.end_lineno - node.lineno + 1
        for path in modules()
        for node in _functions(path)
        if node.end_lineno - node.lineno + 1 > MAX_FUNCTION_LINES
    }
    assert long == {}


def test_no_function_takes_more_than_six_positional_parameters() -> None:
    """From the seventh on it wants a frozen value; keyword-only settings of a public decorator are data already."""
    wide = {
        f"{name(path)}:{node.lineno} {node.name}": len(parameters)
        for path in modules()
        for node in _functions(path)
        if len(
            parameters := [arg.arg for arg in node.args.posonlyargs + node.args.args if arg.arg not in ("self", "cls")]
        )
        > MAX_PARAMETERS
    }
    assert wide == {}


def test_every_module_begins_with_a_docstring_that_says_what_it_is() -> None:
    """The first line of a file names its one concept."""
    bare = [name(path) for path in modules() if path.stat().st_size and not ast.get_docstring(tree(path))]
    assert bare == []
