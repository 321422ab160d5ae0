"""What a snippet binds and uses, found in one walk before any rule is applied."""

import ast
from dataclasses import dataclass, field

from harness.language.depth import block_weight

__all__ = ["Survey", "bound_by", "parts_of", "survey"]

_ASYNC = (ast.Await, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_BLOCKS = (
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
_LOADED = ast.Load


@dataclass(slots=True)
class Survey:
    """Facts about a whole snippet, wherever in it they stand."""

    bound: set[str] = field(default_factory=set)
    """Names that anything but an import statement binds."""
    modules: dict[str, str] = field(default_factory=dict)
    """Name → dotted module, for names that stand for one module and nothing else."""
    imported: set[str] = field(default_factory=set)
    """Names that import statements bind."""
    stars: set[str] = field(default_factory=set)
    """Modules that are imported with `*`."""
    top: set[str] = field(default_factory=set)
    """Names that the top level binds, imports among them."""
    blocks: int = 0
    """Blocks that it opens, nested or not."""
    is_async: bool = False
    """Whether it has anything asynchronous: then a value may be a promise."""
    awaits: bool = False
    """Whether its top level awaits."""
    misplaced: list[tuple[ast.AST, str]] = field(default_factory=list)
    """What Python refuses at the top of a module and would take in a function, with its message."""
    _aliases: dict[str, set[str]] = field(default_factory=dict)

    def binds(self, name: str) -> bool:
        """Whether the snippet gives the name a meaning of its own."""
        return name in self.bound or name in self.imported


def survey(tree: ast.Module) -> Survey:
    """Walk a snippet once."""
    found = Survey()
    inner: list[ast.AST] = []
    work: list[ast.AST] = list(tree.body)
    while work:
        node = work.pop()
        found.top.update(_note(node, found))
        _note_top(node, found)
        if isinstance(node, _SCOPES):
            # What stands around a body runs outside it: decorators, defaults, annotations, bases.
            body = node.body if isinstance(node.body, list) else [node.body]
            inner.extend(body)
            around = parts_of(node)
            work.extend(each for each in around if not any(each is part for part in body))
        else:
            work.extend(parts_of(node))
    while inner:
        node = inner.pop()
        _note(node, found)
        inner.extend(parts_of(node))
    found.imported.update(found._aliases)
    found.modules = {
        name: next(iter(targets))
        for name, targets in found._aliases.items()
        if len(targets) == 1 and name not in found.bound
    }
    return found


def parts_of(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one; how names are used (Load, Store, Del) is left out."""
    kind = type(node)
    if kind is ast.Constant or kind is ast.Name:
        return []
    if kind is ast.Attribute:
        return [node.value]  # type: ignore[attr-defined]
    parts: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if type(value) is list:
            parts.extend(each for each in value if isinstance(each, ast.AST))
        elif isinstance(value, ast.AST) and name != "ctx" and name != "op":
            parts.append(value)
    return parts


def _note(node: ast.AST, found: Survey) -> "set[str] | tuple[str, ...] | list[str]":
    """Record what a node says about the snippet; the names that it binds."""
    kind = type(node)
    if kind is ast.Name:
        if type(node.ctx) is _LOADED:  # type: ignore[attr-defined]
            return ()
        names: set[str] | tuple[str, ...] | list[str] = (node.id,)  # type: ignore[attr-defined]
    elif kind is ast.Constant or kind is ast.Attribute or kind is ast.Call:
        return ()
    elif kind is ast.Import or kind is ast.ImportFrom:
        return _note_import(node, found)  # type: ignore[arg-type]
    else:
        found.is_async = found.is_async or kind in _ASYNC
        found.blocks += block_weight(node)
        names = bound_by(node)
    found.bound.update(names)
    return names if kind is not ast.arg else ()


def _note_top(node: ast.AST, found: Survey) -> None:
    if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith) or (
        isinstance(node, ast.comprehension) and node.is_async
    ):
        found.awaits = found.is_async = True
    elif isinstance(node, ast.Yield | ast.YieldFrom):
        found.misplaced.append((node, "'yield' outside function"))
    elif isinstance(node, ast.Nonlocal):
        found.misplaced.append((node, "nonlocal declaration not allowed at module level"))


def _note_import(node: ast.Import | ast.ImportFrom, found: Survey) -> set[str]:
    names = set()
    for alias in node.names:
        if alias.name == "*":
            found.stars.add(getattr(node, "module", None) or "")
            continue
        name = alias.asname or alias.name.partition(".")[0]
        names.add(name)
        targets = found._aliases.setdefault(name, set())
        if isinstance(node, ast.Import):
            targets.add(alias.name if alias.asname else name)
        else:
            # Two targets: such a name is never taken for a module.
            targets.update((alias.name, f"{node.module}.{alias.name}"))
    return names


_BINDERS: dict[type[ast.AST], str] = {
    ast.Name: "id",
    ast.arg: "arg",
    ast.FunctionDef: "name",
    ast.AsyncFunctionDef: "name",
    ast.ClassDef: "name",
    ast.ExceptHandler: "name",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
    ast.MatchMapping: "rest",
    ast.Global: "names",
    ast.Nonlocal: "names",
}
"""Node class → the field that holds the names which it binds."""


def bound_by(node: ast.AST) -> list[str]:
    """The names that one node binds by itself; import statements are not asked."""
    where = _BINDERS.get(type(node))
    if where is None or (type(node) is ast.Name and type(node.ctx) is _LOADED):
        return []
    value = getattr(node, where)
    return value if isinstance(value, list) else [value] if value else []
