"""Generates the tools module of a run: readable typed source for models, people and type checkers, and the table that
the box builds its stubs from. The source is never executed in the box; both come from the same shapes."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tool_stubs.definitions import render
from tool_stubs.dialect import normalise
from tool_stubs.finding import finding_lines, finding_names
from tool_stubs.naming import RESERVED, class_name, fold_parameters, fold_tool, is_usable
from tool_stubs.problem import StubRefused
from tool_stubs.schemas import merged, takes
from tool_stubs.shape import ANY, Shape
from tool_stubs.signature import Parameter, Signature, tool_lines
from tool_stubs.table import make_table
from tool_stubs.types import Reader, Types

__all__ = ["Stubs", "compact", "generate", "tool_names"]

_ERRORS = (
    *("ApprovalRejected", "ArgumentsRefused", "BudgetExhausted", "OutcomeUnknown"),
    *("PartialResult", "ToolDenied", "ToolError", "ToolFailed"),
)
_TYPING = ("Any", "Literal", "Never", "NotRequired", "TypeAlias", "TypedDict")
_DEFINED_BY = {"dict": "TypedDict", "enum": "Enum", "dataclass": "dataclass", "alias": "TypeAlias"}
_HEAD = '''"""Tools of this run: `from tools import NAME`. Call them like functions, by position or by keyword.

