"""What the tests of contracts are made of: the worked example as a text, its tools, and faults as short tuples."""

from collections.abc import Mapping
from typing import Any

import pytest

from harness.contract.load import load_contract, parse_document
from harness.contract.principal import Principal
from harness.contract.tool import ErrorRule, IdempotencyRule, RetryRule, ToolContract
from harness.core.call import Approval, Effect, Idempotency
from harness.core.errors import Fault, Refused

FULL = """\
contract: record-repair
version: 3
goal: bring record 42 to the reviewed text and announce it
owner: {intent: support-lead, policy: platform, escalate_to: support-oncall}
inputs:
  type: object
  properties: {reviewed: {type: string}}
  required: [reviewed]
params: {expected_version: 8, floor: 0.4}
non_goals:
  - {text: change any other tenant, held_by: permissions}
  - {text: create records, held_by: other-records-untouched}

output:
  schema:
    type: object
    properties: {record: {type: integer}, version: {type: integer}, confidence: {type: number}}
    required: [record, version]
    additionalProperties: false

budget:
  tokens: 50_000
  cost_usd: "0.50"
  wall_seconds: 60
  retries: 5
  iterations: 4
  calls: 200
  cpu_seconds: 20
  memory_mb: 256
  output_bytes: 1_000_000

permissions:
  tools:
    - {tool: read_record, scope: {tenant: "${principal.tenant}"}, calls: 50}
    - tool: update_record
      scope: {tenant: "${principal.tenant}", record_id: [42, 43]}
      approval: always
  data_classes: [internal]
approval: {expires: 24h, hold_seconds: 30}

completion:
  success: output.version > params.expected_version && checks.passed
  stop:
    - same_output: 3
    - when: run.iteration >= 2 && has(output.confidence) && output.confidence < params.floor

destination:
  - {to: "file:results/${run.id}.json", retention: 30d}
  - to: "postgresql://${secret:RESULTS_DB}#record_repairs"
    notify: [{webhook: "${secret:OPS_HOOK}", on: [accepted, rejected, budget_exhausted, paused]}]

checks:
  preconditions:
    - {id: starts-at-8, tool: read_record, args: {tenant: "${principal.tenant}", record_id: 42},
       expect: result.version == params.expected_version}
  invariants:
    - {id: other-records-untouched, tool: changed_since, args: {run: "${run.id}"},
       expect: "result.ids.all(i, i in [42, 43])", guards: [update_record]}
  postconditions:
    - {id: text-is-the-reviewed-one, tool: read_record, args: {tenant: "${principal.tenant}", record_id: 42},
       expect: result.text == inputs.reviewed}

escalate:
  - when: "checks['starts-at-8'].status == 'failed'"
    ask: "record 42 moved on: repair the newer version?"
    options: [repair, stop]

sandbox: {language: restricted, imports: [json, math, re, statistics, datetime]}
"""
"""A contract that uses everything."""

SMALL = """\
contract: small
version: 1
output:
  schema: {type: object, properties: {n: {type: integer}}, required: [n], additionalProperties: false}
budget: {tokens: 0, cost_usd: "0", wall_seconds: 10, retries: 0, iterations: 1}
permissions:
  tools:
    - {tool: read_record, scope: {tenant: acme}}
completion: {success: output.n > 0}
destination: [{to: "file:results/${run.id}.json"}]
"""
"""A contract with the five bindings and nothing else."""

RECORD = {
    "type": "object",
    "properties": {"version": {"type": "integer"}, "text": {"type": "string"}, "email": {"type": "string"}},
    "required": ["version", "text"],
    "additionalProperties": False,
}


def arguments(required: list[str], **properties: Any) -> dict[str, Any]:
    """The input schema of a tool."""
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


TEXT = {"type": "string"}
NUMBER = {"type": "integer"}

READ = ToolContract(
    name="read_record",
    description="Read one record.",
    input_schema=arguments(["tenant", "record_id"], tenant=TEXT, record_id=NUMBER),
    output_schema=RECORD,
    effect=Effect.READ,
    idempotency=IdempotencyRule(Idempotency.NATURAL),
    scope=("tenant", "record_id"),
    data={"text": "internal", "email": "pii"},
)
UPDATE = ToolContract(
    name="update_record",
    description="Bring a record to a text.",
    input_schema=arguments(
        ["tenant", "record_id", "text"], tenant=TEXT, record_id=NUMBER, text=TEXT, folder=TEXT, note=TEXT
    ),
    output_schema=RECORD,
    effect=Effect.WRITE,
    approval=Approval.BEFORE_EXECUTE,
    errors={"StaleVersion": ErrorRule(no_effect=True, hint="read the record again")},
    retry=RetryRule(3),
    preview="set record {record_id} to {text}",
    has_preview=True,
)
CHANGED = ToolContract(
    name="changed_since",
    input_schema=arguments(["run"], run=TEXT),
    output_schema={
        "type": "object",
        "properties": {"ids": {"type": "array", "items": {"type": "integer"}}},
        "required": ["ids"],
    },
    effect=Effect.READ,
)
DROP = ToolContract(name="drop_table", input_schema=arguments(["table"], table=TEXT), effect=Effect.DESTRUCTIVE)

TOOLS: Mapping[str, ToolContract] = {each.name: each for each in (READ, UPDATE, CHANGED, DROP)}
ANN = Principal("ann", {"tenant": "acme"}, "os")


def document(text: str = SMALL, **over: Any) -> dict[str, Any]:
    """The values of a contract; a key set to None is left out."""
    values: dict[str, Any] = {**parse_document(text, "c.yaml").values, **over}
    return {name: value for name, value in values.items() if value is not None}


def faults_of(function: Any, *arguments: Any, **named: Any) -> list[Fault]:
    """The faults of a call that must be refused."""
    with pytest.raises(Refused) as caught:
        function(*arguments, **named)
    return list(caught.value.faults)


def short(faults: list[Fault]) -> list[tuple[str, int, str]]:
    """Code, line and key of each fault."""
    return [(fault.code, fault.place.line, fault.place.key) for fault in faults]


def codes(values: Mapping[str, Any], tools: Mapping[str, ToolContract] | None = None) -> list[tuple[str, str]]:
    """Code and key of each fault of a document; empty where it loads."""
    try:
        load_contract(values, tools=tools)
    except Refused as refused:
        return [(fault.code, fault.place.key) for fault in refused.faults]
    return []
