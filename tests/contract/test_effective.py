"""Binding: policy, principal and tools make a contract effective; a run fills its references in."""

import itertools
import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from harness.contract.effective import bind
from harness.contract.later import LATER, LATER_POLICY
from harness.contract.load import load_contract
from harness.contract.policy import BUILT_IN
from harness.core.budget import Dimension
from harness.core.call import Approval
from harness.core.errors import ContractRefused, Fault, Place
from tests.contract.binding import bound, policy, refused
from tests.contract.making import ANN, FULL, READ, TOOLS, UPDATE, document, faults_of

# --- ceilings --------------------------------------------------------------------------------------------------


def test_a_stated_value_above_its_ceiling_is_refused_with_both_numbers() -> None:
    """The person who wrote the contract must see what the platform team allows."""
    faults = faults_of(bound, document(), policy(ceilings={"wall_seconds": 5, "tokens": 0}))
    assert faults == [
        Fault(
            "above_ceiling",
            "`wall_seconds` is 10.0, and the policy `p` allows 5.0",
            "state 5.0 or less",
            Place(key="budget.wall_seconds"),
        )
    ]


@pytest.mark.parametrize("dimension", list(Dimension))
def test_a_ceiling_holds_at_it_and_not_above(dimension: Dimension) -> None:
    """Every dimension has a ceiling: at it the contract binds, one above it does not; unstated takes it."""
    ceiling = policy(ceilings={dimension.value: 7})
    budget = {"tokens": 0, "cost_usd": 0, "wall_seconds": 1, "retries": 0, "iterations": 1}
    at, above = {**budget, dimension.value: 7}, {**budget, dimension.value: 8}
    assert bound(document(budget=at), ceiling).limits[dimension.value] == 7
    assert refused(document(budget=above), ceiling) == [("above_ceiling", f"budget.{dimension}")]
    if dimension.value not in budget:
        assert bound(document(budget=budget), ceiling).limits[dimension.value] == 7


def test_every_dimension_is_limited_and_money_is_exact() -> None:
    """No dimension is without a finite limit, whatever the contract leaves out."""
    limits = bound(document(budget={**document()["budget"], "cost_usd": "0.1"})).limits
    assert set(limits) == {each.value for each in Dimension}
    assert limits["cost_usd"] == Decimal("0.1")
    assert all(math.isfinite(each) for each in limits.values())


def test_calls_of_one_tool_are_a_counter_of_their_own() -> None:
    """A stated number of calls limits that tool beside the total."""
    values = document(permissions={"tools": [{"tool": "read_record", "scope": {"tenant": "acme"}, "calls": 3}]})
    assert bound(values).limits["calls:read_record"] == 3


def test_unstated_disk_takes_a_quarter_of_the_memory_at_most() -> None:
    """Work files lie in memory, so they may not fill it."""
    values = document(budget={**document()["budget"], "memory_mb": 64})
    assert bound(values).limits["disk_mb"] == 16


# --- what the policy lets a contract list -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "over", "code", "key"),
    [
        ({"effects": ["write"]}, {}, "tool_not_allowed", "permissions.tools[0]"),
        ({"tools": ["update_record"]}, {}, "tool_not_allowed", "permissions.tools[0]"),
        ({"tools": ["read"]}, {}, "tool_not_allowed", "permissions.tools[0]"),
        ({"callers": {"small": ["bob"]}}, {}, "caller_not_allowed", "contract"),
        ({"languages": ["restricted"]}, {"sandbox": {"language": "plain"}}, "language_not_allowed", "sandbox.language"),
        ({"imports": ["json"]}, {"sandbox": {"imports": ["json", "re"]}}, "import_not_allowed", "sandbox.imports[1]"),
        ({}, {"sandbox": {"imports": ["ctypes"]}}, "import_not_allowed", "sandbox.imports[0]"),
        ({"backends": ["docker"]}, {"sandbox": {"backend": "bubblewrap"}}, "backend_not_allowed", "sandbox.backend"),
        ({}, {"sandbox": {"runtime": "runsc"}}, "runtime_not_allowed", "sandbox.runtime"),
        ({}, {"sandbox": {"image": "x"}}, "image_not_allowed", "sandbox.image"),
        ({}, {"destination": [{"to": "s3://b/k"}]}, "destination_not_allowed", "destination[0].to"),
        ({"destinations": []}, {}, "destination_not_allowed", "destination[0].to"),
        (
            {"destinations": ["postgresql"]},
            {"destination": [{"to": "postgresql://${secret:DB}#t"}]},
            "secret_not_allowed",
            "destination[0].to",
        ),
    ],
)
def test_a_policy_narrows(rules: dict, over: dict, code: str, key: str) -> None:
    """One row for each rule: what it does not list cannot be had."""
    assert refused(document(**over), policy(**rules)) == [(code, key)]


