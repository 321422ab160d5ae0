"""The builtin `eval` as a restricted snippet has it: sums and choices of values by name, and nothing with a dot in it.

Standard library only.
"""

import ast
import sys
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["MAX_CHARS", "evaluator"]

MAX_CHARS = 10_000
"""Of one expression; a longer one is data."""

_ALLOWED: tuple[type[ast.AST], ...] = (
    ast.Expression,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.Constant,
    ast.List,
    ast.Tuple,
    ast.Set,
    ast.Dict,
    ast.Subscript,
    ast.Slice,
    ast.Name,
    ast.Load,
    ast.Call,
    ast.keyword,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
)


def evaluator(names: Mapping[str, Any], builtins: Callable[[], Mapping[str, Any]]) -> Callable[..., Any]:
    """`eval` over the snippet's `names`, with its builtins."""

    def eval_(source: str, globals: Any = None, locals: Any = None, /) -> Any:
        """The value of an expression of constants, names, operators, items and calls by name."""
        if not isinstance(source, str):
            raise TypeError("eval() takes the text of an expression")
        tree = _parsed(str.__str__(source).strip())
        if globals is None:
            frame = sys._getframe(1)
            within: dict[str, Any] = {**names, **(frame.f_locals if frame.f_globals is names else {})}
        else:
            within = dict(globals)
        within.update(locals or {})
        within["__builtins__"] = dict(builtins())
        return eval(compile(tree, "<expression>", "eval"), within)  # every node of it was looked at

    return eval_


def _parsed(text: str) -> ast.Expression:
    if len(text) > MAX_CHARS:
        raise ValueError(f"eval() takes at most {MAX_CHARS} characters")
    tree = ast.parse(text, "<expression>", "eval")
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            raise ValueError(f"eval() takes constants, names, operators and calls by name, not `{type(node).__name__}`")
        if isinstance(node, ast.Name) and (node.id.startswith("_") or node.id == "super"):
            raise ValueError(f"eval() does not take the name `{node.id}`")
    return tree
