"""JSON Schema as contracts use it: bounded, never fetched, and told in our words."""

import time
from typing import Any

import pytest

from harness.contract.schema import MAX_FAULTS, compile_schema, schema_faults
from harness.contract.shape import shape_of
from harness.core.errors import ContractRefused, Place


def messages(schema: Any, value: Any) -> list[str]:
    """What is said of a value."""
    return [f"{fault.path}: {fault.message}" for fault in compile_schema(schema).faults(value)]


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"type": "integer"}, "x", '$: expected integer, got string `"x"`'),
        ({"type": ["integer", "null"]}, 1.5, "$: expected integer or null, got number `1.5`"),
        ({"type": "integer"}, True, "$: expected integer, got boolean `true`"),
        ({"required": ["a"]}, {}, "$: expected the member `a`, got nothing there"),
        ({"properties": {}, "additionalProperties": False}, {"b": 1}, '$: expected no other members, got `"b"`'),
        ({"enum": [1, "a"]}, 2, '$: expected one of `[1,"a"]`, got `2`'),
        ({"const": 1}, 2, "$: expected `1`, got `2`"),
        ({"minimum": 3}, 2, "$: expected at least 3, got `2`"),
        ({"pattern": "^a$"}, "b", '$: expected text that matches `^a$`, got `"b"`'),
        ({"format": "date-time"}, "b", '$: expected a date-time, got `"b"`'),
        ({"items": {"type": "string"}}, ["a", 1], "$[1]: expected string, got integer `1`"),
        ({"properties": {"a b": {"type": "string"}}}, {"a b": 1}, '$["a b"]: expected string, got integer `1`'),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, "$: expected string or null, got `1`"),
        ({"uniqueItems": True}, [1, 1], "$: expected items of which no two are equal, got `[1,1]`"),
        (False, 1, "$: expected nothing, got `1`"),
    ],
)
def test_faults_are_told_in_our_words(schema: Any, value: Any, said: str) -> None:
    """Path, what was expected, what was there."""
    assert messages(schema, value) == [said]


def test_shown_values_are_cut_and_faults_are_counted() -> None:
    """A hostile value neither floods a message nor a list."""
    long = messages({"type": "array"}, "y" * 1_000_000)[0]
    assert len(long) < 200
    assert len(messages({"items": {"type": "string"}}, [1] * 10_000)) == MAX_FAULTS


@pytest.mark.parametrize(
    ("schema", "code", "said"),
    [
        ({"type": "float"}, "bad_schema", "`$.type`: `float` is no type of JSON Schema"),
        (
            {"properties": {"a": {"type": "String"}}},
            "bad_schema",
            "`$.properties.a.type`: `String` is no type of JSON Schema",
        ),
        ({"pattern": "(?=a)b"}, "bad_schema", '`$.pattern`: `"(?=a)b"` is no pattern'),
        ({"minimum": "a"}, "bad_schema", '`$.minimum` of the schema: expected number, got string `"a"`'),
        ({"$ref": "http://x/y"}, "remote_reference", "the reference `http://x/y` leads outside"),
        ({"$ref": "other.json"}, "remote_reference", "the reference `other.json` leads outside"),
        (
            {"items": {"$dynamicRef": "file:///etc/passwd#a"}},
            "remote_reference",
            "the reference `file:///etc/passwd#a` leads outside",
        ),
        ({"$schema": "http://x/meta"}, "bad_schema", "the schema is of `http://x/meta`, which is not known"),
        ([], "bad_schema", "a schema is a mapping, not `list`"),
        ({"const": float("nan")}, "bad_schema", "the schema is no JSON: $.const is `nan`, which JSON lacks"),
    ],
)
def test_schemas_that_are_none_are_refused(schema: Any, code: str, said: str) -> None:
    """C19, C33: nothing is fetched, unknown types are named with their path."""
    assert [(fault.code, fault.message) for fault in schema_faults(schema, Place())] == [(code, said)]
    with pytest.raises(ContractRefused):
        compile_schema(schema)


@pytest.mark.parametrize("kind", ["float", "dict", "String", "int", "tuple", "None"])
def test_types_of_other_languages_get_the_right_name_as_hint(kind: str) -> None:
    """C33: real surfaces write them."""
    assert schema_faults({"type": kind}, Place())[0].hint.startswith("did you mean `")


def test_a_reference_that_leads_nowhere_is_refused() -> None:
    """C19: a load error, never a crash in a run."""
    assert [fault.code for fault in schema_faults({"$ref": "#/$defs/none"}, Place())] == ["bad_schema"]


def test_recursive_schemas_hold() -> None:
    """C19: three levels pass, and a fault below is found with its path."""
    node = {
        "$ref": "#/$defs/node",
        "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}, "id": {"type": "integer"}}}},
    }
    assert compile_schema(node).ok({"next": {"next": {"id": 1}}})
    assert messages(node, {"next": {"next": {"id": "x"}}}) == ['$.next.next.id: expected integer, got string `"x"`']


def test_explosive_patterns_and_deep_values_come_to_an_end() -> None:
    """B23, G04: a pattern runs in linear time, a value of 20,000 levels does not end the process."""
    value: Any = 1
    for _ in range(20_000):
        value = [value]
    started = time.monotonic()
    assert compile_schema({"pattern": "^(a+)+$"}).ok("a" * 50_000 + "!") is False
    assert compile_schema({"type": "string"}).ok(value) is False
    assert compile_schema({"type": "array"}).ok(value) is True
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("value", [object(), "\ud800", {1: 2}, {"a": object()}, b"x"])
def test_what_is_no_json_never_fits(value: Any) -> None:
    """C12: not even a schema that takes anything raises for it."""
    assert (
        compile_schema({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}).ok(value)
        is False
    )


def test_equal_schemas_share_one_validator() -> None:
    """Compiling costs once."""
    assert compile_schema({"type": "object", "required": ["a"]}) is compile_schema(
        {"required": ["a"], "type": "object"}
    )


def test_a_draft_7_schema_keeps_its_meaning() -> None:
    """`definitions` and `items` as a list are of that draft."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "items": [{"type": "integer"}, {"$ref": "#/definitions/a"}],
        "definitions": {"a": {"type": "string"}},
    }
    assert [compile_schema(schema).ok(each) for each in ([1, "a"], ["a", "a"], [1, 1])] == [True, False, False]


def test_shapes_follow_references_and_choices_of_one() -> None:
    """What a schema says of fields, through `$ref`, `anyOf` with null, and lists of types."""
    schema = {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/x"},
            "b": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "c": {"type": ["integer", "null"]},
            "d": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            "e": {"const": "k"},
            "f": {"$ref": "#/$defs/loop"},
        },
        "$defs": {"x": {"type": "boolean"}, "loop": {"$ref": "#/$defs/loop"}},
    }
    shape = shape_of(schema)
    found = {name: (shape.member(name).kind, shape.member(name).nullable) for name in shape.fields}
    assert found == {
        "a": ("boolean", False),
        "b": ("string", True),
        "c": ("integer", True),
        "d": ("", False),
        "e": ("string", False),
        "f": ("", False),
    }
