"""The restricted language: looks at every node of a snippet, and puts guards where a meaning depends on an object.

It stands on RestrictedPython's transformer, whose refusal of unknown nodes it keeps and whose guards it makes thinner;
which, and why that is safe, is argued in docs/decisions/0005-thin-guards.md.
"""

import ast
import importlib.metadata
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any

from RestrictedPython.transformer import RestrictingNodeTransformer

from harness.core.errors import Fault
from harness.language.attributes import AttributeRules
from harness.language.faults import Faults
from harness.language.imports import ImportRules
from harness.language.naming import bound_name, read_name
from harness.language.patterns import check_class, check_value, guard_subject
from harness.language.policy import KINDS, REFUSED_KINDS, Treatment
from harness.language.scopes import Scope, method_of
from harness.language.survey import Survey
from sandbox_image.language.names import OPAQUE, SUPER, TYPE, words

__all__ = ["MINIMUM_VERSION", "Restricted", "assert_version"]

MINIMUM_VERSION = (9, 0)
"""Of RestrictedPython: earlier ones let a positional-only parameter stand in for a guard (A09)."""


@cache
def assert_version() -> None:
    """Raises RuntimeError where an older RestrictedPython is installed than this was written on."""
    version = importlib.metadata.version("RestrictedPython")
    if tuple(int(part) for part in version.split(".")[:2]) < MINIMUM_VERSION:
        wanted = ".".join(map(str, MINIMUM_VERSION))
        raise RuntimeError(f"RestrictedPython {version} is installed, and at least {wanted} is needed")