def test_a_listed_secret_may_stand_in_its_field_alone() -> None:
    """A secret for destinations is none for webhooks."""
    rules = policy(destinations=["postgresql"], secrets={"DB": {"fields": ["destination"]}})
    there = [{"to": "postgresql://${secret:DB}#t"}]
    assert bound(document(destination=there), rules).contract.destination[0].to == "postgresql://${secret:DB}#t"
    told = [{"to": "postgresql://h#t", "notify": [{"webhook": "${secret:DB}", "on": ["accepted"]}]}]
    assert refused(document(destination=told), rules) == [("secret_not_allowed", "destination[0].notify[0].webhook")]


@pytest.mark.parametrize(
    ("listed", "url", "allowed"),
    [
        ("s3", "s3://b/k", True),
        ("s3://b/", "s3://b/k", True),
        ("s3://b", "s3://b/k", True),
        ("s3://b", "s3://b-of-others/k", False),
        ("s3://b", "s3://b.evil.example/k", False),
        ("s3://b/", "s3://b/../c", False),
        ("s", "s3://b/k", False),
        ("file:results/", "file:results/x.json", True),
        ("file:results/", "file:other/x.json", False),
    ],
)
def test_destinations_are_compared_by_whole_segments(listed: str, url: str, allowed: bool) -> None:
    """A beginning that ends inside a name allows nothing."""
    assert policy(destinations=[listed]).allows_destination(url, url.partition(":")[0]) is allowed


def test_what_is_unstated_comes_from_the_policy() -> None:
    """Language, imports and backends of a contract that names none."""
    effective = bound(document(), policy(languages=["plain"], imports=["json"], backends=["docker"]))
    assert (effective.language, effective.imports, effective.backends) == ("plain", ("json",), ("docker",))
    none = bound(document(sandbox={"imports": []}), policy())
    assert none.imports == ()


# --- approval --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy_says", "tool_says", "contract_says"), list(itertools.product(Approval, repeat=3)))
def test_the_strictest_approval_holds(policy_says: Approval, tool_says: Approval, contract_says: Approval) -> None:
    """Over all combinations of policy, tool and contract: nobody makes it looser."""
    tool = replace(UPDATE, approval=tool_says)
    grant = {"tool": "update_record", "scope": {"tenant": "acme"}, "approval": contract_says.value}
    rules = policy(approval={"write": policy_says.value})
    effective = bound(document(permissions={"tools": [grant]}), rules, update_record=tool)
    strictness = max(each.strictness for each in (policy_says, tool_says, contract_says))
    assert effective.approvals["update_record"].strictness == strictness
    assert effective.for_run("r", {}).grants["update_record"].approval.strictness == strictness


def test_a_policy_may_be_stricter_for_one_tool() -> None:
    """By its whole name; the rule by effect stays below it."""
    rules = policy(tool_approval={"read_record": "always", "read": "none"})
    shown = replace(READ, has_preview=True, preview="read {record_id}")
    assert bound(document(), rules, read_record=shown).approvals["read_record"] is Approval.ALWAYS


