"""Match patterns in the restricted language: what they read of objects, by keyword and by position."""

import ast
import builtins
import copy
from collections.abc import Iterator

from harness.language.faults import Faults
from harness.language.nodes import guard_call
from harness.language.survey import Survey
from sandbox_image.language.names import GUARDED, LIBRARY_PRIVATE, MATCH, OPAQUE

__all__ = ["check_class", "check_value", "guard_subject"]


def guard_subject(node: ast.Match, found: Survey) -> None:
    """Put the guard around the subject where a class that is no builtin is taken apart by position."""
    kinds = [each for case in node.cases for each in _positional(case.pattern) if not _is_builtin(each, found)]
    if kinds:
        node.subject = guard_call(node.subject, MATCH, node.subject, *map(copy.deepcopy, kinds))


def _positional(pattern: ast.pattern) -> Iterator[ast.expr]:
    for node in ast.walk(pattern):
        if isinstance(node, ast.MatchClass) and node.patterns:
            yield node.cls


def _is_builtin(kind: ast.expr, found: Survey) -> bool:
    if not isinstance(kind, ast.Name) or found.binds(kind.id) or found.stars:
        return False
    return isinstance(getattr(builtins, kind.id, None), type)


def check_value(node: ast.MatchValue, faults: Faults) -> None:
    """The value of a pattern: a constant, or a dotted name of plain names."""
    _dotted(node.value, faults)


def check_class(node: ast.MatchClass, faults: Faults) -> None:
    """The class of a pattern and the attributes that it reads by keyword."""
    _dotted(node.cls, faults)
    for name in node.kwd_attrs:
        _attribute(node, name, faults)


def _dotted(node: ast.expr, faults: Faults) -> None:
    while isinstance(node, ast.Attribute):
        _attribute(node, node.attr, faults)
        node = node.value


def _attribute(node: ast.AST, name: str, faults: Faults) -> None:
    if name in OPAQUE or name in GUARDED or (name.startswith("_") and name not in LIBRARY_PRIVATE):
        message = f"a pattern cannot read the attribute `{name}`"
        faults.add(node, "attribute", message, "match the object, and read the attribute below the case")