class Restricted(RestrictingNodeTransformer):
    """Checks and guards one snippet, in place. Use `check`."""

    def __init__(self, source: str, found: Survey, imports: Collection[str], tools: Collection[str]) -> None:
        super().__init__()
        assert_version()
        self._faults = Faults(source)
        self._found = found
        self._tools = frozenset(tools)
        self._imports = ImportRules(imports, tools, self._faults)
        self._attributes = AttributeRules(found, self._imports, self._faults)
        self._supers: set[int] = set()
        """Ids of names that stand in `super()`."""
        self._work: list[tuple[ast.AST, Sequence[str], Scope]] = []

    def check(self, tree: ast.Module) -> list[Fault]:
        """Every fault of the snippet, in the order of its text; where there is none the tree is guarded."""
        self.visit(tree)
        return self._faults.listed()

    def visit(self, node: ast.Module) -> ast.Module:  # type: ignore[override]
        """Look at a whole module. Without recursion: how deep a snippet is nested does not matter here."""
        self._work = [(node, node._fields, Scope())]
        while self._work:
            parent, fields, scope = self._work.pop()
            for name in fields:
                value = getattr(parent, name, None)
                if isinstance(value, list):
                    for index, child in enumerate(value):
                        if isinstance(child, ast.AST):
                            value[index] = self._step(child, scope)
                elif isinstance(value, ast.AST):
                    setattr(parent, name, self._step(value, scope))
        return node

    def not_allowed(self, node: ast.AST) -> None:
        """A node kind that the table does not have."""
        kind = type(node).__name__
        known = REFUSED_KINDS.get(kind)
        if known:
            place = node.handlers[0] if kind == "TryStar" else node  # type: ignore[attr-defined]
            self._faults.add(place, "syntax_kind", f"{known.what} is not allowed: {known.reason}", known.hint)
        else:
            message = f"the syntax `{kind}` is not known to the restricted language"
            self._faults.add(node, "syntax_kind", message, "write it in other words")

    def _step(self, node: ast.AST, scope: Scope) -> ast.AST:
        """Look at one node, put its parts on the list of work, and return what takes its place."""
        treatment = _TREATMENTS.get(type(node))
        if treatment is None:
            self.not_allowed(node)
        elif treatment is Treatment.PLAIN:
            self._work.append((node, node._fields, scope))
        elif treatment is not Treatment.LEAF:
            replaced: ast.AST = treatment(self, node, scope)
            return replaced
        return node

    def _parts(self, node: ast.AST, scope: Scope, *without: str) -> None:
        self._work.append((node, [name for name in node._fields if name not in without], scope))

    def _bind(self, node: ast.AST, name: str | None, scope: Scope) -> None:
        objection = bound_name(name, scope.in_class) if name else None
        if objection:
            self._faults.add(node, *objection)

    # --- names and attributes ----------------------------------------------------------------------------------------

    def _name(self, node: ast.Name, scope: Scope) -> ast.AST:
        if node.id.startswith("<") or id(node) in self._supers:
            return node
        if node.id == "super" and isinstance(node.ctx, ast.Load):
            self._faults.add(node, "builtin", "`super` can only be called", "write super().name(…)")
            return node
        if isinstance(node.ctx, ast.Load):
            objection = read_name(node.id, self._found, self._tools)
        else:
            objection = bound_name(node.id, scope.in_class)
        if objection:
            self._faults.add(node, *objection)
        return node

    def _attribute(self, node: ast.Attribute, scope: Scope) -> ast.AST:
        self._parts(node, scope)
        if node.attr in ("__name__", "__qualname__") and self._is_type_call(node.value):
            node.value.func.id = TYPE  # type: ignore[attr-defined]
        replaced = self._attributes.judge(node, scope.method)
        if replaced is not node:
            self._work[-1] = (replaced, replaced._fields, scope)
        return replaced

    def _call(self, node: ast.Call, scope: Scope) -> ast.AST:
        self._attributes.note_format(node)
        if _is_name(node.func, "super"):
            self._super(node)
        self._parts(node, scope)
        return node

    def _super(self, node: ast.Call) -> None:
        """`super()` begins above the class that it stands in; `super(C, x)` is asked whether C is the snippet's own."""
        if not node.args and not node.keywords:
            self._supers.add(id(node.func))
        elif len(node.args) == 2 and not node.keywords and not any(isinstance(each, ast.Starred) for each in node.args):
            node.func.id = SUPER  # type: ignore[attr-defined]

    def _augmented(self, node: ast.AugAssign, scope: Scope) -> ast.AST:
        self._attributes.note_augmented(node.target)
        self._parts(node, scope)
        return node

    def _compare(self, node: ast.Compare, scope: Scope) -> ast.AST:
        """`type(x) is T` and `type(x) == int` stay Python's own: they give the class to nobody."""
        operands = [node.left, *node.comparators]
        calls = [operand for operand in operands if self._is_type_call(operand)]
        others = [operand for operand in operands if operand not in calls]
        identity = all(isinstance(operator, ast.Is | ast.IsNot) for operator in node.ops)
        if all(self._is_builtin_class(other) or (identity and not _is_name(other, "type")) for other in others):
            for call in calls if identity or len(calls) == 1 else ():
                call.func.id = TYPE  # type: ignore[attr-defined]
        self._parts(node, scope)
        return node

    def _is_builtin_class(self, node: ast.expr) -> bool:
        """The name of a builtin class, or a tuple of such names."""
        if isinstance(node, ast.Tuple):
            return all(map(self._is_builtin_class, node.elts))
        return isinstance(node, ast.Name) and node.id in _BUILTIN_CLASSES and not self._gives_meaning(node.id)

    def _gives_meaning(self, name: str) -> bool:
        return self._found.binds(name) or bool(self._found.stars)

    def _is_type_call(self, node: ast.AST) -> bool:
        """`type(x)`, where no promise can hide behind x and `type` is the builtin."""
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "type"
            and len(node.args) == 1
            and not isinstance(node.args[0], ast.Starred)
            and not node.keywords
            and not self._found.is_async
            and not self._gives_meaning("type")
        )

    # --- functions and classes ---------------------------------------------------------------------------------------

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> ast.AST:
        self._bind(node, node.name, scope)
        if node.name in ("__slots__", "__match_args__"):
            self._faults.add(node, "special_name", f"`{node.name}` must be a list of names", "assign a tuple of texts")
        method = method_of(node, scope) or (None if scope.in_class else scope.method)
        self._parts(node, scope, "body")
        self._work.append((node, ("body",), Scope(False, False, method)))
        return node

    def _lambda(self, node: ast.Lambda, scope: Scope) -> ast.AST:
        self._parts(node, Scope(False, False, scope.method))
        return node

    def _arg(self, node: ast.arg, scope: Scope) -> ast.AST:
        self._bind(node, node.arg, Scope(False))
        self._parts(node, scope)
        return node

    def _class(self, node: ast.ClassDef, scope: Scope) -> ast.AST:
        self._bind(node, node.name, scope)
        self._parts(node, scope, "body")
        self._work.append((node, ("body",), Scope(False, True, scope.method)))
        return node

    def _assign(self, node: ast.Assign | ast.AnnAssign, scope: Scope) -> ast.AST:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        if scope.in_class and "__match_args__" in names and not _is_names(node.value):
            hint = "write __match_args__ = ('x', 'y'), with plain names"
            self._faults.add(node, "special_name", "`__match_args__` must be written out", hint)
        self._parts(node, scope)
        return node

    def _names(self, node: Any, scope: Scope) -> Any:
        """A node that binds names which are texts in it."""
        for name in node.names if isinstance(node, ast.Global | ast.Nonlocal) else [node.name]:
            self._bind(node, name, scope)
        self._parts(node, scope)
        return node

    # --- imports -----------------------------------------------------------------------------------------------------

    def _import(self, node: ast.Import, scope: Scope) -> ast.AST:
        self._imports.plain(node)
        self._parts(node, scope)
        return node

    def _import_from(self, node: ast.ImportFrom, scope: Scope) -> ast.AST:
        self._imports.from_module(node)
        self._parts(node, scope)
        return node

    def _alias(self, node: ast.alias, scope: Scope) -> ast.AST:
        name = node.asname or node.name.partition(".")[0]
        if name != "*":
            self._bind(node, name, Scope(False))
        return node

    # --- match -------------------------------------------------------------------------------------------------------

    def _match(self, node: ast.Match, scope: Scope) -> ast.AST:
        guard_subject(node, self._found)
        self._parts(node, scope)
        return node

    def _match_value(self, node: ast.MatchValue, scope: Scope) -> ast.AST:
        check_value(node, self._faults)
        return node

    def _match_class(self, node: ast.MatchClass, scope: Scope) -> ast.AST:
        check_class(node, self._faults)
        self._parts(node, scope, "cls")
        return node

    def _match_mapping(self, node: ast.MatchMapping, scope: Scope) -> ast.AST:
        self._bind(node, node.rest, scope)
        for key in node.keys:
            check_value(ast.MatchValue(key), self._faults)
        self._parts(node, scope, "keys")
        return node


