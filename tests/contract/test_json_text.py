"""JSON contracts: strict JSON, with lines, duplicates refused."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.contract.load import parse_document
from harness.core.errors import Fault, Place
from tests.contract.making import faults_of, short

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(VALUES)
def test_json_means_what_it_means_to_python(value: object) -> None:
    """Any JSON value is read as the standard library reads it."""
    text = json.dumps(value, ensure_ascii=True, indent=1)
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    assert parse_document(text, "c.json").values == json.loads(text)


def test_lines_are_counted() -> None:
    """Each key and each item knows its line."""
    document = parse_document('{\n "a": 1,\n "b": [\n  2,\n  {"c": 3}]\n}\n', "c.json")
    assert dict(document.places.lines) == {"": 1, "a": 2, "b": 3, "b[0]": 4, "b[1]": 5, "b[1].c": 5}


def test_duplicates_are_refused_with_both_places() -> None:
    """Every JSON library takes the last of two; here neither is taken."""
    assert faults_of(parse_document, '{"a": 1,\n "a": 2}', "c.json") == [
        Fault("duplicate_key", "the key `a` stands twice", "the first is on line 1", Place("c.json", 2, 2, "a"))
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1,]",
        "{'a': 1}",
        "NaN",
        "[Infinity]",
        "-",
        "01",
        "1.",
        "+1",
        "tru",
        '"\x01"',
        "1 2",
        "{1: 2}",
        "[" * 100_000,
        "9" * 101,
        '"\\ud8',
        "[1 2]",
        '{"a" 1}',
        "nul",
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text: str) -> None:
    """G02, G04: strict, bounded, and never a crash."""
    assert [code for code, _line, _key in short(faults_of(parse_document, text, "c.json"))] == ["bad_json"]
