"""From a written contract and a decorated function to a verdict: the whole way, with real parts."""

import pytest

from harness.contract.effective import bind
from harness.contract.load import load_contract
from harness.contract.policy import BUILT_IN
from harness.contract.principal import Principal
from harness.core.verdict import ALLOW, Code, Decision
from harness.enforcement.facts import Compiled
from harness.enforcement.pipeline import Decided, decide, refusal
from harness.registry.decorator import key, tool
from harness.registry.from_function import from_function
from tests.enforcement.making import Facts, make_call


@tool(effect="read", scope=("tenant",))
def read_record(tenant: str, record_id: int) -> dict:
    """Read a record."""


@tool(
    effect="write",
    idempotency=key("operation_id"),
    scope=("tenant", "record_id"),
    precondition="args.prior_version >= 0",
)
def update_record(tenant: str, record_id: int, prior_version: int, text: str, operation_id: str) -> dict:
    """Update a record."""


@tool(effect="destructive", scope=("path",), preview="remove {path}")
def remove(path: str) -> None:
    """Remove a file."""


CONTRACT = {
    "contract": "record-repair",
    "version": 3,
    "goal": "bring records to the reviewed text",
    "output": {"schema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
    "budget": {"tokens": 0, "cost_usd": "0", "wall_seconds": 5, "retries": 0, "iterations": 1, "calls": 100},
    "permissions": {
        "tools": [
            {"tool": "read_record", "scope": {"tenant": "${principal.tenant}"}, "calls": 2},
            {"tool": "update_record", "scope": {"tenant": "${principal.tenant}", "record_id": [42, 43]}},
            {"tool": "remove", "scope": {"path": {"under": "retry/"}}},
        ]
    },
    "completion": {"success": "output.n > 0"},
    "destination": [{"to": "file:out.json"}],
}


@pytest.fixture(scope="module")
def surface() -> Compiled:
    tools = {each.contract.name: each.contract for each in map(from_function, (read_record, update_record, remove))}
    principal = Principal("ann", {"tenant": "acme"}, "python")
    effective = bind(load_contract(CONTRACT, tools=tools), BUILT_IN, principal, tools)
    return Compiled(effective.for_run("run_1", {}))


def _decide(surface: Compiled, name: str, **arguments) -> Decided:
    return decide(surface, make_call(name, **arguments), Facts())


UPDATE = {"record_id": 42, "prior_version": 7, "text": "new", "operation_id": "op-1"}


def test_a_fitting_call_passes_with_the_principals_tenant_in_place(surface: Compiled) -> None:
    """Read and write; what the read reserves is its share too."""
    read = _decide(surface, "read_record", record_id=1)
    assert (read.verdict, dict(read.call.arguments)) == (ALLOW, {"tenant": "acme", "record_id": 1})
    assert dict(read.request) == {"calls": 1, "calls:read_record": 1}
    assert _decide(surface, "update_record", **UPDATE).verdict == ALLOW


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("delete_record", {}, Code.UNLISTED),
        ("read_record", {"id": 1}, Code.BAD_ARGUMENTS),
        ("read_record", {"record_id": 1, "tenant": "other"}, Code.BAD_ARGUMENTS),
        ("update_record", {**UPDATE, "record_id": 44}, Code.OUT_OF_SCOPE),
        ("update_record", {**UPDATE, "prior_version": -1}, Code.PRECONDITION_FAILED),
        ("update_record", {**UPDATE, "operation_id": ""}, Code.BAD_ARGUMENTS),
        ("remove", {"path": "retry/../setup.py"}, Code.OUT_OF_SCOPE),
    ],
)
def test_everything_else_is_refused_with_a_way_out(surface: Compiled, name: str, arguments: dict, code: Code) -> None:
    """Each with its code, a sentence and a hint, as the wire carries them."""
    decided = _decide(surface, name, **arguments)
    error = refusal(decided.call, decided.verdict)
    assert (decided.verdict.decision, error["code"], error["kind"]) == (Decision.DENY, code.value, "ToolDenied")
    assert error["message"]
    assert error["hint"]


def test_the_built_in_policy_asks_about_a_destructive_call(surface: Compiled) -> None:
    """Nothing of it runs before a person has said yes."""
    verdict = _decide(surface, "remove", path="retry/old.py").verdict
    assert (verdict.decision, verdict.code) == (Decision.ASK, Code.APPROVAL_REQUIRED)
