"""One dialect: what real surfaces write becomes JSON Schema 2020-12, or is refused with its place."""

from typing import Any

import pytest

from tool_stubs.dialect import normalise
from tool_stubs.problem import StubRefused


@pytest.mark.parametrize(
    ("given", "clean"),
    [
        ({"type": "dict"}, {"type": "object"}),
        ({"type": "float"}, {"type": "number"}),
        ({"type": "String"}, {"type": "string"}),
        ({"type": "tuple"}, {"type": "array"}),
        ({"type": "any"}, {}),
        ({"type": ["string", "None"]}, {"type": ["string", "null"]}),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"], "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"$ref": "#", "nullable": True}, {"anyOf": [{"$ref": "#"}, {"type": "null"}]}),
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"minimum": 1, "exclusiveMinimum": False}, {"minimum": 1}),
        (
            {"items": [{"type": "int"}], "additionalItems": False},
            {"prefixItems": [{"type": "integer"}], "items": False},
        ),
        (
            {"dependencies": {"a": ["b"], "c": {"type": "dict"}}},
            {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"type": "object"}}},
        ),
        (
            {"properties": {"a": {"type": "string", "required": True}, "b": {"required": False}}},
            {"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]},
        ),
        ({"properties": {"type": {"type": "str"}}}, {"properties": {"type": {"type": "string"}}}),
        ({"enum": [{"type": "dict"}]}, {"enum": [{"type": "dict"}]}),
        (True, True),
    ],
)
def test_a_schema_is_rewritten(given: Any, clean: Any) -> None:
    """C33: wrong type names are mapped; older drafts and OpenAPI 3.0 say the same in 2020-12."""
    assert normalise(given, "tool") == clean


def _nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


@pytest.mark.parametrize(
    ("given", "path", "reason"),
    [
        (
            {"properties": {"a": {"type": "date"}}},
            "/properties/a/type",
            "`date` is no type; known are string, integer, number, boolean, object, array, null",
        ),
        ({"$ref": "#/$defs/X"}, "/$ref", "the reference `#/$defs/X` points to nothing"),
        (
            {"properties": {"a": {"$ref": "https://example.com/x.json"}}},
            "/properties/a/$ref",
            "the reference `https://example.com/x.json` leaves the document, and is never fetched",
        ),
        ({"$ref": "#x"}, "/$ref", "the reference `#x` is an anchor; use a pointer such as `#/$defs/Name`"),
        ({"anyOf": []}, "/anyOf", "is a list of schemas that is not empty"),
        ({"properties": []}, "/properties", "maps names to schemas"),
        ({"items": "string"}, "/items", "a schema is an object, this is `str`"),
        ({"enum": "ab"}, "/enum", "is a list of values that is not empty"),
        ({"required": "a"}, "/required", "is a list of names"),
        ([], "", "a schema is an object, this is `list`"),
        (_nested(70), "/items" * 65, "the schema is nested deeper than 64 levels"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(given: Any, path: str, reason: str) -> None:
    """C19, C33: a bad reference or an unknown type names tool and path; nothing is fetched."""
    with pytest.raises(StubRefused) as refused:
        normalise(given, "search")
    assert (refused.value.tool, refused.value.path, refused.value.reason) == ("search", path, reason)


def test_the_given_schema_is_left_alone() -> None:
    """Normalising makes a copy."""
    given = {"type": "dict", "properties": {"a": {"type": "float", "required": True}}}
    normalise(given, "tool")
    assert given == {"type": "dict", "properties": {"a": {"type": "float", "required": True}}}
