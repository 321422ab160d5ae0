"""What the tests of enforcement are made of: granted tools, calls, and facts as a plain value."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from typing import Any

from harness.contract.effective import Effective, Terms, bind
from harness.contract.grants import Constraint, ConstraintKind, Grant
from harness.contract.load import load_contract
from harness.contract.policy import BUILT_IN
from harness.contract.principal import Principal
from harness.contract.tool import ErrorRule, IdempotencyRule, ToolContract
from harness.core.budget import Amount, Budget, Shortage
from harness.core.call import Approval, Call, Effect, Idempotency, Json, Origin
from harness.core.canonical import digest
from harness.core.ports import Receipt, ReceiptKey
from harness.core.state import State
from harness.enforcement.facts import NO_APPROVAL, ApprovalFact, Compiled

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "tenant": {"type": "string"},
        "record_id": {"type": "integer"},
        "text": {"type": "string"},
        "operation_id": {"type": "string"},
    },
    "required": ["tenant", "record_id"],
    "additionalProperties": False,
}
"""Arguments of the tools of the tests; `tenant` is bound by the contract."""


@dataclass
class Facts:
    """A `View` that says what it is told to say, and notes what it was asked."""

    receipts: dict[ReceiptKey, Receipt] = field(default_factory=dict)
    flying: dict[ReceiptKey, str] = field(default_factory=dict)
    unknowns: dict[str, str] = field(default_factory=dict)
    budget: Budget = field(default_factory=lambda: Budget({"calls": 100}))
    said: ApprovalFact = NO_APPROVAL
    asked: list[str] = field(default_factory=list)

    def receipt(self, key: ReceiptKey) -> Receipt | None:
        self.asked.append("receipt")
        return self.receipts.get(key)

    def in_flight(self, key: ReceiptKey) -> str:
        self.asked.append("in_flight")
        return self.flying.get(key, "")

    def unknown(self, call: Call) -> str:
        self.asked.append("unknown")
        return self.unknowns.get(call.content, "")

    def shortage(self, request: Mapping[str, Amount]) -> Shortage | None:
        self.asked.append("shortage")
        return self.budget.shortage(request)

    def approval(self, call: Call) -> ApprovalFact:
        self.asked.append("approval")
        return self.said


def limit(argument: str, kind: str, value: Json) -> Constraint:
    """One limit of a scope."""
    return Constraint(argument, ConstraintKind(kind), value)


def key(argument: str = "operation_id") -> IdempotencyRule:
    """The caller names the operation."""
    return IdempotencyRule(Idempotency.KEY, argument)


def rule(kind: Idempotency) -> IdempotencyRule:
    """Any other idempotency."""
    return IdempotencyRule(kind, "")


def granted(name: str = "update_record", **over: Any) -> Grant:
    """A grant of a tool: fields of the grant and of the tool contract by name."""
    bound = over.pop("bound", {"tenant": "acme"})
    limits = tuple(over.pop("limits", ()))
    calls = over.pop("calls", None)
    approval = over.pop("approval", Approval.NONE)
    schema = over.pop("input_schema", SCHEMA)
    tool = make_tool(name, input_schema=schema, **over)
    visible = {
        **schema,
        "properties": {each: kind for each, kind in schema["properties"].items() if each not in bound},
        "required": [each for each in schema.get("required", []) if each not in bound],
    }
    return Grant(tool, bound, limits, calls, approval, visible, frozenset())


def make_tool(name: str, **over: Any) -> ToolContract:
    """A tool contract with the strict defaults, but for what is given."""
    over.setdefault("effect", Effect.WRITE)
    if "cost_usd" in over:
        over["cost_usd"] = Decimal(over["cost_usd"])
    over.setdefault("description", "")
    return ToolContract(name=name, **over)


def compiled(*grants: Grant, principal: str = "ann", contract_digest: str = "c" * 64) -> Compiled:
    """The grants of one run."""
    return Compiled(make_terms(grants, principal, contract_digest))


def make_call(tool: str = "update_record", *, occurrence: int = 1, task: str = "0", **arguments: Json) -> Call:
    """A call as it came from the box."""
    return Call(
        id=f"1.{occurrence}",
        run="run_1",
        lineage="run_1.1",
        iteration=1,
        attempt=1,
        origin=Origin.SNIPPET,
        task=task,
        tool=tool,
        arguments=arguments,
        content=f"content of {tool[:80]}",
        occurrence=occurrence,
        received_at=1000.0,
    )


def make_receipt(call: Call, holder: str, state: State = State.SUCCEEDED, **over: Any) -> Receipt:
    """What the ledger would hold under the key of a decided call."""
    return Receipt(
        key=ReceiptKey(call.tool, holder, over.get("key", call.key)),
        arguments=over.get("arguments", digest(dict(call.arguments))),
        run=call.run,
        call=over.get("id", "1.9"),
        state=state,
        value=b'{"version":9}',
    )


RETRYABLE = {"Lost": ErrorRule(no_effect=False, retry=True, hint="")}
"""An error class that says nothing of its effect and may be retried: the tool honours its key."""


def make_terms(grants: tuple[Grant, ...], principal: str, contract_digest: str) -> Terms:
    """The terms of a run under a real contract, with these grants in place of its own."""
    effective = replace(_bound(), digest=contract_digest, principal=Principal(principal, {}, "python"))
    by_name = {grant.tool.name: grant for grant in grants}
    return Terms(run="run_1", inputs={}, grants=by_name, destinations=(), effective=effective)


@cache
def _bound() -> Effective:
    document = {
        "contract": "tests",
        "version": 1,
        "goal": "decide calls",
        "output": {"schema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
        "budget": {"tokens": 0, "cost_usd": "0", "wall_seconds": 5, "retries": 0, "iterations": 1},
        "permissions": {"tools": []},
        "completion": {"success": "output.n > 0"},
        "destination": [{"to": "file:out.json"}],
    }
    return bind(load_contract(document), BUILT_IN, Principal("ann", {}, "python"), {})
