"""JSON Schema → Python types: annotations, the named types that they need, and the specs by which values travel."""

from collections.abc import Mapping, Sequence
from typing import Any

from tool_stubs.dialect import resolve
from tool_stubs.naming import class_name, fold_parameters, is_usable, unused
from tool_stubs.schemas import branch_test, fingerprint, is_bare, kinds_of, merged, reaches_itself
from tool_stubs.shape import ANY, LEAVES, FieldLine, NamedType, Shape, entry_of, union
from tool_stubs.text import literal, one_line

__all__ = ["Reader", "Types"]

MAX_LITERALS = 40
"""Values of an enum that stand in an annotation; with more, the type of the values does."""
_BESIDE_REF = frozenset(
    {
        "$ref",
        "$defs",
        "definitions",
        "description",
        "title",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
    }
)
_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


class Types:
    """The named types of one surface. `of(root, tool)` reads one document; names are unique over all of them."""

    def __init__(self, taken: Sequence[str]) -> None:
        self.named: dict[str, NamedType] = {}
        self._taken = set(taken)
        self._by_print: dict[tuple[str, str], str] = {}

    def of(self, root: Any, tool: str) -> "Reader":
        """A reader of one normalised document."""
        return Reader(self, root, tool)

    def table(self) -> dict[str, dict[str, Any]]:
        """The named types as the codec takes them."""
        return {name: entry_of(each) for name, each in self.named.items()}

    def claim(self, wanted: str, kind: str, mark: str) -> tuple[str, NamedType | None]:
        """The name of a type, and its new definition where it is not known yet."""
        known = self._by_print.get((wanted, mark))
        if known is not None:
            return known, None
        name = unused(wanted, self._taken)
        self._taken.add(name)
        self._by_print[wanted, mark] = name
        self.named[name] = NamedType(name, kind)
        return name, self.named[name]


