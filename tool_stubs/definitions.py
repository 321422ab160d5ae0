"""The named types of a surface as Python source: typed dicts, dataclasses, enums, aliases."""

import keyword
import re
from collections.abc import Iterable

from tool_stubs.naming import is_usable
from tool_stubs.shape import FieldLine, NamedType
from tool_stubs.text import docstring_lines, literal, one_line

__all__ = ["render"]

_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")


def render(named: Iterable[NamedType]) -> list[str]:
    """Source lines that define the types, in their order; annotations are strings until somebody asks."""
    lines: list[str] = []
    renamed: set[str] = set()
    for each in named:
        lines += ["", ""] if each.kind != "alias" else [""]
        if each.kind == "alias":
            lines += [f'{each.name}: TypeAlias = "{each.alias.annotation}"']
        elif each.kind == "enum":
            lines += _enum(each)
        elif each.kind == "dataclass":
            lines += _dataclass(each, renamed)
        else:
            lines += _typed_dict(each)
    return lines


def _enum(each: NamedType) -> list[str]:
    base = f"{each.base}, Enum" if each.base else "Enum"
    members = [f"    {name} = {literal(value)}" for name, value in each.members]
    return [f"class {each.name}({base}):", *_told(each), *members]


def _dataclass(each: NamedType, renamed: set[str]) -> list[str]:
    """Fields as they are; a type whose name a field has is written under another one, which `renamed` keeps."""
    clashing = sorted(_words(each) & {line.name for line in each.fields})
    aliases = [f"_{name} = {name}" for name in clashing if name not in renamed]
    renamed.update(clashing)
    head = f"@dataclass{'(frozen=True)' if each.frozen else ''}"
    lines = [*aliases, *([""] * bool(aliases)), head, f"class {each.name}:", *_told(each)]
    ordered = sorted(each.fields, key=lambda line: line.has_default or not line.required)
    for line in ordered:
        lines += _comment(line)
        annotation = _WORD.sub(lambda found: f"_{found[0]}" if found[0] in clashing else found[0], line.annotation)
        default = " = UNSET" if line.has_default or not line.required else ""
        lines.append(f"    {line.name}: {annotation}{default}")
    return lines if each.fields else [*lines, "    pass"]


def _typed_dict(each: NamedType) -> list[str]:
    names = [line.wire for line in each.fields]
    spelt = all(is_usable(name) and not name.startswith("__") and not keyword.issoftkeyword(name) for name in names)
    if spelt and not _words(each) & set(names):
        lines = [f"class {each.name}(TypedDict):", *_told(each)]
        for line in each.fields:
            lines += [*_comment(line), f"    {line.wire}: {_presence(line)}"]
        return lines if each.fields else [*lines, "    pass"]
    lines = [f"# {each.description}"] if each.description else []
    lines += [f"{each.name} = TypedDict(", f'    "{each.name}",', "    {"]
    for line in each.fields:
        comment = [f"    {text}" for text in _comment(line)]
        lines += [*comment, f"        {literal(line.wire)}: {literal(_presence(line))},"]
    return [*lines, "    },", ")"]


def _presence(line: FieldLine) -> str:
    return line.annotation if line.required else f"NotRequired[{line.annotation}]"


def _told(each: NamedType) -> list[str]:
    return [*docstring_lines([each.description], "    "), ""] if each.description else []


def _comment(line: FieldLine) -> list[str]:
    wire = f"wire name {literal(line.wire)}" if line.wire != line.name else ""
    text = one_line("; ".join(part for part in (line.description, wire) if part))
    return [f"    # {text}"] if text else []


def _words(each: NamedType) -> set[str]:
    """The names that the annotations of a type use."""
    return {word for line in each.fields for word in _WORD.findall(_TEXT.sub("", f"NotRequired {line.annotation}"))}
