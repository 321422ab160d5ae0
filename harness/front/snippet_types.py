"""Hints of a type checker on a snippet, against the stubs of its tools. It executes nothing, and refuses nothing.

The checker is mypy, an extra, in a process of its own with an empty environment and bounded time: see
docs/decisions/0006-types.md. The snippet keeps its lines and columns.
"""

import ast
from importlib.util import find_spec
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import tool_stubs
from harness.core.errors import EnvironmentUnavailable

__all__ = ["Hint", "type_hints"]

SECONDS = 60.0
"""For one check: 3 s are usual on a cold cache; a loaded machine takes longer. Then there are no hints."""
MAX_HINTS = 50
"""More of them say no more."""
PRELUDE = "import typing as _t; inputs: _t.Any; previous: _t.Any; budget: _t.Any; _r: _t.Callable[..., Exception]\n"
"""What a snippet finds, in one line; and what takes the place of a `return`."""
FLAGS = (
    *("--config-file=", "--no-site-packages", "--follow-imports=silent", "--ignore-missing-imports"),
    *("--check-untyped-defs", "--no-error-summary", "--show-column-numbers", "--hide-error-context", "--no-pretty"),
    *("--disable-error-code=top-level-await", "--disable-error-code=var-annotated", "--allow-redefinition"),
    "--no-color-output",
)
NO_FAULT = re.compile(
    r'Incompatible types in "await"|"(Awaitable|Coroutine|Future)\[|'
    r"outside (of )?(an )?(async function|coroutine)"
)
"""What is right here and wrong elsewhere: the top level is a coroutine; a stub may be awaited and made a task of."""
LINE = re.compile(r"^[^:]+:(\d+):(\d+): error: (.*?)(?:  \[([a-z-]+)\])?$")


@dataclass(frozen=True, slots=True)
class Hint:
    """One remark of the checker."""

    line: int
    column: int
    """Both from 1, in the snippet."""
    message: str
    code: str
    """The checker's own."""

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message} ({self.code})"


def type_hints(source: str, stubs: str) -> list[Hint]:
    """What the checker says of a snippet that has passed the language check; `stubs` is the text of its tools.

    Raises EnvironmentUnavailable where the checker is not installed, or does not answer.
    """
    if find_spec("mypy") is None:
        hint = "pip install 'execution-harness[types]'"
        raise EnvironmentUnavailable("the type check needs the package `mypy`", hint=hint)
    with tempfile.TemporaryDirectory(prefix="harness-types-") as folder:
        Path(folder, "tools.py").write_text(stubs, "utf-8")
        text, moved = _as_module(source)
        Path(folder, "snippet.py").write_text(PRELUDE + text, "utf-8")
        command = [sys.executable, "-I", "-m", "mypy", *FLAGS, "--cache-dir", "cache", "snippet.py"]
        environment = {"MYPYPATH": f"{folder}:{_packages()}"}
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, timeout=SECONDS, check=False, text=True
            )
        except subprocess.TimeoutExpired:
            raise EnvironmentUnavailable(f"the type check took longer than {SECONDS:g} s", hint="try again") from None
    if done.returncode not in (0, 1):
        raise EnvironmentUnavailable("the type check does not work here", hint=(done.stderr or done.stdout)[:200])
    return list(_hints(done.stdout, moved))[:MAX_HINTS]


def _as_module(source: str) -> tuple[str, dict[int, int]]:
    """The snippet with every `return` of its top level as a `raise`, so that what comes after it is not reached.

    And by how much the columns of a line have moved thereby.
    """
    moved: dict[int, int] = {}
    lines = [line.encode() for line in source.split("\n")]
    for node in reversed(list(_returns(ast.parse(source).body))):
        at, start = node.lineno - 1, node.col_offset
        if node.value is None:
            lines[at] = lines[at][:start] + b"raise _r()" + lines[at][start + len("return") :]
            continue
        last, end = (node.end_lineno or node.lineno) - 1, node.end_col_offset or 0
        lines[last] = lines[last][:end] + b")" + lines[last][end:]
        rest = lines[at][start + len("return") :]
        lines[at] = lines[at][:start] + b"raise _r(" + rest.lstrip()
        moved[node.lineno] = len("raise _r(") - len("return") - (len(rest) - len(rest.lstrip()))
    return b"\n".join(lines).decode(), moved


def _returns(body: Iterable[ast.AST]) -> Iterator[ast.Return]:
    """Those that end the snippet, in the order of the text."""
    for node in body:
        if isinstance(node, ast.Return):
            yield node
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            yield from _returns(ast.iter_child_nodes(node))


def _hints(said: str, moved: Mapping[int, int]) -> Iterator[Hint]:
    for line in said.splitlines():
        found = LINE.match(line)
        if found and line.startswith("snippet.py:") and int(found[1]) > 1 and not NO_FAULT.search(found[3]):
            at = int(found[1]) - 1
            yield Hint(at, max(int(found[2]) - moved.get(at, 0), 1), found[3], found[4] or "")


def _packages() -> Path:
    """Where the stubs' own imports are found."""
    return Path(tool_stubs.__file__).parents[1]