Inside async code `await NAME(...)` works as well, and so do gather, create_task and task groups.
`NAME.map(rows)` makes one call for each row, all at the same time; a row is a dict of arguments.
A failed call raises: ToolDenied (refused, nothing happened), ToolFailed, OutcomeUnknown (do not repeat it),
ApprovalRejected, PartialResult; each has `code`, `message`, `hint`.
"""'''


@dataclass(frozen=True, slots=True)
class Stubs:
    """What goes into the box, and what people read."""

    source: str
    """Python text: compiles, type-checks, says everything that a caller must know."""
    table: dict[str, Any]
    """JSON from which `tool_stubs.runtime.stub.build` makes the same module."""
    names: Mapping[str, str]
    """Wire name → Python name."""


def tool_names(wire: Sequence[str]) -> dict[str, str]:
    """Wire name → Python name of every tool. Raises StubRefused where two names fold to one."""
    names: dict[str, str] = {}
    owner: dict[str, str] = {}
    for name in wire:
        folded = fold_tool(name)
        if folded in owner:
            raise StubRefused(name, "name", f"folds to `{folded}`, as `{owner[folded]}` does")
        names[name] = folded
        owner[folded] = name
    return names


def generate(surface: Sequence[Mapping[str, Any]], finding: bool = False) -> Stubs:
    """The stubs of a surface: see `harness.registry.catalog.surface` for its items. Raises StubRefused.

    With `finding` the module offers `search` and `describe` too: for surfaces that are too large for a prompt.
    """
    types, signatures = _read(surface)
    names = {signature.wire: signature.name for signature in signatures}
    errors = _error_names(surface)
    body = [*render(types.named.values()), *_error_lines(errors, surface)]
    needed = _used_names(types, signatures, errors)
    lines = [*_HEAD.split("\n"), "", *_imports(needed, body, signatures), *body]
    docs: dict[str, tuple[int, int]] = {}
    for signature in signatures:
        written, (first, last) = tool_lines(signature)
        lines += ["", ""]
        docs[signature.wire] = (len(lines) + first, len(lines) + last)
        lines += written
    table = make_table(types, signatures, docs, errors)
    if finding:
        table["finding"] = finding_names(names.values())
        lines += finding_lines(table["finding"])
    return Stubs("\n".join(lines) + "\n", table, names)


def compact(surface: Sequence[Mapping[str, Any]]) -> str:
    """One line for each tool: signature, effect, what it is for. For prompts; types are described by `generate`."""
    _, signatures = _read(surface)
    lines = []
    for signature in signatures:
        told = " ".join(str(signature.item.get("description") or "").split())
        first = re.split(r"(?<=[.!?])\s", told, maxsplit=1)[0][:160]
        wire = f" (tool {signature.wire})" if signature.wire != signature.name else ""
        lines.append(f"{signature.head()}  # {signature.item.get('effect')}{wire}{': ' if first else ''}{first}")
    return "\n".join(lines)


def _read(surface: Sequence[Mapping[str, Any]]) -> tuple[Types, list[Signature]]:
    names = tool_names([item["name"] for item in surface])
    errors = _error_names(surface)
    types = Types(
        [
            *names.values(),
            *finding_names(names.values()).values(),
            *RESERVED,
            *_TYPING,
            *errors,
            "Decimal",
            "Enum",
            "UUID",
            "dataclass",
            "dt",
        ]
    )
    return types, [_signature(types, item, names[item["name"]]) for item in surface]


def _signature(types: Types, item: Mapping[str, Any], name: str) -> Signature:
    wire = item["name"]
    document = normalise(item.get("parameters") or {"type": "object"}, wire)
    root: Mapping[str, Any] = document if isinstance(document, Mapping) else {}
    flat = merged(root, root, wire) if "allOf" in root or "$ref" in root else root
    reader = types.of(root, wire)
    prefix = class_name(name)
    parameters = _parameters(reader, root, flat, wire, prefix)
    return Signature(wire, name, tuple(parameters), _extra(reader, flat), _result(types, item, prefix), item)


def _parameters(
    reader: Reader, root: Mapping[str, Any], flat: Mapping[str, Any], wire: str, prefix: str
) -> list[Parameter]:
    """Required ones first, as Python wants them; keyword-only ones last."""
    properties: Mapping[str, Any] = flat.get("properties", {})
    required = frozenset(flat.get("required", ()))
    keyword_only = frozenset(flat.get("x-keyword-only", ()))
    sends = flat.get("x-python") == "function"
    python = fold_parameters(properties)
    found: list[Parameter] = []
    for name, schema in properties.items():
        told = schema if isinstance(schema, Mapping) else {}
        fits = "default" in told and takes(root, told, told["default"], wire)
        shape = reader.shape(schema, f"{prefix}{class_name(name)}")
        optional = name not in required
        found.append(
            Parameter(
                name, python[name], shape, not optional, name in keyword_only, told, fits, fits and sends and optional
            )
        )
    return sorted(found, key=lambda each: (each.keyword_only, not each.required))


def _extra(reader: Reader, flat: Mapping[str, Any]) -> Shape | None:
    """Arguments beyond the listed ones, only where the tool says that it takes them."""
    values = flat.get("additionalProperties")
    if values is True or flat.get("patternProperties"):
        return ANY
    if isinstance(values, Mapping):
        return reader.shape(values, "Extra")
    return None


def _result(types: Types, item: Mapping[str, Any], prefix: str) -> Shape:
    schema = item.get("result")
    if schema is None:
        return ANY
    document = normalise(schema, item["name"])
    return types.of(document, item["name"]).shape(document, f"{prefix}Result")


def _error_names(surface: Sequence[Mapping[str, Any]]) -> list[str]:
    """Declared error classes that the module can offer under their own names."""
    found = {name: None for item in surface for name in item.get("errors") or {}}
    tools = {fold_tool(item["name"]) for item in surface}
    return [name for name in found if is_usable(name) and name not in RESERVED and name not in tools]


def _error_lines(errors: Sequence[str], surface: Sequence[Mapping[str, Any]]) -> list[str]:
    owners = {name: [item["name"] for item in surface if name in (item.get("errors") or {})] for name in errors}
    lines: list[str] = []
    for name in errors:
        told = json.dumps(", ".join(owners[name]), ensure_ascii=True)[1:-1]
        lines += ["", "", f"class {name}(ToolFailed):", f'    """Declared by {told}."""']
    return lines


def _used_names(types: Types, signatures: Sequence[Signature], errors: Sequence[str]) -> str:
    """All annotations in one text, to see which imports they need."""
    parts = [each.shape.annotation for signature in signatures for each in signature.parameters]
    parts += [signature.result.annotation for signature in signatures]
    parts += [signature.extra.annotation for signature in signatures if signature.extra is not None]
    for named in types.named.values():
        parts += [line.annotation for line in named.fields]
        parts += [named.alias.annotation] if named.kind == "alias" else []
        parts += {"dict": ["TypedDict"], "enum": ["Enum"], "dataclass": ["dataclass"], "alias": ["TypeAlias"]}[
            named.kind
        ]
        parts += ["NotRequired"] if named.kind == "dict" and not all(line.required for line in named.fields) else []
    parts += ["ToolFailed"] if errors else []
    return " ".join(parts)


def _imports(used: str, body: Sequence[str], signatures: Sequence[Signature]) -> list[str]:
    words = set(re.findall(r"[A-Za-z_]\w*", re.sub(r"'(?:[^'\\]|\\.)*'", "", used)))
    lines = ['# mypy: disable-error-code="empty-body"', "from __future__ import annotations", ""]
    lines += ["import datetime as dt"] if "dt" in words else []
    lines += ["from dataclasses import dataclass"] if "dataclass" in words else []
    lines += ["from decimal import Decimal"] if "Decimal" in words else []
    lines += ["from enum import Enum"] if "Enum" in words else []
    typing = [name for name in _TYPING if name in words]
    lines += [f"from typing import {', '.join(typing)}"] if typing else []
    lines += ["from uuid import UUID"] if "UUID" in words else []
    lines += [""] if lines[-1] else []
    lines += ["from tool_stubs.runtime.errors import (  # noqa: F401", *(f"    {name}," for name in _ERRORS), ")"]
    unset = any("UNSET" in line for line in body) or any(
        "= UNSET" in each.text() for signature in signatures for each in signature.parameters
    )
    return [*lines, f"from tool_stubs.runtime.typed import {'UNSET, ' if unset else ''}stub"]
