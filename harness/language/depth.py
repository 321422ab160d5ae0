"""How deep blocks are nested in a snippet.

Python 3.12 and 3.13 end themselves while they compile comprehensions that are nested too deeply.
"""

import ast

__all__ = ["MAX_BLOCKS", "block_weight", "too_deep"]

MAX_BLOCKS = 16
"""Loops, comprehensions, with and try inside each other in one function: Python takes 20 of its own statements."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def too_deep(tree: ast.Module) -> ast.AST | None:
    """The first node that is nested deeper than MAX_BLOCKS; None where there is none. Needs no depth of its own."""
    work: list[tuple[ast.AST, int]] = [(tree, 0)]
    while work:
        node, depth = work.pop()
        depth = 0 if isinstance(node, _FUNCTIONS) else depth + block_weight(node)
        if depth > MAX_BLOCKS:
            return node
        work.extend((child, depth) for child in ast.iter_child_nodes(node))
    return None


def block_weight(node: ast.AST) -> int:
    """How many blocks a node opens while it is compiled."""
    kind = type(node)
    if kind not in _PARTS:
        return 0
    part = _PARTS[kind]
    return len(getattr(node, part)) if part else _ALONE[kind]


_PARTS: dict[type[ast.AST], str] = {
    ast.For: "",
    ast.AsyncFor: "",
    ast.While: "",
    ast.Try: "",
    ast.With: "items",
    ast.AsyncWith: "items",
    ast.ListComp: "generators",
    ast.SetComp: "generators",
    ast.DictComp: "generators",
    ast.GeneratorExp: "generators",
}
"""Node class → the field whose members each open one; empty where the node opens its own."""
_ALONE: dict[type[ast.AST], int] = {ast.For: 1, ast.AsyncFor: 1, ast.While: 1, ast.Try: 2}
