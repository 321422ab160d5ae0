"""Words of refusals: parameters in a phrase, names that were meant."""

import pytest

from harness.enforcement.words import listed, nearest, parameter_kinds


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "date"}, "string (date)"),
        ({"type": ["integer", "null"]}, "integer or null"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer or null"),
        ({"oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]}, "object"),
        ({"enum": ["red", "green"]}, "one of `red`, `green`"),
        ({"$ref": "#/$defs/Node"}, "object"),
        ({}, "any"),
        (True, "any"),
    ],
)
def test_a_schema_in_a_word_or_two(schema: object, words: str) -> None:
    """C33: whatever stands in a real schema has a phrase."""
    assert parameter_kinds({"properties": {"x": schema}, "required": ["x"]}) == {"x": words}


def test_optional_parameters_are_marked() -> None:
    """The rest must be given."""
    schema = {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]}
    assert parameter_kinds(schema) == {"a": "integer", "b": "string (optional)"}


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("qery", ["query"]),
        ("QUERY", ["query"]),
        ("max-results", ["max_results"]),
        ("nothing_like_it", []),
        ("", []),
        ("q" * 100_000, []),
    ],
)
def test_the_nearest_names(name: str, meant: list[str]) -> None:
    """C29: spelling, case and separators are forgiven; a guess that is no guess is not made."""
    assert nearest(name, ["query", "max_results", "page"]) == meant


def test_of_names_that_fold_to_one_each_is_itself() -> None:
    """C17: the suggestion is a name that exists."""
    assert nearest("get-usr", ["get-user", "get_user"]) == ["get-user"]


def test_a_list_of_names() -> None:
    """In backticks, cut with a count."""
    assert listed(["a", "b"]) == "`a`, `b`"
    assert listed([]) == ""
    assert listed(str(number) for number in range(22)).endswith("`19` and 2 more")
