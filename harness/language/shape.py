"""Makes the function that a snippet is: a module's top level that may return and await (docs/decisions/0002).

Common to both languages; it refuses nothing but what Python itself would.
"""

import __future__
import ast
from collections.abc import Iterator

from sandbox_image.language.names import STAR, VALUE

from harness.language.survey import Survey, bound_by

__all__ = ["ENTRY", "FILE", "Shaped", "misplaced", "shape"]

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
            body.append(_without_star(statement))
    if found.is_async:
        _resolve_promises(body)
    top = [node for statement in body for node in _top_level(statement)]
    awaits = any(isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith) or _is_async(node) for node in top)
    names = sorted({name for node in top for name in _bound(node)})
    body = [_module_statement(statement) for statement in body]
    _return_last(body)
    head: list[ast.stmt] = [ast.Global(names)] if names else []
    arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    make = ast.AsyncFunctionDef if awaits else ast.FunctionDef
    function = make(name=ENTRY, args=arguments, body=[*head, *body] or [ast.Pass()], decorator_list=[])
    if "type_params" in make._fields:
        function.type_params = []  # type: ignore[attr-defined]
    module = ast.Module(body=[ast.copy_location(function, body[0]) if body else function], type_ignores=[])
    return ast.fix_missing_locations(module), awaits, flags


def misplaced(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """What Python refuses at the top of a module and would take in a function: `yield`, `nonlocal`."""
    for statement in tree.body:
        for node in _top_level(statement):
            if isinstance(node, ast.Yield | ast.YieldFrom):
                yield node, "'yield' outside function"
            elif isinstance(node, ast.Nonlocal):
                yield node, "nonlocal declaration not allowed at module level"


def _top_level(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is below it, as far as it runs in the top level's own scope or binds names there."""
    work = [node]
    while work:
        each = work.pop()
        yield each
        if isinstance(each, _SCOPES):
            # What stands around a body runs outside it: decorators, defaults, annotations, bases.
            for name, value in ast.iter_fields(each):
                if name != "body":
                    parts = value if isinstance(value, list) else [value]
                    work.extend(part for part in parts if isinstance(part, ast.AST))
        else:
            work.extend(ast.iter_child_nodes(each))


def _is_async(node: ast.AST) -> bool:
    return isinstance(node, ast.comprehension) and bool(node.is_async)


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names if alias.name != "*")
    elif not isinstance(node, ast.arg):
        yield from bound_by(node)


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
    call = ast.Call(ast.Name(STAR, ast.Load()), [ast.Constant(statement.module)], [])
    return ast.fix_missing_locations(ast.copy_location(ast.Expr(call), statement))


def _module_statement(statement: ast.stmt) -> ast.stmt:
    """A statement as it must be where all names are global: no annotated names, no global statements."""
    return _Flatten().visit(statement)  # type: ignore[no-any-return]


class _Flatten(ast.NodeTransformer):
    """Goes into blocks of the top level, not into functions and classes."""

    def visit(self, node: ast.AST) -> ast.AST:
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
    """`is` and `match` look at an object itself: where it may be a promise they get its value."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Match):
                node.subject = _value_of(node.subject)
            elif isinstance(node, ast.Compare) and any(isinstance(each, ast.Is | ast.IsNot) for each in node.ops):
                node.left = _value_of(node.left)
                node.comparators = [_value_of(each) for each in node.comparators]


def _value_of(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Constant):
        return node
    call = ast.Call(ast.Name(VALUE, ast.Load()), [node], [])
    return ast.fix_missing_locations(ast.copy_location(call, node))
