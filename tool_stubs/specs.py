"""Codec specs while they are made: which named types convert anything, and specs without the parts that do nothing."""

from collections.abc import Mapping
from typing import Any

__all__ = ["converting", "pruned"]


def converting(types: Mapping[str, Mapping[str, Any]]) -> frozenset[str]:
    """Names of the types that need a conversion: dataclasses, enums, and what holds one, however deep."""
    found = {name for name, entry in types.items() if entry["kind"] in ("dataclass", "enum")}
    while True:
        more = {name for name, entry in types.items() if name not in found and _entry_needs(entry, found)}
        if not more:
            return frozenset(found)
        found |= more


def pruned(spec: Any, needed: frozenset[str]) -> Any:
    """`spec` with every part that leaves JSON as it is cut to None."""
    if spec is None or isinstance(spec, str):
        return spec
    if "ref" in spec:
        return spec if spec["ref"] in needed else None
    if "optional" in spec:
        inner = pruned(spec["optional"], needed)
        return None if inner is None else {"optional": inner}
    if "union" in spec:
        branches = [[test, pruned(inner, needed)] for test, inner in spec["union"]]
        return None if all(inner is None for _, inner in branches) else {"union": branches}
    if "dict" in spec:
        fields = {name: cut for name, each in spec["dict"].items() if (cut := pruned(each, needed)) is not None}
        rest = pruned(spec.get("rest"), needed)
        if not fields and rest is None:
            return None
        return {"dict": fields} if rest is None else {"dict": fields, "rest": rest}
    return _pruned_container(spec, needed)


def _pruned_container(spec: Any, needed: frozenset[str]) -> Any:
    if "set" in spec:
        return {"set": pruned(spec["set"], needed)}
    if "tuple" in spec:
        items, rest = [pruned(each, needed) for each in spec["tuple"]], pruned(spec.get("rest"), needed)
        if "as" in spec and rest is None and not any(items):
            return None
        return {**spec, "tuple": items, "rest": rest}
    if "list" in spec:
        inner = pruned(spec["list"], needed)
        return None if inner is None else {"list": inner}
    inner = pruned(spec["map"], needed)
    if inner is None and not spec.get("keys"):
        return None
    return {"map": inner, "keys": spec["keys"]} if spec.get("keys") else {"map": inner}


def _entry_needs(entry: Mapping[str, Any], found: set[str]) -> bool:
    known = frozenset(found)
    if entry["kind"] == "alias":
        return pruned(entry["codec"], known) is not None
    return pruned({"dict": entry["fields"], "rest": entry.get("rest")}, known) is not None
