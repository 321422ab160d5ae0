"""Bounds on results: plain JSON, not deep, not wide, not large, and said with a path."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from harness.executor.bounds import MAX_BYTES, MAX_DEPTH, MAX_MEMBERS, json_fault, size_fault


def _nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"rows": [{"x": float("nan")}]}, "$.rows[0].x is `nan`, which JSON lacks"),
        ([1.0, float("-inf")], "$[1] is `-inf`, which JSON lacks"),
        ({"a": "\ud83d"}, "$.a holds a lone surrogate, which is not a character"),
        ({"a": {"\udc00": 1}}, "$.a holds a lone surrogate, which is not a character"),
        ({"a": (1, 2)}, "$.a has the type `tuple`, which JSON lacks"),
        ({1: 2}, "$ has a key of type `int`, keys are text"),
        (1 << 10_001, "$ is an integer of more than 10000 bits"),
        (_nested(MAX_DEPTH + 1), "$" + "[0]" * MAX_DEPTH + " is nested deeper than 100 levels"),
        ([None] * (MAX_MEMBERS + 1), "$ brings the members to more than 1000000"),
        ({"text": "x" * (MAX_BYTES + 1)}, f"$.text brings the size to more than {MAX_BYTES} bytes"),
        (["\x01" * 1000] * (MAX_BYTES // 6000 + 2), f"$ is larger than {MAX_BYTES} bytes"),
    ],
)
def test_what_is_out_of_bounds_is_named_with_its_path(value: object, fault: str) -> None:
    """C11, C12, G04: one sentence that says where and what."""
    assert json_fault(value) == fault


@pytest.mark.parametrize(
    "value", [None, True, 0, -1.5, "", "é😀", [], {}, {"a": [1, {"b": None}]}, _nested(MAX_DEPTH), 1 << 9_999]
)
def test_what_is_json_passes(value: object) -> None:
    """At the bounds too."""
    assert json_fault(value) == ""


def test_a_hundred_thousand_levels_are_refused_and_nothing_crashes() -> None:
    """G04: by both looks, long before the interpreter's own limit."""
    value = _nested(100_000)
    assert json_fault(value).endswith("is nested deeper than 100 levels")
    assert size_fault(value) == "$ is nested deeper than 100 levels"
    while isinstance(value, list):  # taken apart by hand: the interpreter would recurse
        value = value[0]


@dataclasses.dataclass
class Row:
    inner: object


class Model(BaseModel):
    inner: object


@pytest.mark.parametrize("wrap", [Row, lambda inner: Model(inner=inner), lambda inner: {"k": inner}, lambda i: (i,)])
def test_size_is_seen_inside_fields_and_containers(wrap) -> None:
    """Dataclasses, models, dicts and tuples hide nothing."""
    assert size_fault(wrap("x" * (MAX_BYTES + 1))) == f"$ is larger than {MAX_BYTES} bytes"
    assert size_fault(wrap([None] * (MAX_MEMBERS + 1))) == "$ has more than 1000000 members"
    assert size_fault(wrap("x")) == ""


def test_a_structure_that_contains_itself_is_too_deep() -> None:
    """No endless walk."""
    loop: list = []
    loop.append(loop)
    assert json_fault(loop).endswith("is nested deeper than 100 levels")
    assert size_fault(loop) == "$ is nested deeper than 100 levels"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=15,
    )
)
def test_ordinary_json_is_never_refused(value: object) -> None:
    """Whatever JSON can say, in small."""
    assert (json_fault(value), size_fault(value)) == ("", "")
