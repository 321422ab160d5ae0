"""Makes the function that a snippet is: a module's top level that may return and await (docs/decisions/0002).

Common to both languages; it refuses nothing but what Python itself would.
"""

import __future__

import ast
from typing import Any

from harness.language.nodes import guard_call
from harness.language.survey import Survey
from sandbox_image.language.names import STAR, VALUE

__all__ = ["ENTRY", "FILE", "Shaped", "shape"]

ENTRY = "__snippet__"
"""What the compiled module defines."""
FILE = "<snippet>"
"""The file name that tracebacks show."""

Shaped = tuple[ast.Module, bool, int]
"""The module that defines the function, whether it awaits, and the compiler's flags."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def shape(tree: ast.Module, found: Survey) -> Shaped:
    """Turn a snippet's tree into a module that defines one function of its statements."""
    flags = 0
    body: list[ast.stmt] = []
    for statement in tree.body:
        future = _future(statement)
        flags |= future
        if not future:
            body.append(_module_statement(_without_star(statement)))
    if found.is_async:
        _resolve_promises(body)
    _return_last(body)
    head: list[ast.stmt] = [ast.Global(sorted(found.top), lineno=1, col_offset=0)] if found.top else []
    arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    make: Any = ast.AsyncFunctionDef if found.awaits else ast.FunctionDef
    last = [] if body else [ast.Pass(lineno=1, col_offset=0)]
    function = make(ENTRY, arguments, [*head, *body, *last], [], lineno=1, col_offset=0)
    if "type_params" in make._fields:
        function.type_params = []
    return ast.Module(body=[function], type_ignores=[]), found.awaits, flags


def _future(statement: ast.stmt) -> int:
    """The flags of a `from __future__` statement; 0 for any other."""
    if not isinstance(statement, ast.ImportFrom) or statement.module != "__future__" or statement.level:
        return 0
    features = [getattr(__future__, alias.name, None) for alias in statement.names]
    flags = 0
    for feature in features:
        flags |= feature.compiler_flag if isinstance(feature, __future__._Feature) else 0
    return flags


def _without_star(statement: ast.stmt) -> ast.stmt:
    """`from m import *` as a call of what does it: inside a function Python refuses the statement."""
    if not isinstance(statement, ast.ImportFrom) or [alias.name for alias in statement.names] != ["*"]:
        return statement
    call = guard_call(statement, STAR, ast.Constant(statement.module))
    return ast.copy_location(ast.Expr(call), statement)


def _module_statement(statement: ast.stmt) -> ast.stmt:
    """A statement as it must be where all names are global: no annotated names, no global statements."""
    flat: ast.stmt = _Flatten().visit(statement)
    return flat


class _Flatten(ast.NodeTransformer):
    """Goes into blocks of the top level, not into functions and classes."""

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if node.value is None:
                return ast.copy_location(ast.Pass(), node)
            return ast.copy_location(ast.Assign([node.target], node.value), node)
        if isinstance(node, ast.Global):
            return ast.copy_location(ast.Pass(), node)
        if isinstance(node, ast.stmt) and not isinstance(node, _SCOPES):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if isinstance(block, list):
                    block[:] = [self.visit(each) for each in block]
            for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                part.body[:] = [self.visit(each) for each in part.body]
        return node


def _return_last(body: list[ast.stmt]) -> None:
    """The value of the last expression is what the snippet returns; `if __name__ == "__main__":` is looked into."""
    if not body:
        return
    last = body[-1]
    if isinstance(last, ast.Expr):
        body[-1] = ast.copy_location(ast.Return(last.value), last)
    elif isinstance(last, ast.If) and _asks_for_main(last.test):
        _return_last(last.body)


def _asks_for_main(test: ast.expr) -> bool:
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    values = {node.value for node in ast.walk(test) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return isinstance(test, ast.Compare) and names == {"__name__"} and values == {"__main__"}


def _resolve_promises(body: list[ast.stmt]) -> None:
    """`is`, `match` and `type(x)` look at an object itself: where it may be a promise they get its value."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Match):
                node.subject = _value_of(node.subject)
            elif isinstance(node, ast.Compare) and any(isinstance(each, ast.Is | ast.IsNot) for each in node.ops):
                node.left = _value_of(node.left)
                node.comparators = [_value_of(each) for each in node.comparators]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type":
                node.args = [each if isinstance(each, ast.Starred) else _value_of(each) for each in node.args]


def _value_of(node: ast.expr) -> ast.expr:
    return node if isinstance(node, ast.Constant) else guard_call(node, VALUE, node)
