"""What must hold inside a contract, alone and beside the tools of a host."""

import copy
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.contract.load import load_contract
from harness.core.errors import ContractRefused, Fault, Place
from tests.contract.making import FULL, TOOLS, codes, document, faults_of

CHECK = {"id": "c", "tool": "read_record", "args": {"tenant": "acme", "record_id": 1}, "expect": "result.version > 1"}


def with_tools(*grants: dict) -> dict[str, Any]:
    """The small contract with these grants."""
    return document(permissions={"tools": list(grants)})


def with_scope(tool: str = "update_record", **scope: Any) -> dict[str, Any]:
    """The small contract with one grant of this scope."""
    return document(
        permissions={"tools": [{"tool": tool, "scope": scope}]},
        inputs={"type": "object", "properties": {"r": {"type": "integer"}, "s": {"type": "string"}}},
    )


def with_checks(**checks: list[dict]) -> dict[str, Any]:
    """The small contract with these checks."""
    return document(checks=checks)


# --- beside the tools ------------------------------------------------------------------------------------------


def test_a_tool_that_is_not_registered_is_named_with_the_nearest() -> None:
    """The tool surface is looked at when the contract is loaded, not when it runs."""
    assert faults_of(load_contract, with_tools({"tool": "read_recrod"}), tools=TOOLS) == [
        Fault(
            "unregistered_tool",
            "the tool `read_recrod` is not registered",
            "did you mean `read_record`?",
            Place(key="permissions.tools[0].tool"),
        )
    ]


@pytest.mark.parametrize(
    ("scope", "code"),
    [
        ({"tenat": "acme"}, "unknown_argument"),
        ({"record_id": "42"}, "scope_mismatch"),
        ({"record_id": [42, "43"]}, "scope_mismatch"),
        ({"record_id": 4.5}, "scope_mismatch"),
        ({"record_id": True}, "scope_mismatch"),
        ({"record_id": {"equals": "x"}}, "scope_mismatch"),
        ({"record_id": {"under": "a/"}}, "scope_mismatch"),
        ({"record_id": {"match": "a"}}, "scope_mismatch"),
        ({"text": {"match": "("}}, "bad_pattern"),
        ({"text": {"match": "(?=a)b"}}, "bad_pattern"),
    ],
)
def test_a_scope_fits_its_argument(scope: dict, code: str) -> None:
    """An argument that the tool lacks, a value that it does not take: load errors."""
    assert codes(with_scope(**scope), TOOLS) == [(code, f"permissions.tools[0].scope.{next(iter(scope))}")]


@pytest.mark.parametrize(
    "scope",
    [
        {"tenant": "acme"},
        {"record_id": 42},
        {"record_id": [42, 43]},
        {"record_id": {"max": 500}},
        {"record_id": {"one_of": [1, 2], "max": 1}},
        {"folder": {"under": "retry/"}},
        {"note": {"match": "[a-z]+"}},
        {"tenant": "${principal.tenant}"},
        {"record_id": {"one_of": [42, 43], "equals": "${inputs.r}"}},
        {"folder": {"under": "${principal.tenant}/x"}},
    ],
)
def test_right_scopes_load(scope: dict) -> None:
    """A value binds, a list is one of, a mapping limits; inputs narrow inside what is listed."""
    assert codes(with_scope(**scope), TOOLS) == []


@pytest.mark.parametrize(
    ("scope", "code"),
    [
        ({"record_id": {"equals": "${inputs.r}"}}, "open_scope"),
        ({"record_id": ["${inputs.r}"]}, "open_scope"),
        ({"record_id": "${inputs.r}"}, "reference_misplaced"),
        ({"tenant": "${secret:NAME}"}, "reference_misplaced"),
        ({"tenant": "${run.id}"}, "reference_misplaced"),
        ({"tenant": "${params.x}"}, "bad_reference"),
        ({"tenant": "${tenant}"}, "bad_reference"),
        ({"tenant": "${principal}"}, "bad_reference"),
        ({"tenant": "${principal.tenant"}, "bad_reference"),
        ({"record_id": {"one_of": [1], "equals": "${inputs.q}"}}, "bad_reference"),
        ({"text": {"match": "${principal.tenant}"}}, "bad_scope"),
        ({"folder": {"under": "a/../b"}}, "bad_scope"),
        ({"folder": {"under": ""}}, "bad_scope"),
        ({"record_id": {"max": "5"}}, "bad_scope"),
        ({"record_id": {"max": float("nan")}}, "bad_scope"),
        ({"record_id": []}, "bad_scope"),
        ({"record_id": {}}, "bad_scope"),
        ({"record_id": {"min": 3}}, "bad_scope"),
        ({"record_id": None}, "bad_scope"),
    ],
)
def test_scopes_that_would_open_are_refused(scope: dict, code: str) -> None:
    """The caller's inputs may narrow what the contract lists, never open it; secrets stand in no scope."""
    found = codes(with_scope(**scope), TOOLS)
    assert (code, f"permissions.tools[0].scope.{next(iter(scope))}") in found


