"""Where in a snippet a node stands: at the top, in a class body, in a function, and whose `self` is within sight."""

import ast
from dataclasses import dataclass, field

from harness.language.nodes import guard_call
from harness.language.survey import bound_by
from sandbox_image.language.names import OWN

__all__ = ["Method", "Scope", "method_of"]

_FIRST = ("self", "cls", "mcs")
"""What the first parameter of a method is called, by everybody."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class Method:
    """A method whose first parameter is an object of its class, which one guard at its start makes sure of."""

    node: Function
    first: str
    _trusted: bool | None = field(default=None)
    _guarded: bool = field(default=False)

    def trusts(self, value: ast.expr) -> bool:
        """Whether an expression is that parameter, which the method never binds anew; puts the guard at its start."""
        if not isinstance(value, ast.Name) or value.id != self.first:
            return False
        if self._trusted is None:
            self._trusted = not self._is_rebound()
        if self._trusted and not self._guarded:
            self._guard()
        return self._trusted

    def _is_rebound(self) -> bool:
        own = (self.node.args.posonlyargs or self.node.args.args)[0]
        for node in ast.walk(self.node):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            else:
                names = set(bound_by(node)) if node is not own else set()
            if self.first in names:
                return True
        return False

    def _guard(self) -> None:
        body = self.node.body
        at = 1 if ast.get_docstring(self.node, clean=False) is not None and len(body) > 1 else 0
        first = ast.copy_location(ast.Name(self.first, ast.Load()), body[at])
        body.insert(at, ast.copy_location(ast.Expr(guard_call(body[at], OWN, first)), body[at]))
        self._guarded = True


@dataclass(frozen=True, slots=True)
class Scope:
    """The surroundings of a node."""

    in_module: bool = True
    in_class: bool = False
    method: Method | None = None
    """The method whose first parameter is within sight."""


def method_of(node: Function, scope: Scope) -> Method | None:
    """The method that a function of a class body is; None for static methods and for what is called otherwise."""
    if not scope.in_class or any(
        isinstance(each, ast.Name) and each.id == "staticmethod" for each in node.decorator_list
    ):
        return None
    parameters = node.args.posonlyargs or node.args.args
    first = parameters[0].arg if parameters else ""
    return Method(node, first) if first in _FIRST else None