@pytest.mark.parametrize("grant", [{"tool": "drop_table"}, {"tool": "read_record", "approval": "always"}])
def test_what_a_person_must_see_has_a_written_preview(grant: dict) -> None:
    """A destructive tool, or one that asks every time, without a preview does not bind."""
    assert refused(document(permissions={"tools": [grant]})) == [("no_preview", "permissions.tools[0]")]


def test_the_built_in_policy_asks_for_destruction_only() -> None:
    """Listed reads and writes are allowed, destructive calls ask."""
    found = [BUILT_IN.approval_for(TOOLS[name]) for name in ("read_record", "update_record", "drop_table")]
    assert found == [Approval.NONE, Approval.NONE, Approval.BEFORE_EXECUTE]


def test_labelled_fields_of_other_classes_are_masked() -> None:
    """A contract sees the classes that it lists, and no others."""
    grants = {"tools": [{"tool": "read_record"}], "data_classes": ["internal"]}
    assert bound(document(permissions=grants)).for_run("r", {}).grants["read_record"].masks == {"pii"}
    assert bound().for_run("r", {}).grants["read_record"].masks == {"internal", "pii"}


# --- what is not executed yet ----------------------------------------------------------------------------------


def test_what_is_not_executed_yet_is_listed_with_its_place(tmp_path: Any) -> None:
    """Parsed, typed, and named; never ignored."""
    file = tmp_path / "c.yaml"
    file.write_text(FULL)
    effective = bind(
        load_contract(file),
        policy(
            destinations=["file", "postgresql"],
            secrets={"RESULTS_DB": {"fields": ["destination"]}, "OPS_HOOK": {"fields": ["webhook"]}},
        ),
        ANN,
        TOOLS,
    )
    asked = [fault.place.key for fault in effective.unavailable]
    assert asked == [key for row in LATER for key in row.keys(effective.contract)]
    lines = FULL.splitlines()
    for fault in effective.unavailable:
        name = fault.place.key.rpartition(".")[2].partition("[")[0]
        assert fault.code == "not_available"
        assert fault.place.line > 0
        if not fault.place.key.endswith("]"):
            assert f"{name}:" in lines[fault.place.line - 1]


def test_the_small_contract_needs_nothing_that_is_not_there() -> None:
    """The five bindings run in this version."""
    assert bound().unavailable == ()


def test_a_rule_of_the_policy_that_is_not_executed_is_not_ignored() -> None:
    """Silence would loosen the policy."""
    rules = policy(mask_unlabelled=True, metered={"tokens": ["proxied"]})
    found = [fault.place.key for fault in bound(document(), rules).unavailable]
    assert found == [rule.key for rule in LATER_POLICY]


def test_every_row_of_the_table_is_asked_for_by_some_contract() -> None:
    """A row that nothing asks for is a row to delete."""
    grants = {"tools": [{"contract": "child.yaml"}, {"tool": "update_record"}]}
    everything = load_contract(document(FULL, models=["m"], permissions=grants))
    output = {
        "output": {"model": "Record"},
        "completion": {"success": "true"},
        "checks": None,
        "escalate": None,
        "non_goals": None,
    }
    other = load_contract(document(FULL, **output))
    assert [row.name for row in LATER if not [*row.keys(everything), *row.keys(other)]] == []


def test_a_contract_built_in_python_obeys_the_same_rules() -> None:
    """Models and files are two ways to one contract: `bind` looks at everything again."""
    contract = load_contract(document()).model_copy(update={"params": {"x": math.nan}})
    with pytest.raises(ContractRefused) as caught:
        bind(contract, BUILT_IN, ANN, TOOLS)
    assert [fault.code for fault in caught.value.faults] == ["not_json"]
    unknown = load_contract(document(permissions={"tools": [{"tool": "nothing"}]}))
    assert [fault.code for fault in faults_of(bind, unknown, BUILT_IN, ANN, TOOLS)] == ["unregistered_tool"]
