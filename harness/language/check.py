"""Check and compile a snippet; nothing of it is executed or imported. (First version: no restriction yet.)"""

import ast
import hashlib
import marshal
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from harness.contract.words import Language
from harness.core.errors import Fault, Place, SnippetRefused

__all__ = ["Checked", "Language", "check"]


@dataclass(frozen=True, slots=True)
class Checked:
    """A snippet that may run."""

    code: bytes
    source: str
    digest: str
    language: Language
    uses_await: bool


def check(source: str, *, language: Language, imports: Sequence[str], tools: Collection[str]) -> Checked:
    """The compiled snippet. Raises SnippetRefused with every fault."""
    text = source.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        tree = ast.parse(text, "<snippet>")
    except SyntaxError as error:
        place = Place(line=error.lineno or 0, column=error.offset or 0)
        raise SnippetRefused([Fault("syntax_error", str(error.msg), "", place)]) from None
    if not tree.body:
        raise SnippetRefused([Fault("empty", "the snippet is empty", "write a statement")])
    if isinstance(tree.body[-1], ast.Expr):
        tree.body[-1] = ast.copy_location(ast.Return(tree.body[-1].value), tree.body[-1])
    names = _names(tree.body)
    waits = any(isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith) for node in _level(tree.body))
    body = _starless(tree.body)
    kind = ast.AsyncFunctionDef if waits else ast.FunctionDef
    arguments = ast.arguments([], [], None, [], [], None, [])
    head: list[ast.stmt] = [ast.Global(sorted(names))] if names else []
    function = kind("__snippet__", arguments, head + body, [])
    module = ast.fix_missing_locations(ast.Module([function], []))
    code = compile(module, "<snippet>", "exec", dont_inherit=True)
    return Checked(marshal.dumps(code), text, hashlib.sha256(text.encode()).hexdigest(), language, waits)


def _level(body):  # type: ignore[no-untyped-def]
    stack = list(body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            stack.extend(ast.iter_child_nodes(node))


def _names(body):  # type: ignore[no-untyped-def]
    names = set()
    for node in _level(body):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name.split(".")[0]) for alias in node.names if alias.name != "*")
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
    return names


def _starless(body):  # type: ignore[no-untyped-def]
    out = []
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            call = ast.parse(f"globals().update(vars(__import__({node.module!r})))").body[0]
            out.append(ast.copy_location(call, node))
        else:
            out.append(node)
    return out
