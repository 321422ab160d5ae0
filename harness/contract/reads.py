"""What an expression reads, held against the shapes of its facts: misspelt fields, optional fields read without
`has()`, comparisons with a value that the schema does not list.

A guard counts where it stands to the left: `has(a.b) && a.b < 1`, `!has(a.b) || …`, `has(a.b) ? … : …`,
`'b' in a && …`.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from harness.contract.cel_tree import Kind, Node
from harness.contract.shape import DYNAMIC, Shape
from harness.core.errors import Fault, Place

__all__ = ["read_faults"]

Paths = frozenset[str]
NOTHING: Paths = frozenset()


def read_faults(tree: Node, shapes: Mapping[str, Shape], text: str, place: Place) -> list[Fault]:
    """Every read of `tree` that the shapes do not bear."""
    reader = _Reader(text, place)
    reader.walk(tree, NOTHING, {name: _Variable(shape, name) for name, shape in shapes.items()})
    return list(dict.fromkeys(reader.faults))


@dataclass(frozen=True, slots=True)
class _Variable:
    shape: Shape
    path: str
    """Unique, so that a variable of a macro never meets a fact of the same name."""


Scope = Mapping[str, _Variable]


class _Reader:
    def __init__(self, text: str, place: Place) -> None:
        self.faults: list[Fault] = []
        self._text = text
        self._place = place

    def walk(self, node: Node, present: Paths, scope: Scope) -> Shape:
        """The shape of a node's value; `present` are the paths that are surely there."""
        if node.kind is Kind.IDENT:
            return scope[node.name].shape if node.name in scope else DYNAMIC
        if node.kind is Kind.SELECT:
            shape = self.walk(node.children[0], present, scope)
            return self._member(shape, node.name, node, present, scope)
        if node.kind is Kind.CALL:
            return self._call(node, present, scope)
        if node.kind is Kind.COMPREHENSION:
            return self._comprehension(node, present, scope)
        for child in node.children:
            self.walk(child, present, scope)
        return DYNAMIC

    def _member(self, shape: Shape, name: str, node: Node, present: Paths, scope: Scope) -> Shape:
        """The member of a shape that `node` reads, or asks for with `has()`."""
        asked = node.kind is Kind.SELECT and bool(node.value)
        if shape.kind != "object":
            return DYNAMIC
        if name not in shape.fields and shape.is_closed:
            near = difflib.get_close_matches(name, sorted(shape.fields), n=1, cutoff=0.6)
            hint = f"did you mean `{near[0]}`?" if near else f"there are: {', '.join(sorted(shape.fields)) or 'none'}"
            self._fault("unknown_field", f"`{self._text}`: there is no field `{name}`", hint)
            return DYNAMIC
        known = name in shape.fields or shape.is_open
        if known and not asked and name not in shape.required and _path(node, scope) not in present:
            hint = f"write `has(….{name}) && …` before it, or make it required in the schema"
            self._fault("unguarded_field", f"`{self._text}`: the field `{name}` may be missing", hint)
        return DYNAMIC if asked else shape.member(name)

    def _call(self, node: Node, present: Paths, scope: Scope) -> Shape:
        name, children = node.name, node.children
        if name in ("_&&_", "_||_", "_?_:_"):
            first = children[0]
            self.walk(first, present, scope)
            true, false = present | _when(first, True, scope), present | _when(first, False, scope)
            self.walk(children[1], false if name == "_||_" else true, scope)
            if name == "_?_:_":
                self.walk(children[2], false, scope)
            return DYNAMIC
        shapes = [self.walk(child, present, scope) for child in children]
        if name == "_[_]":
            key = children[1].value
            if isinstance(key, str):
                return self._member(shapes[0], key, node, present, scope)
            return shapes[0].items if shapes[0].kind == "array" else DYNAMIC
        if name in ("_==_", "_!=_"):
            self._compare(shapes[0], children[1])
            self._compare(shapes[1], children[0])
        if name == "@in" and children[1].kind is Kind.LIST:
            for each in children[1].children:
                self._compare(shapes[0], each)
        return DYNAMIC

    def _compare(self, shape: Shape, other: Node) -> None:
        if not shape.values or other.kind is not Kind.CONST or other.value is None or other.value in shape.values:
            return
        listed = ", ".join(str(each) for each in shape.values)
        self._fault("unlisted_value", f"`{self._text}`: `{other.value}` never stands there", f"one of: {listed}")

    def _comprehension(self, node: Node, present: Paths, scope: Scope) -> Shape:
        source = self.walk(node.children[0], present, scope)
        item = source.items if source.kind == "array" else DYNAMIC
        self.walk(node.children[1], present, scope)
        inner = {
            **scope,
            node.name: _Variable(item, f"{node.name}#{node.id}"),
            node.accumulator: _Variable(DYNAMIC, f"{node.accumulator}#{node.id}"),
        }
        for child in node.children[2:]:
            self.walk(child, present, inner)
        return DYNAMIC

    def _fault(self, code: str, message: str, hint: str) -> None:
        self.faults.append(Fault(code, message, hint, self._place))


def _path(node: Node, scope: Scope) -> str:
    """The path that a node names, the same for `a.b` and `a['b']`; empty where it names none."""
    if node.kind is Kind.IDENT:
        return scope[node.name].path if node.name in scope else ""
    if node.kind is Kind.SELECT:
        head, step = _path(node.children[0], scope), node.name
    elif node.kind is Kind.CALL and node.name == "_[_]" and node.children[1].kind is Kind.CONST:
        head, step = _path(node.children[0], scope), str(node.children[1].value)
    else:
        return ""
    return f"{head}\x00{step}" if head else ""


def _when(node: Node, value: bool, scope: Scope) -> Paths:
    """The paths that are surely there where `node` came to `value`."""
    if node.kind is Kind.SELECT and node.value and value:
        return _with_parents(_path(node, scope))
    if node.kind is not Kind.CALL:
        return NOTHING
    if node.name == "!_":
        return _when(node.children[0], not value, scope)
    if node.name in ("_&&_", "_||_"):
        left, right = (_when(child, value, scope) for child in node.children)
        return left | right if (node.name == "_&&_") == value else left & right
    if node.name == "@in" and value and isinstance(node.children[0].value, str):
        head = _path(node.children[1], scope)
        return _with_parents(f"{head}\x00{node.children[0].value}") if head else NOTHING
    return NOTHING


def _with_parents(path: str) -> Paths:
    steps = path.split("\x00")
    return frozenset("\x00".join(steps[: count + 1]) for count in range(len(steps))) if path else NOTHING
