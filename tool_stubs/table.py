"""The table: the JSON from which the box builds its stubs, made of the same shapes as the text."""

from collections.abc import Mapping, Sequence
from typing import Any

from tool_stubs.signature import Signature
from tool_stubs.specs import converting, pruned
from tool_stubs.types import Types

__all__ = ["make_table"]


def make_table(
    types: Types, signatures: Sequence[Signature], docs: Mapping[str, tuple[int, int]], errors: Sequence[str]
) -> dict[str, Any]:
    """`docs` holds the lines of each docstring in the text, `errors` the error classes that the module offers."""
    named = types.table()
    needed = converting(named)
    rows = [_row(signature, needed, docs[signature.wire]) for signature in signatures]
    kept = {
        name: _pruned_entry(entry, needed)
        for name, entry in named.items()
        if entry["kind"] != "alias" or name in needed
    }
    return {"v": 1, "tools": rows, "types": kept, "errors": list(errors)}


def _row(signature: Signature, needed: frozenset[str], doc: tuple[int, int]) -> dict[str, Any]:
    row: dict[str, Any] = {"name": signature.wire, "py": signature.name, "doc": list(doc), "params": []}
    for each in signature.parameters:
        entry: dict[str, Any] = {"wire": each.wire}
        if each.name != each.wire:
            entry["py"] = each.name
        if each.required:
            entry["req"] = True
        if each.keyword_only:
            entry["kw"] = True
        if each.sends_default:
            entry["send"], entry["default"] = True, each.schema["default"]
        codec = pruned(each.shape.codec, needed)
        if codec is not None:
            entry["codec"] = codec
        row["params"].append(entry)
    result = pruned(signature.result.codec, needed)
    if result is not None:
        row["result"] = result
    if signature.extra is not None:
        row["extra"] = pruned(signature.extra.codec, needed)
    if signature.item.get("bound"):
        row["bound"] = list(signature.item["bound"])
    return row


def _pruned_entry(entry: dict[str, Any], needed: frozenset[str]) -> dict[str, Any]:
    if entry["kind"] == "alias":
        return {**entry, "codec": pruned(entry["codec"], needed)}
    if entry["kind"] == "dict":
        spec = pruned({"dict": entry["fields"], "rest": entry["rest"]}, needed) or {"dict": {}}
        return {"kind": "dict", "fields": spec["dict"], **({"rest": spec["rest"]} if "rest" in spec else {})}
    if entry["kind"] == "dataclass":
        return {**entry, "fields": [{**each, "codec": pruned(each["codec"], needed)} for each in entry["fields"]]}
    return entry