def test_a_tool_says_which_arguments_a_contract_may_limit() -> None:
    """Where a tool lists them, others are refused."""
    tools = {**TOOLS, "read_record": TOOLS["read_record"]}
    values = with_scope("read_record", record_id=[1])
    assert codes(values, tools) == []
    limited = {"tool": "update_record", "scope": {"tenant": "acme"}}
    assert codes(with_tools(limited, limited), TOOLS) == [
        ("duplicate_tool", "permissions.tools[0]"),
        ("duplicate_tool", "permissions.tools[1]"),
    ]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"tool": "read_recrod"}, "unregistered_tool"),
        ({"tool": "drop_table", "args": {"table": "x"}, "expect": "true"}, "check_acts"),
        ({"args": {"tenant": "acme"}}, "argument_missing"),
        ({"args": {"tenant": "acme", "record_id": 1, "x": 2}}, "unknown_argument"),
        ({"args": {"tenant": "acme", "record_id": "1"}}, "scope_mismatch"),
        ({"expect": "result.verson > 1"}, "unknown_field"),
        ({"expect": "result.text > 1"}, "type_mismatch"),
        ({"expect": "result.email == 'a'"}, "unguarded_field"),
        ({"id": "passed"}, "reserved_id"),
        ({"repeat": 3, "require": "2 of 4"}, "bad_requirement"),
        ({"require": "most"}, "bad_requirement"),
        ({"guards": ["read_record"]}, "bad_guard"),
    ],
)
def test_checks_are_looked_at(change: dict, code: str) -> None:
    """A check names a tool that only reads, with arguments that it takes, and an expectation that types."""
    assert code in [found for found, _key in codes(with_checks(preconditions=[{**CHECK, **change}]), TOOLS)]


def test_a_check_may_ask_for_some_of_its_repeats() -> None:
    """`2 of 3` with `repeat: 3`; and an expression over facts needs no tool."""
    again = {**CHECK, "repeat": 3, "require": "2 of 3"}
    facts = {"id": "f", "expect": "output.n > 0 && checks['c'].status == 'passed'"}
    assert codes(with_checks(postconditions=[again, facts]), TOOLS) == []


def test_check_ids_are_unique() -> None:
    """Two checks of one name could not be told apart, whatever their kind."""
    assert codes(with_checks(preconditions=[CHECK], postconditions=[CHECK]), TOOLS) == [
        ("duplicate_id", "checks.preconditions[0].id"),
        ("duplicate_id", "checks.postconditions[0].id"),
    ]


def test_an_invariant_guards_listed_tools() -> None:
    """A guard over a tool that the run cannot call guards nothing."""
    assert codes(with_checks(invariants=[{**CHECK, "guards": ["update_record"]}]), TOOLS) == [
        ("unlisted_tool", "checks.invariants[0].guards")
    ]


def test_the_status_of_a_check_is_one_of_five() -> None:
    """A misspelt status would never be true."""
    values = document(checks={"preconditions": [CHECK]}, completion={"success": "checks['c'].status == 'ok'"})
    assert codes(values, TOOLS) == [("unlisted_value", "completion.success")]


# --- alone -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("to", "code"),
    [
        ("results.json", "bad_destination"),
        ("file:", "bad_destination"),
        ("file:a/", "bad_destination"),
        ("file:/etc/passwd", "bad_destination"),
        ("file:../x.json", "bad_destination"),
        ("file:a/../../x.json", "bad_destination"),
        ("file:a\\..\\x.json", "bad_destination"),
        ("file:${secret:X}.json", "secret_misplaced"),
        ("file:${run.number}.json", "bad_reference"),
        ("file:${inputs.x}.json", "bad_reference"),
        ("", "empty"),
    ],
)
def test_destinations_that_lead_nowhere_are_refused(to: str, code: str) -> None:
    """Files lie below the host's folder; nothing climbs out of it."""
    assert (code, "destination[0].to") in codes(document(destination=[{"to": to}]))


def test_one_destination_needs_no_list() -> None:
    """A mapping stands for a list of one; an empty list is none."""
    assert codes(document(destination={"to": "file:x.json"})) == []
    assert codes(document(destination=[])) == [("empty", "destination")]
    twice = [{"to": "file:x.json"}, {"to": "file:x.json"}]
    assert [code for code, _key in codes(document(destination=twice))] == ["bad_destination"] * 2


