"""What a snippet binds and uses, found in one walk before any rule is applied."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Survey", "bound_by", "survey"]

_ASYNC = (ast.Await, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith)


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
    is_async: bool = False
    """Whether it has anything asynchronous: then a value may be a promise."""

    def binds(self, name: str) -> bool:
        """Whether the snippet gives the name a meaning of its own."""
        return name in self.bound or name in self.imported


def survey(tree: ast.Module) -> Survey:
    """Walk a snippet once."""
    found = Survey()
    aliases: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                aliases.setdefault(name, set()).add(alias.name if alias.asname else name)
        elif isinstance(node, ast.ImportFrom):
            _from_import(node, found, aliases)
        else:
            found.bound.update(bound_by(node))
            found.is_async = found.is_async or isinstance(node, _ASYNC)
    found.imported.update(aliases)
    found.modules = {
        name: next(iter(targets)) for name, targets in aliases.items() if len(targets) == 1 and name not in found.bound
    }
    return found


def _from_import(node: ast.ImportFrom, found: Survey, aliases: dict[str, set[str]]) -> None:
    for alias in node.names:
        if alias.name == "*":
            found.stars.add(node.module or "")
        else:
            # Two targets: such a name is never taken for a module.
            aliases.setdefault(alias.asname or alias.name, set()).update((alias.name, f"{node.module}.{alias.name}"))


def bound_by(node: ast.AST) -> Iterator[str]:
    """The names that one node binds by itself; import statements are not asked."""
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Load):
            yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        if node.name:
            yield node.name
    elif isinstance(node, ast.MatchMapping):
        if node.rest:
            yield node.rest
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names
