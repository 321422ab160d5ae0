"""References of a contract filled in for one run: scopes, inputs, params, claims and destinations."""

import math
from typing import Any

import pytest

from harness.contract.effective import Constraint, ConstraintKind, Effective
from harness.contract.principal import Principal
from tests.contract.binding import bound, policy, refused
from tests.contract.making import document, faults_of

# --- one run ---------------------------------------------------------------------------------------------------

INPUTS = {
    "type": "object",
    "properties": {"r": {"type": "integer"}, "s": {"type": "string", "default": "x"}},
    "required": ["r"],
}


def scoped(**scope: Any) -> Effective:
    """A contract with one scoped grant and inputs, bound."""
    grants = [{"tool": "update_record", "scope": scope}]
    return bound(document(permissions={"tools": grants}, inputs=INPUTS, params={"p": 7}))


def test_a_value_binds_and_leaves_the_signature() -> None:
    """What the host sets the snippet cannot see, nor set."""
    grant = scoped(tenant="${principal.tenant}", record_id="${params.p}").for_run("r", {"r": 1}).grants["update_record"]
    assert grant.bound == {"tenant": "acme", "record_id": 7}
    assert list(grant.visible_schema["properties"]) == ["text", "folder", "note"]
    assert grant.visible_schema["required"] == ["text"]
    assert grant.limits == ()


def test_limits_keep_their_kinds_and_json_types() -> None:
    """A reference that is a whole value keeps its type: an integer stays one."""
    effective = scoped(
        record_id={"one_of": [1, "${params.p}"], "equals": "${inputs.r}", "max": 9},
        folder={"under": "t/${principal.tenant}/"},
        note={"match": "a+"},
    )
    assert effective.for_run("r", {"r": 7}).grants["update_record"].limits == (
        Constraint("record_id", ConstraintKind.ONE_OF, [1, 7]),
        Constraint("record_id", ConstraintKind.EQUALS, 7),
        Constraint("record_id", ConstraintKind.MAX, 9),
        Constraint("folder", ConstraintKind.UNDER, "t/acme/"),
        Constraint("note", ConstraintKind.MATCH, "a+"),
    )


def test_inputs_narrow_inside_what_is_listed() -> None:
    """An input outside the contract's list is refused before anything starts."""
    effective = scoped(record_id={"one_of": [42, 43], "equals": "${inputs.r}"})
    assert effective.for_run("r", {"r": 42}).grants["update_record"].limits[1].value == 42
    assert [fault.code for fault in faults_of(effective.for_run, "r", {"r": 44})] == ["outside_scope"]


@pytest.mark.parametrize("tenant", ["a/b", "..", "", "a\x00", "%2e%2e", "a\\b", "${secret:X}"])
def test_a_claim_inside_a_path_is_one_segment(tenant: str) -> None:
    """A claim cannot climb out of the folder that it names."""
    values = document(
        permissions={"tools": [{"tool": "update_record", "scope": {"folder": {"under": "t/${principal.tenant}"}}}]}
    )
    effective = bound(values, principal=Principal("ann", {"tenant": tenant}, "os"))
    assert [fault.code for fault in faults_of(effective.for_run, "r", {})] == ["missing_reference"]


def test_a_claim_of_the_wrong_type_is_refused() -> None:
    """What a claim puts into an argument must be what the tool takes."""
    effective = bound(
        document(permissions={"tools": [{"tool": "read_record", "scope": {"tenant": "${principal.tenant}"}}]}),
        principal=Principal("ann", {"tenant": 5}, "os"),
    )
    assert [fault.code for fault in faults_of(effective.for_run, "r", {})] == ["scope_mismatch"]


def test_a_claim_that_is_not_there_is_refused_when_bound() -> None:
    """A scope over nothing is never an open scope."""
    values = document(permissions={"tools": [{"tool": "read_record", "scope": {"tenant": "${principal.tenant}"}}]})
    assert refused(values, principal=Principal("bob", {}, "os")) == [
        ("missing_reference", "permissions.tools[0].scope.tenant")
    ]


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({}, "`inputs`: expected the member `r`, got nothing there"),
        ({"r": "1"}, '`inputs.r`: expected integer, got string `"1"`'),
        ({"r": 1, "q": 2}, '`inputs`: expected no other members, got `"q"`'),
        ({"r": math.nan}, "the inputs have no JSON form: $.r is `nan`, which JSON lacks"),
        ({"r": 1, "s": "\ud800"}, "the inputs have no JSON form: $.s holds a lone surrogate, which is not a character"),
        ({"r": object()}, "the inputs have no JSON form: $.r has the type `object`, which JSON lacks"),
    ],
)
def test_inputs_are_held_against_their_schema(inputs: dict, said: str) -> None:
    """Unknown, missing, ill-typed and impossible inputs are refused before anything starts (C11, C12)."""
    assert [fault.message for fault in faults_of(scoped(tenant="acme").for_run, "r", inputs)] == [said]


def test_stated_defaults_of_inputs_are_filled_in() -> None:
    """What the caller leaves out has its default."""
    assert scoped(tenant="acme").for_run("r", {"r": 1}).inputs == {"r": 1, "s": "x"}


def test_a_contract_without_inputs_takes_none() -> None:
    """An input that nothing reads is a mistake of the caller."""
    assert [fault.code for fault in faults_of(bound().for_run, "r", {"x": 1})] == ["bad_input"]


def test_destinations_are_filled_in_and_secrets_are_not() -> None:
    """The run's id and inputs come in as one segment each; secrets stay references."""
    rules = policy(destinations=["file", "postgresql"], secrets={"DB": {"fields": ["destination"]}})
    places = [{"to": "file:out/${run.id}-${inputs.s}.json", "retention": "2d"}, {"to": "postgresql://${secret:DB}#t"}]
    effective = bound(document(destination=places, inputs=INPUTS), rules)
    found = effective.for_run("run_1", {"r": 1}).destinations
    assert [(each.url, each.format, each.retention_s) for each in found] == [
        ("file:out/run_1-x.json", "json", 172_800.0),
        ("postgresql://${secret:DB}#t", "row", None),
    ]
    for hostile in ("../x", "a/b", "${secret:DB}", "..", ""):
        assert [fault.code for fault in faults_of(effective.for_run, "r", {"r": 1, "s": hostile})] == [
            "missing_reference"
        ]