@pytest.mark.parametrize(
    ("to", "form"),
    [("file:a.json", "json"), ("file:a.jsonl", "jsonl"), ("file:a.csv", "csv"), ("postgresql://h/db#t", "row")],
)
def test_the_format_follows_the_suffix(to: str, form: str) -> None:
    """A stated format wins."""
    assert load_contract(document(destination=[{"to": to}])).destination[0].format == form
    assert load_contract(document(destination=[{"to": to, "format": "json"}])).destination[0].format == "json"


@pytest.mark.parametrize(
    ("over", "code", "key"),
    [
        ({"output": {"schema": {"type": "float"}}}, "bad_schema", "output.schema"),
        ({"output": {"schema": {"$ref": "http://x/y"}}}, "remote_reference", "output.schema"),
        ({"output": {}}, "binding_missing", "output"),
        ({"output": {"schema": {}, "model": "m"}}, "binding_missing", "output"),
        ({"inputs": {"type": "array"}}, "bad_schema", "inputs"),
        ({"inputs": {"properties": {"a": 5}}}, "bad_schema", "inputs"),
        ({"non_goals": [{"text": "x"}]}, "non_goal_not_held", "non_goals[0]"),
        ({"non_goals": [{"text": "x", "held_by": "nothing"}]}, "non_goal_not_held", "non_goals[0].held_by"),
        ({"completion": {"success": "true", "stop": [{}]}}, "bad_stop", "completion.stop[0]"),
        ({"completion": {"success": "true", "stop": [{"same_output": 1}]}}, "bad_stop", "completion.stop[0]"),
        (
            {"completion": {"success": "true", "stop": [{"when": "run.itr > 1"}]}},
            "unknown_field",
            "completion.stop[0].when",
        ),
        (
            {"completion": {"success": "true", "stop": [{"stalled": {"measure": "'x'", "iterations": 2}}]}},
            "type_mismatch",
            "completion.stop[0].stalled.measure",
        ),
        ({"escalate": [{"when": "out > 1", "ask": "?", "options": ["a"]}]}, "unknown_name", "escalate[0].when"),
        ({"escalate": [{"when": "true", "ask": "?", "options": []}]}, "empty", "escalate[0].options"),
        ({"approval": {"expires": "a day"}}, "bad_duration", "approval.expires"),
        ({"sandbox": {"language": "rust"}}, "unknown_word", "sandbox.language"),
        ({"contract": "a b"}, "bad_name", "contract"),
        ({"contract": "../x"}, "bad_name", "contract"),
        ({"permissions": {"tools": [{}]}}, "bad_grant", "permissions.tools[0]"),
        ({"permissions": {"tools": [{"tool": "t", "calls": -1}]}}, "bad_amount", "permissions.tools[0].calls"),
        (
            {"permissions": {"tools": [{"tool": "t", "approval": "no"}]}},
            "unknown_word",
            "permissions.tools[0].approval",
        ),
        ({"permissions": {"tools": "t"}}, "wrong_type", "permissions.tools"),
        (
            {"destination": [{"to": "file:x", "notify": [{"webhook": "h", "on": ["done"]}]}]},
            "unknown_ending",
            "destination[0].notify[0].on[0]",
        ),
        (
            {"destination": [{"to": "file:x", "notify": [{"on": ["accepted"]}]}]},
            "bad_notify",
            "destination[0].notify[0]",
        ),
    ],
)
def test_what_a_contract_may_not_say(over: dict, code: str, key: str) -> None:
    """One row for each rule."""
    assert (code, key) in codes(document(**over))


def _nodes(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict | list):
        for step, each in value.items() if isinstance(value, dict) else enumerate(value):
            found += _nodes(each, (*path, step))
    return found


EXAMPLE = document(FULL)
PLACES = _nodes(EXAMPLE)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 10**18)
    | st.floats()
    | st.sampled_from(
        ["", "${", "${inputs.reviewed}", "${secret:A}", "x", "..", "\ud800", "output", "all", "read_record"]
    )
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["tool", "to", "id", "type", "$ref", "properties", "equals", "x"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), JSON), min_size=1, max_size=3))
def test_any_value_anywhere_loads_or_is_refused(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    """Whatever stands at whatever place of the worked example, nothing but a refusal is raised."""
    values = copy.deepcopy(EXAMPLE)
    for path, new in changes:
        held = values
        with suppress(KeyError, IndexError, TypeError):
            for step in path[:-1]:
                held = held[step]
            held[path[-1]] = new
    with suppress(ContractRefused):
        load_contract(values, tools=TOOLS)
