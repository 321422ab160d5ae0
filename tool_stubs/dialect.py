"""One dialect: rewrites the JSON Schemas of real surfaces (draft 4 to 7, OpenAPI 3.0, loose type names) to 2020-12.

It never opens a reference: a `$ref` that leaves the document is refused where it stands.
"""

from collections.abc import Mapping
from typing import Any

from tool_stubs.problem import StubRefused

__all__ = ["MAX_DEPTH", "TYPE_NAMES", "normalise", "resolve"]

MAX_DEPTH = 64
"""Levels of a schema; the deepest in 8,726 published function documents has 9."""

_KNOWN = ("string", "integer", "number", "boolean", "object", "array", "null")
TYPE_NAMES = {
    **{name: name for name in (*_KNOWN, "any")},
    **dict.fromkeys(("str", "text", "char", "character"), "string"),
    **dict.fromkeys(("int", "long", "short", "byte", "bigint", "int32", "int64"), "integer"),
    **dict.fromkeys(("float", "double", "decimal", "float32", "float64"), "number"),
    **dict.fromkeys(("bool",), "boolean"),
    **dict.fromkeys(("dict", "dictionary", "map", "hashmap", "hashtable", "mapping", "struct"), "object"),
    **dict.fromkeys(("list", "tuple", "set", "arraylist", "vector", "sequence"), "array"),
    **dict.fromkeys(("none", "nil", "void"), "null"),
    **dict.fromkeys(("object?", "anything", "mixed"), "any"),
}
"""Lower-case type name → JSON Schema's; what is not here is refused by name."""

_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = (
    *("additionalProperties", "items", "contains", "not", "if", "then", "else", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties", "additionalItems"),
)


def normalise(schema: Any, tool: str) -> dict[str, Any] | bool:
    """A 2020-12 copy of `schema`. Raises StubRefused with the place of what cannot be used."""
    result: dict[str, Any] | bool = _node(schema, tool, "", 0)
    _check_refs(result, result, tool, "")
    return result


def resolve(root: Any, reference: str, tool: str, path: str) -> Any:
    """What a local reference (`#`, `#/$defs/X`, any JSON pointer) points to. Raises StubRefused."""
    if not reference.startswith("#"):
        raise StubRefused(tool, path, f"the reference `{reference}` leaves the document, and is never fetched")
    node = root
    for step in reference[1:].split("/")[1:]:
        key = step.replace("%25", "%").replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            raise StubRefused(tool, path, f"the reference `{reference}` points to nothing")
    if reference != "#" and not reference.startswith("#/"):
        raise StubRefused(tool, path, f"the reference `{reference}` is an anchor; use a pointer such as `#/$defs/Name`")
    return node


def _node(schema: Any, tool: str, path: str, depth: int) -> Any:
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, Mapping):
        raise StubRefused(tool, path, f"a schema is an object, this is `{type(schema).__name__}`")
    if depth > MAX_DEPTH:
        raise StubRefused(tool, path, f"the schema is nested deeper than {MAX_DEPTH} levels")
    if "$dynamicRef" in schema or "$recursiveRef" in schema:
        raise StubRefused(tool, path, "`$dynamicRef` is not supported; use `$ref`")
    node = {key: value for key, value in schema.items() if key not in ("$schema", "nullable", "type")}
    if "type" in schema:
        kinds = _types(schema["type"], tool, f"{path}/type")
        if kinds:
            node["type"] = kinds[0] if len(kinds) == 1 else kinds
    _children(node, tool, path, depth)
    _tuple_items(node)
    _dependencies(node, tool, path, depth)
    _exclusive(node)
    _required(node, tool, path)
    return _nullable(node) if schema.get("nullable") is True else node


def _types(value: Any, tool: str, path: str) -> list[str]:
    """The type names as JSON Schema has them; empty for anything goes."""
    names: list[str] = []
    for each in value if isinstance(value, list) else [value]:
        known = TYPE_NAMES.get(each.strip().lower()) if isinstance(each, str) else None
        if known is None:
            raise StubRefused(
                tool, path, f"`{each}` is no type; known are string, integer, number, boolean, object, array, null"
            )
        if known == "any":
            return []
        if known not in names:
            names.append(known)
    return names


