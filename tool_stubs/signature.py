"""One tool as a signature and a docstring."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tool_stubs.constraints import constraints
from tool_stubs.shape import Shape
from tool_stubs.text import docstring_lines, literal, one_line, paragraph

__all__ = ["Parameter", "Signature", "tool_lines"]

WIDTH = 110
_EFFECTS = {
    "read": "read: it changes nothing",
    "write": "write: it changes something outside",
    "destructive": "destructive: it removes or overwrites something for good",
}
_APPROVALS = {
    "none": "none",
    "before_execute": "a person is asked before the first call with the same arguments",
    "always": "a person is asked before every call",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a stub."""

    wire: str
    name: str
    """As it is written in Python."""
    shape: Shape
    required: bool
    keyword_only: bool
    schema: Any
    """Normalised JSON Schema."""
    has_default: bool
    """Whether the schema names a default that is of the parameter's type."""
    sends_default: bool
    """Whether that default travels where the argument is left out."""

    @property
    def default_text(self) -> str:
        """The default as the signature shows it."""
        if not self.has_default or self.shape.codec is not None or not _short(self.schema["default"]):
            return "UNSET"
        return literal(self.schema["default"])

    def text(self) -> str:
        """`limit: int = 10`."""
        return f"{self.name}: {self.shape.annotation}{'' if self.required else f' = {self.default_text}'}"


@dataclass(frozen=True, slots=True)
class Signature:
    """One tool, ready to be written."""

    wire: str
    name: str
    parameters: tuple[Parameter, ...]
    extra: Shape | None
    """Shape of arguments beyond the listed ones; None where there may be none."""
    result: Shape
    item: Mapping[str, Any]
    """The tool's item of the surface."""

    def head(self) -> str:
        """`search(query: str, limit: int = 10) -> list[Hit]`, on one line."""
        return f"{self.name}({', '.join(self._arguments())}) -> {self.result.annotation}"

    def def_lines(self) -> list[str]:
        """The `def`, broken where it is long."""
        short = f"def {self.head()}:"
        if len(short) <= WIDTH:
            return [short]
        return [f"def {self.name}(", *(f"    {each}," for each in self._arguments()), f") -> {self.result.annotation}:"]

    def _arguments(self) -> list[str]:
        plain = [each.text() for each in self.parameters if not each.keyword_only]
        keyword = [each.text() for each in self.parameters if each.keyword_only]
        extra = [f"**extra: {self.extra.annotation}"] if self.extra is not None else []
        return [*plain, *(["*"] if keyword else []), *keyword, *extra]


def tool_lines(signature: Signature) -> tuple[list[str], tuple[int, int]]:
    """Source lines of a stub, and where its docstring stands in them (first and last, from 1)."""
    head = ["@stub", *signature.def_lines()]
    doc = docstring_lines(_doc(signature), "    ")
    return [*head, *doc, "    ..."], (len(head) + 1, len(head) + len(doc))


def _doc(signature: Signature) -> list[str]:
    item = signature.item
    described = paragraph(str(item.get("description") or "")) or [f"Call the tool {one_line(signature.wire)}."]
    lines = _without_sections(described)
    limits = item.get("limits") or {}
    arguments = [_argument(each, str(limits.get(each.wire, ""))) for each in signature.parameters]
    if any(told for _, told in arguments):
        lines += ["", "Args:", *(f"    {name}: {told}" for name, told in arguments if told)]
    result = item.get("result")
    if isinstance(result, Mapping):
        told = result.get("description")
        words = [one_line(told)] if isinstance(told, str) and told else []
        if item.get("returns"):
            words = [one_line(str(item["returns"]))]
        lines += ["", "Returns:", f"    {_joined([*words, constraints(result)])}"] if words else []
    else:
        lines += ["", "Returns:", "    Not declared by the tool: look at a value before relying on its form."]
    lines += _raises(item.get("errors") or {})
    lines += ["", *_rules(signature.wire, signature.name, item)]
    return lines


def _argument(parameter: Parameter, limit: str) -> tuple[str, str]:
    schema = parameter.schema if isinstance(parameter.schema, Mapping) else {}
    told = schema.get("description")
    parts = [one_line(told)] if isinstance(told, str) and told else []
    parts += [text] if (text := constraints(schema)) else []
    parts += [f"the contract allows {limit}"] if limit else []
    if not parameter.required and "default" in schema and parameter.default_text == "UNSET":
        parts.append(f"default {one_line(json.dumps(schema['default'], ensure_ascii=False), 120)}")
    if parameter.wire != parameter.name:
        parts.append(f"wire name {literal(parameter.wire)}")
    return parameter.name, _joined(parts)


def _joined(parts: Sequence[str]) -> str:
    """Phrases with semicolons; a full stop inside goes."""
    told = [part for part in parts if part]
    return "; ".join([*(part.removesuffix(".") for part in told[:-1]), *told[-1:]])


def _raises(errors: Mapping[str, str]) -> list[str]:
    if not errors:
        return []
    told = [
        f"    {one_line(name, 80)}: {one_line(hint) if hint else 'declared by the tool'}"
        for name, hint in errors.items()
    ]
    return ["", "Raises:", *told]


def _rules(wire: str, name: str, item: Mapping[str, Any]) -> list[str]:
    lines = [f"Effect: {_EFFECTS.get(str(item.get('effect')), str(item.get('effect')))}."]
    lines.append(f"Approval: {_APPROVALS.get(str(item.get('approval')), str(item.get('approval')))}.")
    if item.get("calls") is not None:
        lines.append(f"Calls: at most {item['calls']} in this run.")
    if item.get("bound"):
        lines.append(f"Set by the contract: {', '.join(one_line(each, 80) for each in item['bound'])}.")
    if wire != name:
        lines.append(f"Tool: {one_line(wire, 120)}.")
    return lines


def _without_sections(lines: Sequence[str]) -> list[str]:
    """A description without an `Args:`, `Returns:` or `Raises:` of its own: ours say what holds here."""
    kept: list[str] = []
    skipping = False
    for line in lines:
        if line.strip() in _SECTIONS:
            skipping = True
        elif line and not line.startswith(" "):
            skipping = False
        if not skipping:
            kept.append(line)
    while kept and not kept[-1]:
        kept.pop()
    return kept or list(lines[:1])


_SECTIONS = frozenset({"Args:", "Arguments:", "Parameters:", "Returns:", "Return:", "Yields:", "Raises:"})


def _short(value: Any) -> bool:
    return len(json.dumps(value)) <= 60
