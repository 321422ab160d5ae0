"""Predicates: typed when compiled, never true by accident when evaluated."""

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.contract.expression import (
    MAX_TEXT,
    ExpressionFault,
    Gives,
    Judged,
    compile_predicate,
    expression_faults,
)
from harness.core.errors import Fault, Place

ROW = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "string"}},
    "required": ["x"],
}
OUTPUT = {
    "type": "object",
    "properties": {
        "version": {"type": "integer"},
        "text": {"type": "string"},
        "confidence": {"type": "number"},
        "state": {"enum": ["open", "closed"]},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "rows": {"type": "array", "items": ROW},
        "names": {"type": "object", "additionalProperties": {"type": "string"}},
        "node": {"$ref": "#/$defs/node"},
        "any": {},
    },
    "required": ["version", "text", "state", "maybe", "rows", "names", "node", "any"],
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}},
            "required": ["id"],
        }
    },
}
ENV: dict[str, Any] = {
    "output": OUTPUT,
    "params": {
        "type": "object",
        "properties": {"least": {"type": "integer"}, "floor": {"type": "number"}},
        "required": ["least", "floor"],
    },
    "free": {},
}


def codes(text: str, gives: Gives = Gives.CONDITION) -> list[str]:
    """The fault codes of an expression."""
    return [fault.code for fault in expression_faults(text, ENV, Place(), gives)]


@pytest.mark.parametrize(
    "text",
    [
        "output.version > params.least",
        "output.version > 1 && output.text == 'a'",
        "has(output.confidence) && output.confidence < params.floor",
        "has(output.confidence) && output.confidence < 1",
        "!has(output.confidence) || output.confidence < 0.5",
        "has(output.confidence) ? output.confidence < 0.5 : false",
        "!(has(output.confidence) && output.confidence < 0.5)",
        "output.rows.all(row, row.x > 1)",
        "output.rows.exists(row, has(row.y) && row.y == 'a')",
        "output.rows.filter(row, row.x > 1).size() > 1",
        "'a' in output.names && output.names.a == 'b'",
        "'a' in output.names && output.names['a'] == 'b'",
        "output.names.all(name, name != '')",
        "size(output.names) == 3",
        "output.state == 'open'",
        "output.state in ['open', 'closed']",
        "output.maybe == null || output.maybe > 3",
        "has(output.node.next) && has(output.node.next.next) && output.node.next.next.id == 3",
        "output.any.thing[3].other == 'x'",
        "free.a.b == 1",
        "output.text.matches('^a+$')",
        "double(output.version) > 1.5",
        "true",
    ],
)
def test_right_expressions_compile(text: str) -> None:
    """What a person would write is taken."""
    assert codes(text) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("output.verson > 1", "unknown_field"),
        ("has(output.confidense)", "unknown_field"),
        ("output.rows.all(row, row.z > 1)", "unknown_field"),
        ("output.node.nxt.id == 1", "unknown_field"),
        ("output['verson'] == 1", "unknown_field"),
        ("output.text > 1", "type_mismatch"),
        ("output.version == '1'", "type_mismatch"),
        ("output.version > 1.5", "type_mismatch"),
        ("output.rows[0].x == 'a'", "type_mismatch"),
        ("output.maybe == 'a'", "type_mismatch"),
        ("output.version", "type_mismatch"),
        ("output.text + 1 == 'a'", "type_mismatch"),
        ("output.confidence < 1", "unguarded_field"),
        ("output.confidence < 1 && has(output.confidence)", "unguarded_field"),
        ("has(output.confidence) || output.confidence < 1", "unguarded_field"),
        ("!has(output.confidence) && output.confidence < 1", "unguarded_field"),
        ("has(output.confidence) ? true : output.confidence < 1", "unguarded_field"),
        ("has(output.node.next) && output.node.next.next.id == 1", "unguarded_field"),
        ("has(output.node.next.next)", "unguarded_field"),
        ("output.names.a == 'b'", "unguarded_field"),
        ("output.rows.all(row, row.y == 'a')", "unguarded_field"),
        ("output.rows.exists(row, has(row.y)) && output.rows.all(row, row.y == 'a')", "unguarded_field"),
        ("output.state == 'opne'", "unlisted_value"),
        ("output.state in ['open', 'shut']", "unlisted_value"),
        ("outptu.version > 1", "unknown_name"),
        ("output.version >", "bad_predicate"),
        ("", "bad_predicate"),
        ("  ", "bad_predicate"),
        ("x" * (MAX_TEXT + 1), "bad_predicate"),
        ("'\ud83d' == output.text", "bad_predicate"),
        ("(" * 40 + "true" + ")" * 40, "bad_predicate"),
        ("[" * 2_000, "bad_predicate"),
    ],
)
def test_wrong_expressions_are_load_errors(text: str, code: str) -> None:
    """A misspelt field, a wrong type, an optional field without `has()`, a value that is not listed: none waits."""
    assert codes(text) == [code]