_BUILTIN_CLASSES = words("bool bytearray bytes complex dict float frozenset int list object range set str tuple")


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_names(value: ast.expr | None) -> bool:
    """A tuple of plain attribute names, written out."""
    return isinstance(value, ast.Tuple) and all(
        isinstance(each, ast.Constant)
        and isinstance(each.value, str)
        and not each.value.startswith("__")
        and each.value not in OPAQUE
        for each in value.elts
    )


_Rule = Callable[[Restricted, Any, Scope], ast.AST]

_RULES: dict[str, _Rule] = {
    "Name": Restricted._name,
    "Attribute": Restricted._attribute,
    "Call": Restricted._call,
    "AugAssign": Restricted._augmented,
    "Compare": Restricted._compare,
    "FunctionDef": Restricted._function,
    "AsyncFunctionDef": Restricted._function,
    "Lambda": Restricted._lambda,
    "arg": Restricted._arg,
    "ClassDef": Restricted._class,
    "Assign": Restricted._assign,
    "AnnAssign": Restricted._assign,
    "Global": Restricted._names,
    "Nonlocal": Restricted._names,
    "ExceptHandler": Restricted._names,
    "MatchStar": Restricted._names,
    "MatchAs": Restricted._names,
    "Import": Restricted._import,
    "ImportFrom": Restricted._import_from,
    "alias": Restricted._alias,
    "Match": Restricted._match,
    "MatchValue": Restricted._match_value,
    "MatchClass": Restricted._match_class,
    "MatchMapping": Restricted._match_mapping,
}

_TREATMENTS: dict[type[ast.AST], Any] = {
    getattr(ast, name): _RULES[name] if kind.treatment is Treatment.RULE else kind.treatment
    for name, kind in KINDS.items()
    if hasattr(ast, name)
}
"""Node class → what is done with it; a class that is not here is refused."""
