"""The codes that the source can produce, read from its text: what stands where a `code` is taken."""

import ast
from collections.abc import Iterator, Mapping

from tests.architecture.source import modules, tree

__all__ = ["fault_codes", "hostile_codes"]

FAULTS: Mapping[str, int] = {"Fault": 0, "refuse": 0}
"""Where the code stands in a call; functions that take a `code` and hand it on are found by themselves."""
HOSTILE: Mapping[str, int] = {"HostileInput": 0}
NOT_OF_FAULTS = {"_named", "_broken", "_read", "_tell", "at_most"}
"""Functions of this name have a parameter `code` that is something else: compiled code, a status, a text."""


def fault_codes() -> set[str]:
    """Every code of a fault that the harness can produce."""
    return _codes({**FAULTS, **_handing_on()}) | _returned()


def hostile_codes() -> set[str]:
    """Every code with which what came from outside is refused."""
    return _codes(HOSTILE)


def _handing_on() -> dict[str, int]:
    found: dict[str, int] = {}
    for path in modules("harness"):
        for node in ast.walk(tree(path)):
            if not isinstance(node, ast.FunctionDef) or node.name in NOT_OF_FAULTS or node.name == "__init__":
                continue
            names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
            if "code" in names:
                found[node.name] = names.index("code") - (names[0] in ("self", "cls"))
    return found


def _codes(takers: Mapping[str, int]) -> set[str]:
    """What stands where the takers take their code."""
    found: set[str] = set()
    for path in modules("harness"):
        for function in _functions(tree(path)):
            words = {**_assigned(tree(path)), **_assigned(function)}
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and (position := takers.get(_name(node.func))) is not None:
                    given = [each.value for each in node.keywords if each.arg == "code"]
                    for argument in given or node.args[position : position + 1]:
                        found.update(_texts(argument, words))
    return found


def _returned() -> set[str]:
    """The language's rules of names give code, message and hint back."""
    return {
        node.value.elts[0].value
        for path in modules("harness")
        if path.parent.name == "language"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 3
        if isinstance(node.value.elts[0], ast.Constant) and isinstance(node.value.elts[0].value, str)
    }


def _functions(module: ast.Module) -> Iterator[ast.AST]:
    yield from (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    yield from (node for node in module.body if not isinstance(node, ast.FunctionDef | ast.ClassDef))


def _assigned(scope: ast.AST) -> dict[str, ast.expr]:
    """The names of a scope that are given a value once."""
    return {
        target.id: node.value
        for node in ast.iter_child_nodes(scope)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    } | {
        node.targets[0].id: node.value
        for node in (ast.walk(scope) if isinstance(scope, ast.FunctionDef) else ())
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def _texts(node: ast.expr, words: Mapping[str, ast.expr]) -> Iterator[str]:
    """The texts that an expression can be: a literal, either side of a choice, a name that holds one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body, words)
        yield from _texts(node.orelse, words)
    elif isinstance(node, ast.Name) and node.id in words:
        yield from _texts(words[node.id], {})
    elif isinstance(node, ast.JoinedStr):
        yield "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Name):
        return function.id
    return function.attr if isinstance(function, ast.Attribute) else ""