def test_a_fault_names_the_expression_and_the_way_out() -> None:
    """The sentence is ours, not the engine's."""
    assert expression_faults("output.verson > 1", ENV, Place(key="k")) == [
        Fault(
            "unknown_field",
            "`output.verson > 1`: there is no field `verson`",
            "did you mean `version`?",
            Place(key="k"),
        )
    ]
    assert expression_faults("output.text > 1", ENV, Place()) == [
        Fault(
            "type_mismatch",
            "`output.text > 1`: `>` does not take the types string, int",
            "compare values of one type; `int(x)`, `double(x)` and `string(x)` convert",
        )
    ]


def test_every_unguarded_field_is_named_at_once() -> None:
    """One expression, two faults, one load."""
    assert codes("output.confidence < 1 && output.names.a == 'b'") == ["unguarded_field", "unguarded_field"]


def test_a_measure_gives_a_number() -> None:
    """Where a number is wanted a condition is refused, and the other way round."""
    assert codes("output.version", Gives.NUMBER) == []
    assert codes("output.version > 1", Gives.NUMBER) == ["type_mismatch"]


def test_compiling_raises_every_fault() -> None:
    """Whoever compiles without asking first gets the faults as a refusal."""
    with pytest.raises(ExpressionFault) as caught:
        compile_predicate("output.confidence < 1 && output.names.a == 'b'", ENV)
    assert len(caught.value.faults) == 2


@pytest.mark.parametrize(
    ("facts", "judged"),
    [
        ({"output": {"confidence": 0.1}, "params": {"floor": 0.4}}, Judged(True)),
        ({"output": {"confidence": 1}, "params": {"floor": 0.4}}, Judged(False)),
        ({"output": {}, "params": {"floor": 0.4}}, Judged(False)),
    ],
)
def test_judging(facts: dict, judged: Judged) -> None:
    """True, false, and a guard that holds."""
    predicate = compile_predicate("has(output.confidence) && output.confidence < params.floor", ENV)
    assert predicate.evaluate(facts) == judged


def deep(levels: int) -> Any:
    """A list inside a list, and so on."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [None, "1", 10**30, {}, [], "\ud800", object(), deep(5_000), deep(20_000), float("nan"), {1: 2}, {"version": "x"}],
    ids=[
        "null",
        "text",
        "huge",
        "object",
        "list",
        "surrogate",
        "python",
        "deep",
        "deeper",
        "nan",
        "number-key",
        "other",
    ],
)
def test_an_error_is_never_true(value: Any) -> None:
    """Facts of any shape make an error or false; neither raises, neither is true, none ends the process."""
    for text in ("output.version > 1", "!(output.version > 1)", "output.version > 1 || output.version <= 1"):
        judged = compile_predicate(text, ENV).evaluate({"output": value})
        assert judged.value is False
    assert compile_predicate("output.version > 1", ENV).evaluate({"output": value}).error != ""


def test_a_value_that_is_no_condition_is_an_error() -> None:
    """A dynamic value that turns out to be text is not true, however truthy."""
    judged = compile_predicate("free.a", ENV).evaluate({"free": {"a": "yes"}})
    assert judged == Judged(False, "it gives string, not true or false")


def test_numbers_of_json_compare_by_value() -> None:
    """A `number` that arrives as 1 and one that arrives as 1.0 are the same to a predicate."""
    predicate = compile_predicate("has(output.confidence) && output.confidence >= 1", ENV)
    assert [predicate.evaluate({"output": {"confidence": each}}).value for each in (1, 1.0, 0.99)] == [
        True,
        True,
        False,
    ]


def test_evaluation_is_bounded() -> None:
    """Loops over loops, and patterns that explode elsewhere, come to an end at once (B23)."""
    numbers = list(range(9_000))
    started = time.monotonic()
    nested = compile_predicate("free.all(a, free.all(b, free.all(c, a + b + c >= 0)))", ENV)
    assert nested.evaluate({"free": numbers}).value is False
    assert compile_predicate("free.matches('^(a+)+$')", ENV).evaluate({"free": "a" * 50_000 + "!"}) == Judged(False)
    assert compile_predicate("size(free) > 0", ENV).evaluate({"free": [0] * 300_000}).error.startswith("the facts have")
    assert time.monotonic() - started < 3


@settings(max_examples=200, deadline=None)
@given(st.text("output.vesin<>=!&|()[]'\" 0123.?:has+-*/%{},\ud800\x00é", max_size=60))
def test_any_text_compiles_or_is_refused(text: str) -> None:
    """Whatever stands there, nothing is raised but faults."""
    faults = expression_faults(text, ENV, Place())
    assert all(fault.code and fault.message for fault in faults)
