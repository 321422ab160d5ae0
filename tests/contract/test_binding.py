"""From a document to an effective contract: one load tells the faults of shape, rules, tools, policy and claims."""

from pathlib import Path

from harness.contract.binding import bind_source
from harness.contract.load import load_contract, load_policy
from harness.contract.policy import BUILT_IN
from harness.contract.principal import Principal
from tests.contract.making import ANN, FULL, SMALL, TOOLS, document, faults_of, short

BROKEN = """\
contract: broken
version: 1
output:
  schema: {type: object, properties: {n: {type: integer}}, required: [n]}
budget: {tokens: -1, cost_usd: "0", wall_secs: 3, wall_seconds: 99_999, retries: 0, iterations: 1, calls: 1_000_000}
permissions:
  tools:
    - {tool: read_recrod}
    - {tool: update_record, scope: {tenat: acme, record_id: "42"}, callls: 3}
    - {tool: changed_since, scope: {run: "${principal.team}"}}
completion: {success: output.m > 0, stop: [{when: "output.n > 'a'"}]}
destination: [{to: "file:../x.json"}, {to: "s3://b/k"}]
sandbox: {imports: [ctypes]}
"""


def test_faults_of_every_kind_are_told_at_once(tmp_path: Path) -> None:
    """A negative budget hides no misspelt key, no scope, no expression, no ceiling, no claim."""
    file = tmp_path / "c.yaml"
    file.write_text(BROKEN)
    found = [each for each in short(faults_of(bind_source, file, BUILT_IN, ANN, TOOLS)) if each[0] != "not_available"]
    assert found == [
        ("bad_amount", 5, "budget.tokens"),
        ("unknown_key", 5, "budget.wall_secs"),
        ("above_ceiling", 5, "budget.wall_seconds"),
        ("above_ceiling", 5, "budget.calls"),
        ("unregistered_tool", 8, "permissions.tools[0].tool"),
        ("unknown_key", 9, "permissions.tools[1].callls"),
        ("unknown_argument", 9, "permissions.tools[1].scope.tenat"),
        ("scope_mismatch", 9, "permissions.tools[1].scope.record_id"),
        ("missing_reference", 10, "permissions.tools[2].scope.run"),
        ("unknown_field", 11, "completion.success"),
        ("type_mismatch", 11, "completion.stop[0].when"),
        ("bad_destination", 12, "destination[0].to"),
        ("destination_not_allowed", 12, "destination[1].to"),
        ("import_not_allowed", 13, "sandbox.imports[0]"),
    ]


def test_ceilings_are_told_beside_unknown_keys() -> None:
    """What is left out for its own fault takes nothing else with it."""
    values = document(budget={**document()["budget"], "calls": 10**6, "call": 3})
    assert short(faults_of(bind_source, values, BUILT_IN, ANN, TOOLS)) == [
        ("unknown_key", 0, "budget.call"),
        ("above_ceiling", 0, "budget.calls"),
    ]


def test_a_section_that_is_missing_makes_no_faults_elsewhere() -> None:
    """What hangs on it is not told: it may be right once the section is there."""
    for section in ("output", "budget", "permissions", "completion", "destination"):
        values = document(FULL, **{section: None})
        assert short(faults_of(load_contract, values, tools=TOOLS)) == [("binding_missing", 0, section)]
    values = document(FULL, checks={"preconditions": [{"id": "starts-at-8"}]})
    assert {key.partition(".")[0] for _code, _line, key in short(faults_of(load_contract, values, tools=TOOLS))} == {
        "checks"
    }
    for section in ("inputs", "params"):
        values = document(FULL, **{section: 5})
        assert short(faults_of(load_contract, values, tools=TOOLS)) == [("wrong_type", 0, section)]


def test_a_right_document_binds() -> None:
    """With the same digest that the contract has by itself."""
    effective = bind_source(document(), BUILT_IN, ANN, TOOLS)
    assert bind_source(effective.contract, BUILT_IN, ANN, TOOLS).digest == effective.digest


def test_what_is_not_executed_yet_does_not_keep_from_binding() -> None:
    """It can be explained; only a run is refused."""
    rules = load_policy({"policy": "p", "version": 1, "destinations": ["s3"]})
    effective = bind_source(document(destination=[{"to": "s3://b/k.parquet"}]), rules, ANN, TOOLS)
    assert all(fault.code == "not_available" for fault in effective.unavailable)


def test_a_faults_text_cannot_trick_a_terminal() -> None:
    """What a document says stands as escapes where it could move a cursor or turn a line round."""
    values = document(permissions={"tools": [{"tool": "a\x1b[2J\nb\u202e"}]}, **{"x\x1b\n": 1})
    for fault in faults_of(bind_source, values, BUILT_IN, Principal("ann", {}, "os"), TOOLS):
        assert not {"\x1b", "\n", "\u202e"} & set(str(fault))


def test_the_callers_document_is_not_changed() -> None:
    """What is left out to look further is left out of a copy."""
    values = document(SMALL, extra=1)
    faults_of(load_contract, values)
    assert values["extra"] == 1
