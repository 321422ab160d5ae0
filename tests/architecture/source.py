"""The source tree as the architecture tests read it."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["ROOT", "modules", "tree"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("harness", "sandbox_image", "tool_stubs")


def modules(*packages: str) -> list[Path]:
    """Every module of the packages, all three where none is named; a snippet is no module."""
    return [
        path
        for package in packages or PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if not path.name.startswith("snippet")
    ]


@cache
def tree(path: Path) -> ast.Module:
    """The parsed file."""
    return ast.parse(path.read_text("utf-8"), str(path))


def name(path: Path) -> str:
    """The path as tests and messages show it."""
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Every imported module with its line, wherever in the file it stands."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or ""), node.lineno
