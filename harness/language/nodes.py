"""New nodes in a snippet's tree: calls of the guards, at the place of what they stand around."""

import ast

__all__ = ["guard_call"]


def guard_call(place: ast.AST, guard: str, *arguments: ast.expr) -> ast.Call:
    """A call of a guard, shown in tracebacks at `place`; the arguments have places of their own, or get this one."""
    for argument in arguments:
        if isinstance(argument, ast.Constant):
            ast.copy_location(argument, place)
    name = ast.copy_location(ast.Name(guard, ast.Load()), place)
    return ast.copy_location(ast.Call(name, list(arguments), []), place)
