"""Questions about a normalised schema: what an `allOf` comes to, what a node reaches, what tells a branch apart."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tool_stubs.dialect import resolve

__all__ = ["branch_test", "children", "fingerprint", "is_bare", "kinds_of", "merged", "reaches_itself", "takes"]

_CHILD_MAPS = ("properties", "patternProperties", "dependentSchemas")
_CHILD_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_CHILD_SINGLE = ("additionalProperties", "items", "not", "if", "then", "else", "contains")
_SAYS_TYPE = frozenset(
    {"type", "$ref", "properties", "items", "prefixItems", "enum", "const", "allOf", "anyOf", "oneOf", "format"}
)


def is_bare(node: Any) -> bool:
    """Whether a node says nothing of a type (`{}`, `{"required": […]}`, `{"not": …}`)."""
    return not isinstance(node, Mapping) or not _SAYS_TYPE & node.keys()


def merged(root: Any, node: Mapping[str, Any], tool: str) -> dict[str, Any]:
    """`node` with its `allOf` and the target of its own `$ref` folded in; a reference that comes back is left out."""
    result: dict[str, Any] = {}
    for part in _parts(root, node, tool, ()):
        for key, value in part.items():
            if key == "properties":
                have = result.get(key, {})
                result[key] = {**have, **{name: _both(have.get(name), each) for name, each in value.items()}}
            elif key == "required":
                result[key] = list(dict.fromkeys([*result.get(key, []), *value]))
            elif key in ("anyOf", "oneOf") and key in result:
                continue
            else:
                result[key] = value
    return result


def _both(left: Any, right: Any) -> Any:
    """The more telling of two schemas of one property, the keys of both."""
    if isinstance(left, Mapping) and isinstance(right, Mapping) and "$ref" not in left and "$ref" not in right:
        return {**left, **right}
    return right if left is None or is_bare(left) else left


def _parts(root: Any, node: Any, tool: str, seen: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    if not isinstance(node, Mapping):
        return
    reference = node.get("$ref")
    if isinstance(reference, str) and reference not in seen:
        yield from _parts(root, resolve(root, reference, tool, ""), tool, (*seen, reference))
    for each in node.get("allOf", ()):
        yield from _parts(root, each, tool, seen)
    yield {key: value for key, value in node.items() if key not in ("allOf", "$ref", "$defs", "definitions")}


def children(node: Any) -> Iterator[Any]:
    """The schemas directly inside a schema."""
    if not isinstance(node, Mapping):
        return
    for key in _CHILD_MAPS:
        yield from node.get(key, {}).values()
    for key in _CHILD_LISTS:
        yield from node.get(key, ())
    for key in _CHILD_SINGLE:
        if key in node:
            yield node[key]


def _reached(root: Any, node: Any, tool: str) -> dict[str, Any]:
    """Every reference that a node reaches, with its target."""
    found: dict[str, Any] = {}
    stack = [node]
    while stack:
        each = stack.pop()
        reference = each.get("$ref") if isinstance(each, Mapping) else None
        if isinstance(reference, str) and reference not in found:
            found[reference] = resolve(root, reference, tool, "")
            stack.append(found[reference])
        stack.extend(children(each))
    return found


def reaches_itself(root: Any, reference: str, tool: str) -> bool:
    """Whether the target of a reference holds the same reference again."""
    return reference in _reached(root, resolve(root, reference, tool, ""), tool)


def fingerprint(root: Any, node: Any, tool: str) -> str:
    """Text that is equal for equal schemas, whatever document they stand in."""
    reached = _reached(root, node, tool)
    own = {key: value for key, value in node.items() if key not in ("$defs", "definitions")}
    parts = {
        name: {key: value for key, value in each.items() if key not in ("$defs", "definitions")}
        if isinstance(each, Mapping)
        else each
        for name, each in reached.items()
    }
    return json.dumps([own, parts], sort_keys=True)


def kinds_of(root: Any, node: Any, tool: str) -> list[str]:
    """JSON types that a node allows; empty where it does not say."""
    flat = merged(root, node, tool) if isinstance(node, Mapping) else {}
    kind = flat.get("type")
    if isinstance(kind, list):
        return list(kind)
    if isinstance(kind, str):
        return [kind]
    values = flat["enum"] if "enum" in flat else [flat["const"]] if "const" in flat else []
    if values:
        return sorted({_kind_of(value) for value in values})
    if "properties" in flat or isinstance(flat.get("additionalProperties"), Mapping):
        return ["object"]
    return ["array"] if "items" in flat or "prefixItems" in flat else []


def branch_test(root: Any, node: Any, tool: str) -> dict[str, Any]:
    """What tells a branch of a union: see the codec."""
    flat = merged(root, node, tool) if isinstance(node, Mapping) else {}
    test: dict[str, Any] = {}
    kinds = kinds_of(root, node, tool)
    if kinds:
        test["kinds"] = kinds
    if flat.get("required"):
        test["has"] = list(flat["required"])
    says = {
        name: each["enum"] if "enum" in each else [each["const"]]
        for name, each in flat.get("properties", {}).items()
        if isinstance(each, Mapping) and ("enum" in each or "const" in each)
    }
    if says:
        test["says"] = {name: allowed for name, allowed in says.items() if name in flat.get("required", ())}
    if flat.get("additionalProperties") is False and "properties" in flat:
        test["only"] = list(flat["properties"])
    if "enum" in flat or "const" in flat:
        test["values"] = flat["enum"] if "enum" in flat else [flat["const"]]
    return {key: value for key, value in test.items() if value}


def takes(root: Any, node: Any, value: Any, tool: str) -> bool:
    """Whether a default is of the type that its schema names; bounds and patterns are not looked at."""
    if not isinstance(node, Mapping):
        return node is not False
    flat = merged(root, node, tool)
    if "enum" in flat or "const" in flat:
        return value in flat.get("enum", [flat.get("const")])
    branches = flat.get("anyOf") or flat.get("oneOf")
    if branches and "type" not in flat:
        return any(takes(root, each, value, tool) for each in branches)
    kinds, kind = kinds_of(root, node, tool), _kind_of(value)
    if kinds and kind not in kinds and not (kind == "integer" and "number" in kinds):
        return False
    if isinstance(value, list) and "items" in flat:
        return all(takes(root, flat["items"], each, tool) for each in value)
    if isinstance(value, dict):
        properties = flat.get("properties", {})
        return all(takes(root, properties[name], each, tool) for name, each in value.items() if name in properties)
    return True


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "object")
