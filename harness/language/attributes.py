"""Attributes in the restricted language: which are refused, which stay as they are, which get a guard."""

import ast

from harness.language.faults import Faults
from harness.language.imports import ImportRules
from harness.language.nodes import guard_call
from harness.language.scopes import Method
from harness.language.survey import Survey
from sandbox_image.language.formats import forbidden_in
from sandbox_image.language.names import (
    AUGMENT,
    CHANGEABLE,
    GUARDED,
    LIBRARY_PRIVATE,
    OPAQUE,
    OWN,
    READ,
    READABLE,
    SUBSTITUTES,
    WRITE,
    is_special,
)

__all__ = ["AttributeRules"]


class AttributeRules:
    """The rules for `x.name`, read, written and deleted."""

    def __init__(self, found: Survey, imports: ImportRules, faults: Faults) -> None:
        self._found = found
        self._imports = imports
        self._faults = faults
        self._free: set[int] = set()
        """Ids of nodes that were judged with the node around them."""
        self._augmented: set[int] = set()
        """Ids of targets of augmented assignments."""

    def note_format(self, call: ast.Call) -> None:
        """`"…".format(…)` with a text that is written out: its fields are looked at here, and it stays as it is."""
        method = call.func
        if not isinstance(method, ast.Attribute) or method.attr not in ("format", "format_map"):
            return
        if not isinstance(method.value, ast.Constant) or not isinstance(method.value.value, str):
            return
        try:
            forbidden = forbidden_in(method.value.value)
        except (ValueError, RecursionError):
            return
        self._free.add(id(method))
        if forbidden:
            hint = _hint(forbidden)
            self._faults.add(method.value, "format_field", f"a format field reads the attribute `{forbidden}`", hint)

    def note_augmented(self, target: ast.expr) -> None:
        """`x.name += y` reads what it writes: of a guarded attribute the guard must have nothing to say."""
        if isinstance(target, ast.Attribute) and target.attr in GUARDED:
            self._augmented.add(id(target))

    def judge(self, node: ast.Attribute, method: Method | None) -> ast.AST:
        """What takes the node's place: itself, itself on a guarded object, or a call of the guard that reads it."""
        self._of_module(node)
        if id(node) in self._free:
            return node
        name, is_read = node.attr, isinstance(node.ctx, ast.Load)
        if name in OPAQUE or (is_special(name) and not self._is_allowed(node, method)):
            self._faults.add(node, "attribute", f"the attribute `{name}` is not available", _hint(name))
            return node
        if method is not None and self._needs_owner(name, is_read) and method.trusts(node.value):
            return node
        if is_read:
            return self._guarded_read(node)
        if id(node) in self._augmented:
            node.value = guard_call(node.value, AUGMENT, node.value, ast.Constant(name))
        else:
            guard = OWN if name.startswith("_") and not is_special(name) else WRITE
            node.value = guard_call(node.value, guard, node.value)
        return node

    def _needs_owner(self, name: str, is_read: bool) -> bool:
        private = name.startswith("_") and not is_special(name) and name not in LIBRARY_PRIVATE
        return private or (not is_read and name not in GUARDED)

    def _is_allowed(self, node: ast.Attribute, method: Method | None) -> bool:
        name = node.attr
        if not isinstance(node.ctx, ast.Load):
            return name in CHANGEABLE
        inner = node.value
        if name in ("__name__", "__qualname__") and isinstance(inner, ast.Attribute) and inner.attr == "__class__":
            self._free.add(id(inner))
        if name == "__class__" and method is not None and isinstance(inner, ast.Name):
            return inner.id == method.first
        return name in READABLE or name in GUARDED

    def _guarded_read(self, node: ast.Attribute) -> ast.AST:
        name = node.attr
        if name in GUARDED or name == "__class__":
            return guard_call(node, READ, node.value, ast.Constant(name))
        if name.startswith("_") and not is_special(name) and name not in LIBRARY_PRIVATE:
            node.value = guard_call(node.value, OWN, node.value)
        return node

    def _of_module(self, node: ast.Attribute) -> None:
        """`module.name`: the name must be one that the module gives away, and nothing in it can be set."""
        module = self._module(node.value)
        if not module:
            return
        if not isinstance(node.ctx, ast.Load):
            message = f"`{node.attr}` of the module `{module}` cannot be set"
            self._faults.add(node, "module_write", message, "keep what you need in a variable of your own")
        elif not is_special(node.attr):
            self._imports.attribute(node, module, node.attr)

    def _module(self, node: ast.expr) -> str:
        """The module that an expression stands for; empty where it is none, or where nobody can tell."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        module = self._found.modules.get(node.id, "") if isinstance(node, ast.Name) else ""
        for part in reversed(parts):
            module = self._imports.below(module, part) if module else ""
        return module


def _hint(name: str) -> str:
    return SUBSTITUTES.get(name, "use the object's public methods")
