"""JSON Schema → annotations and named types."""

from typing import Any

import pytest

from tool_stubs.definitions import render
from tool_stubs.dialect import normalise
from tool_stubs.types import Types


def _read(schema: Any) -> tuple[str, list[str]]:
    types = Types([])
    document = normalise(schema, "tool")
    annotation = types.of(document, "tool").shape(document, "Thing").annotation
    return annotation, [line for line in render(types.named.values()) if line]


@pytest.mark.parametrize(
    ("schema", "annotation"),
    [
        ({}, "Any"),
        (True, "Any"),
        (False, "Never"),
        ({"type": "string"}, "str"),
        ({"type": ["integer", "null"]}, "int | None"),
        ({"type": "string", "format": "date-time"}, "dt.datetime"),
        ({"type": "string", "format": "date"}, "dt.date"),
        ({"type": "string", "format": "uuid"}, "UUID"),
        ({"type": "string", "format": "email"}, "str"),
        ({"type": "string", "contentEncoding": "base64"}, "bytes"),
        ({"enum": ["a", 1, None]}, "Literal['a', 1] | None"),
        ({"enum": [1.5, 2]}, "float | int"),
        ({"const": True}, "Literal[True]"),
        ({"type": "array", "items": {"type": "number"}}, "list[float]"),
        ({"type": "array"}, "list[Any]"),
        ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}, "list[int | str]"),
        ({"type": "object"}, "dict[str, Any]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "integer"}]}, "str | int | None"),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, "Any"),
        ({"allOf": [{"type": "integer"}, {"minimum": 1}]}, "int"),
        ({"description": "no type"}, "Any"),
    ],
)
def test_a_schema_is_written_as_the_type_that_it_means(schema: Any, annotation: str) -> None:
    """Plain schemas need no named type."""
    assert _read(schema) == (annotation, [])


def test_an_object_becomes_a_typed_dict() -> None:
    """Optional members are marked, descriptions stand above their member."""
    schema = {
        "type": "object",
        "description": "One hit.",
        "properties": {"id": {"type": "integer"}, "note": {"type": "string", "description": "Free\ntext."}},
        "required": ["id"],
    }
    assert _read(schema) == (
        "Thing",
        [
            "class Thing(TypedDict):",
            '    """One hit."""',
            "    id: int",
            "    # Free text.",
            "    note: NotRequired[str]",
        ],
    )


def test_members_that_python_cannot_write_stay_what_they_are() -> None:
    """C15: keywords, dashes and names that would hide a type go into the functional form."""
    schema = {
        "type": "object",
        "properties": {"from": {"type": "string"}, "list": {"type": "array"}},
        "required": ["from"],
    }
    assert _read(schema)[1] == [
        "Thing = TypedDict(",
        '    "Thing",',
        "    {",
        "        'from': 'str',",
        "        'list': 'NotRequired[list[Any]]',",
        "    },",
        ")",
    ]


@pytest.mark.parametrize("home", ["$defs", "definitions"])
def test_a_schema_that_holds_itself_becomes_one_class(home: str) -> None:
    """C19: recursion ends, under today's key and the old one."""
    node = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": f"#/{home}/Node"}}}}
    schema = {"type": "object", "properties": {"root": {"$ref": f"#/{home}/Node"}}, home: {"Node": node}}
    assert _read(schema) == (
        "Thing",
        [
            "class Thing(TypedDict):",
            "    root: NotRequired[Node]",
            "class Node(TypedDict):",
            "    children: NotRequired[list[Node]]",
        ],
    )


def test_a_union_that_holds_itself_becomes_an_alias() -> None:
    """C19: JSON as a schema of itself."""
    either = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/Json"}}]}
    assert _read({"$ref": "#/$defs/Json", "$defs": {"Json": either}}) == (
        "Json",
        ['Json: TypeAlias = "str | list[Json]"'],
    )


def test_all_of_with_references_is_one_type() -> None:
    """C19: `allOf` + `$ref` folds together."""
    schema = {
        "allOf": [{"$ref": "#/$defs/Base"}, {"properties": {"b": {"type": "string"}}, "required": ["b"]}],
        "$defs": {"Base": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}},
    }
    assert _read(schema) == ("Thing", ["class Thing(TypedDict):", "    a: int", "    b: str"])


def test_all_of_that_holds_itself_ends() -> None:
    """C19: a loop through `allOf` is a class that names itself."""
    schema = {
        "$ref": "#/$defs/A",
        "$defs": {"A": {"allOf": [{"type": "object", "properties": {"next": {"$ref": "#/$defs/A"}}}]}},
    }
    assert _read(schema) == ("A", ["class A(TypedDict):", "    next: NotRequired[A]"])


def test_branches_of_one_of_are_all_shown() -> None:
    """C33: each branch with its own members and the constant that tells it."""
    branch = lambda by, key, kind: {  # noqa: E731
        "type": "object",
        "properties": {"by": {"const": by}, key: {"type": kind}},
        "required": ["by", key],
    }
    assert _read({"oneOf": [branch("id", "id", "integer"), branch("name", "name", "string")]}) == (
        "ThingOption1 | ThingOption2",
        [
            "class ThingOption1(TypedDict):",
            "    by: Literal['id']",
            "    id: int",
            "class ThingOption2(TypedDict):",
            "    by: Literal['name']",
            "    name: str",
        ],
    )


def test_a_dataclass_field_may_have_the_name_of_a_type() -> None:
    """The type gets another name there, so that type checkers read what is meant."""
    schema = {
        "type": "object",
        "x-python": "dataclass",
        "title": "Rec",
        "properties": {"list": {"type": "array", "items": {"type": "string"}}, "other": {"type": "array"}},
        "required": ["list", "other"],
    }
    assert _read(schema) == (
        "Rec",
        ["_list = list", "@dataclass", "class Rec:", "    list: _list[str]", "    other: _list[Any]"],
    )


def test_equal_definitions_of_two_documents_are_one_class() -> None:
    """Two tools that return a record share its class; another record of the same name gets a number."""
    types = Types([])
    one = {"$ref": "#/$defs/Rec", "$defs": {"Rec": {"type": "object", "properties": {"a": {"type": "integer"}}}}}
    other = {"$ref": "#/$defs/Rec", "$defs": {"Rec": {"type": "object", "properties": {"b": {"type": "integer"}}}}}
    read = [types.of(schema, "t").shape(schema, "X").annotation for schema in (one, one, other)]
    assert read == ["Rec", "Rec", "Rec_2"]