def _children(node: dict[str, Any], tool: str, path: str, depth: int) -> None:
    for key in _MAPS:
        if key in node:
            if not isinstance(node[key], Mapping):
                raise StubRefused(tool, f"{path}/{key}", "maps names to schemas")
            node[key] = {
                str(name): _node(each, tool, f"{path}/{key}/{_escape(str(name))}", depth + 1)
                for name, each in node[key].items()
            }
    for key in _LISTS:
        if key in node:
            if not isinstance(node[key], list) or not node[key]:
                raise StubRefused(tool, f"{path}/{key}", "is a list of schemas that is not empty")
            node[key] = [_node(each, tool, f"{path}/{key}/{at}", depth + 1) for at, each in enumerate(node[key])]
    for key in _SINGLE:
        if key in node:
            value = node[key]
            if key == "items" and isinstance(value, list):
                node[key] = [_node(each, tool, f"{path}/{key}/{at}", depth + 1) for at, each in enumerate(value)]
            else:
                node[key] = _node(value, tool, f"{path}/{key}", depth + 1)
    if "enum" in node and not (isinstance(node["enum"], list) and node["enum"]):
        raise StubRefused(tool, f"{path}/enum", "is a list of values that is not empty")
    if "$ref" in node and not isinstance(node["$ref"], str):
        raise StubRefused(tool, f"{path}/$ref", "is text")


def _tuple_items(node: dict[str, Any]) -> None:
    """Draft 7's list under `items` is `prefixItems` today."""
    if isinstance(node.get("items"), list):
        first = node.pop("items")
        if first:
            node["prefixItems"] = first
        if "additionalItems" in node:
            node["items"] = node["additionalItems"]
    node.pop("additionalItems", None)


def _dependencies(node: dict[str, Any], tool: str, path: str, depth: int) -> None:
    given = node.pop("dependencies", None)
    if not isinstance(given, Mapping):
        return
    for name, each in given.items():
        if isinstance(each, list):
            node.setdefault("dependentRequired", {})[name] = each
        else:
            node.setdefault("dependentSchemas", {})[name] = _node(
                each, tool, f"{path}/dependencies/{name}", MAX_DEPTH // 2
            )


def _exclusive(node: dict[str, Any]) -> None:
    """Draft 4 had a truth value beside the bound."""
    for plain, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        flag = node.get(exclusive)
        if isinstance(flag, bool):
            del node[exclusive]
            if flag and plain in node:
                node[exclusive] = node.pop(plain)


def _required(node: dict[str, Any], tool: str, path: str) -> None:
    """Draft 3 and loose generators put a truth value into the property; it belongs to the object."""
    names = node.get("required", [])
    if isinstance(names, bool):
        del node["required"]
        node["x-required"] = names
        names = []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise StubRefused(tool, f"{path}/required", "is a list of names")
    properties = node.get("properties", {})
    names = list(dict.fromkeys(names))
    for name, each in properties.items():
        if isinstance(each, dict) and each.pop("x-required", False) and name not in names:
            names.append(name)
    if names:
        node["required"] = names
    else:
        node.pop("required", None)


def _nullable(node: dict[str, Any]) -> dict[str, Any]:
    """OpenAPI 3.0 says `nullable`; JSON Schema has a type for it."""
    kind = node.get("type")
    if kind is None:
        return {"anyOf": [node, {"type": "null"}]} if node else node
    kinds = kind if isinstance(kind, list) else [kind]
    node["type"] = kinds if "null" in kinds else [*kinds, "null"]
    if "enum" in node and None not in node["enum"]:
        node["enum"] = [*node["enum"], None]
    return node


def _check_refs(node: Any, root: Any, tool: str, path: str) -> None:
    if isinstance(node, list):
        for at, each in enumerate(node):
            _check_refs(each, root, tool, f"{path}/{at}")
    elif isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str):
            resolve(root, reference, tool, f"{path}/$ref")
        for key, each in node.items():
            if key in _MAPS and isinstance(each, dict):
                for name, inner in each.items():
                    _check_refs(inner, root, tool, f"{path}/{key}/{_escape(name)}")
            elif key in _LISTS or key in _SINGLE:
                _check_refs(each, root, tool, f"{path}/{key}")


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