class Reader:
    """Shapes of the schemas of one document."""

    def __init__(self, types: Types, root: Any, tool: str) -> None:
        self._types = types
        self._root = root
        self._tool = tool
        self._merging: dict[int, str] = {}
        self._kept: list[Any] = []

    def shape(self, node: Any, name: str) -> Shape:
        """The shape of a schema; `name` is what its type is called where it needs one. Raises StubRefused."""
        if node is False:
            return Shape("Never")
        if not isinstance(node, Mapping) or not node:
            return ANY
        if "$ref" in node and not node.keys() - _BESIDE_REF:
            return self._reference(node["$ref"], name)
        if "const" in node:
            return self._literals([node["const"]])
        if "enum" in node:
            return self._enum(node, name)
        if "allOf" in node or "$ref" in node:
            return self._merged(node, name)
        if is_bare(node):
            return ANY
        return self._union(node, name) or self._typed(node, name)

    def _reference(self, reference: str, name: str) -> Shape:
        target = resolve(self._root, reference, self._tool, "")
        if reference.startswith(("#/$defs/", "#/definitions/")):
            name = class_name(reference.rsplit("/", 1)[-1])
        if not isinstance(target, Mapping):
            return self.shape(target, name)
        named = "properties" in target or "enum" in target or "x-python" in target or "allOf" in target
        if named or not reaches_itself(self._root, reference, self._tool):
            return self.shape(target, name)
        found, new = self._types.claim(name, "alias", fingerprint(self._root, target, self._tool))
        if new is not None:
            new.alias = self.shape(target, name)
        return Shape(found, {"ref": found})

    def _merged(self, node: Mapping[str, Any], name: str) -> Shape:
        key = id(node)
        if key in self._merging:
            return Shape(self._merging[key], {"ref": self._merging[key]}) if self._merging[key] else ANY
        self._merging[key] = ""
        flat = merged(self._root, node, self._tool)
        self._kept.append(flat)
        try:
            if "properties" in flat:
                return self._record({**flat, "x-merged": fingerprint(self._root, node, self._tool)}, name, key)
            return self.shape(flat, name)
        finally:
            del self._merging[key]

    def _union(self, node: Mapping[str, Any], name: str) -> Shape | None:
        branches = node.get("anyOf") or node.get("oneOf")
        if not isinstance(branches, list) or all(map(is_bare, branches)):
            return None
        base = {key: value for key, value in node.items() if key not in ("anyOf", "oneOf")}
        if "properties" in base or ("type" in base and base["type"] != "object"):
            return None
        shapes = []
        for at, each in enumerate(branches):
            title = each.get("title") if isinstance(each, Mapping) else None
            own = class_name(title) if isinstance(title, str) and title else f"{name}Option{at + 1}"
            shape = ANY if is_bare(each) else self.shape(each, own)
            shapes.append((branch_test(self._root, each, self._tool), shape))
        return union(shapes)

    def _typed(self, node: Mapping[str, Any], name: str) -> Shape:
        kinds = kinds_of(self._root, node, self._tool)
        if not kinds:
            return ANY
        if len(kinds) > 1:
            each = [{**node, "type": kind} for kind in kinds]
            self._kept += each
            return union([(branch_test(self._root, one, self._tool), self._typed(one, name)) for one in each])
        if kinds[0] == "string":
            return self._text(node)
        if kinds[0] == "array":
            return self._array(node, name)
        return self._object(node, name) if kinds[0] == "object" else Shape(_SCALARS[kinds[0]])

    def _text(self, node: Mapping[str, Any]) -> Shape:
        if node.get("contentEncoding") == "base64":
            return LEAVES["base64"]
        form = node.get("format")
        return LEAVES.get(form, Shape("str")) if isinstance(form, str) else Shape("str")

    def _array(self, node: Mapping[str, Any], name: str) -> Shape:
        rest = self.shape(node["items"], f"{name}Item") if "items" in node else ANY
        first = [self.shape(each, f"{name}Item{at + 1}") for at, each in enumerate(node.get("prefixItems", ()))]
        python = node.get("x-python")
        if python == "tuple":
            inner = f"{rest.annotation}, ..." if not first else ", ".join(shape.annotation for shape in first)
            return Shape(f"tuple[{inner}]", {"tuple": [shape.codec for shape in first], "rest": rest.codec})
        if python == "set":
            return Shape(f"set[{rest.annotation}]", {"set": rest.codec})
        if first:
            more = [rest] if "items" in node and node["items"] is not False else []
            inner = union([({}, shape) for shape in (*first, *more)]).annotation
            codecs = [shape.codec for shape in first]
            plain = rest.codec is None and not any(codecs)
            return Shape(f"list[{inner}]", None if plain else {"tuple": codecs, "rest": rest.codec, "as": "list"})
        return Shape(f"list[{rest.annotation}]", {"list": rest.codec} if rest.codec is not None else None)

    def _object(self, node: Mapping[str, Any], name: str) -> Shape:
        if node.get("properties") or node.get("x-python") == "dataclass":
            return self._record(node, name, id(node))
        values = node.get("additionalProperties", True)
        if isinstance(values, bool):
            patterns = list(node.get("patternProperties", {}).values())
            values = patterns[0] if len(patterns) == 1 and not values else True
        inner = self.shape(values, f"{name}Value")
        key = node.get("x-python-keys", "")
        keys = {"int": "int", "date": "dt.date", "datetime": "dt.datetime", "uuid": "UUID"}.get(key, "str")
        if keys == "str":
            return Shape(f"dict[str, {inner.annotation}]", None if inner.codec is None else {"map": inner.codec})
        return Shape(f"dict[{keys}, {inner.annotation}]", {"map": inner.codec, "keys": key})

    def _record(self, node: Mapping[str, Any], name: str, key: int) -> Shape:
        """A typed dict, or a dataclass where the schema says that it comes from one."""
        kind = "dataclass" if node.get("x-python") == "dataclass" else "dict"
        name, new = self._types.claim(_named(node, name), kind, fingerprint(self._root, node, self._tool))
        if key in self._merging:
            self._merging[key] = name
        if new is None:
            return Shape(name, {"ref": name})
        properties: Mapping[str, Any] = node.get("properties", {})
        required = node.get("required", ())
        python = fold_parameters(properties) if kind == "dataclass" else {wire: wire for wire in properties}
        for wire, each in properties.items():
            shape = self.shape(each, f"{name}{class_name(wire)}")
            told = each if isinstance(each, Mapping) else {}
            line = FieldLine(wire, python[wire], shape.annotation, wire in required, _told(told), shape.codec)
            if "default" in told:
                line.default, line.has_default = told["default"], True
            new.fields.append(line)
        new.description = _told(node)
        new.frozen = bool(node.get("x-frozen"))
        values = node.get("additionalProperties")
        if isinstance(values, Mapping) and kind == "dict":
            new.rest = self.shape(values, f"{name}Rest").codec
        return Shape(name, {"ref": name})

    def _enum(self, node: Mapping[str, Any], name: str) -> Shape:
        values: list[Any] = node["enum"]
        members = _member_names(node.get("x-enum-varnames"), len(values))
        if not members:
            return self._literals(values)
        name, new = self._types.claim(_named(node, name), "enum", fingerprint(self._root, node, self._tool))
        if new is not None:
            new.members = list(zip(members, values, strict=True))
            new.base = {"str-enum": "str", "int-enum": "int"}.get(str(node.get("x-python")), "")
            new.description = _told(node)
        return Shape(name, {"ref": name})

    def _literals(self, values: list[Any]) -> Shape:
        if len(values) <= MAX_LITERALS and all(isinstance(each, str | int | bool | None) for each in values):
            told = [literal(each) for each in values if each is not None]
            parts = [f"Literal[{', '.join(dict.fromkeys(told))}]"] if told else []
            return Shape(" | ".join(parts + ["None"] * (None in values)))
        return union([({}, Shape(_python_type(each))) for each in values])


def _named(node: Mapping[str, Any], name: str) -> str:
    """A class of the host keeps its own name."""
    title = node.get("title")
    return class_name(title) if node.get("x-python") and isinstance(title, str) and title else name


def _told(node: Mapping[str, Any]) -> str:
    text = node.get("description")
    return one_line(text) if isinstance(text, str) else ""


def _python_type(value: Any) -> str:
    kinds = {bool: "bool", int: "int", float: "float", str: "str", list: "list[Any]", dict: "dict[str, Any]"}
    return "None" if value is None else kinds[type(value)]


def _member_names(given: Any, count: int) -> list[str]:
    """The names of an enum's members, none where they are not right."""
    if not isinstance(given, list) or len(given) != count or len(set(map(str, given))) != count:
        return []
    usable = all(
        isinstance(each, str) and is_usable(each) and each[0] != "_" and each not in ("mro", "name", "value")
        for each in given
    )
    return given if usable else []
