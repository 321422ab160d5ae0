"""Contracts as tools of other contracts: a child run with its share of the budget, and a key that names its parent.

The calling snippet passes the child's snippet beside its inputs. The child is bound by the same policy and principal.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from harness.contract.effective import Effective
from harness.contract.facts_env import inputs_schema
from harness.contract.model import Contract
from harness.contract.sections import ChildBudget
from harness.contract.tool import ErrorRule, IdempotencyRule, ToolContract
from harness.core.budget import Amount, Dimension
from harness.core.call import Effect, Idempotency, Json
from harness.core.ending import Outcome
from harness.core.errors import ContractRefused, Fault
from harness.executor.current import CALL
from harness.executor.partial import Partial
from harness.registry.registry import Registry, Tool
from harness.report import RunResult

__all__ = ["ChildRejected", "ChildResult", "ChildUnresolved", "Host", "with_children"]

SNIPPET = "snippet"
"""The argument that holds the child's snippet."""
SHARED = (Dimension.TOKENS, Dimension.COST_USD, Dimension.RETRIES, Dimension.CALLS)
"""What a child takes out of its parent's budget: reserved before, settled at what it used."""
SPARE_SECONDS = 30.0
"""Beside the child's own wall limit: boxes, checks and delivery take their time too."""


class ChildRejected(Exception):
    """The child run was not accepted, and nothing that it did has an effect."""


class ChildUnresolved(Exception):
    """What became of the child run is not settled: it waits for a person, or an effect of it is unknown."""


@dataclass(frozen=True, slots=True)
class ChildResult:
    """The accepted output of a child run, and what it cost."""

    output: Json
    cost: Mapping[str, Amount]


class Host(Protocol):
    """What a child asks of its host."""

    folder: Path
    registry: Registry

    def bind(self, source: Path) -> Effective:
        """A contract under the host's policy and principal."""

    async def run(
        self, contract: Contract, snippet: str, inputs: Mapping[str, Json] | None = None, *, key: str = ""
    ) -> RunResult:
        """Run one snippet under a contract."""


def with_children(host: Host, contract: Contract, above: list[Path]) -> Contract:
    """The contract with its children listed as the tools that they are; the host's registry has them from now on.

    `above` holds the files that are being bound: a contract never uses itself. Raises ContractRefused.
    """
    tools = list(contract.permissions.tools)
    for index, grant in enumerate(tools):
        if not grant.contract:
            continue
        place = contract.place(f"permissions.tools[{index}].contract")
        path = ((Path(place.file).parent if place.file else host.folder) / grant.contract).resolve()
        if path in above:
            said = f"the contract `{grant.contract}` would use itself"
            raise ContractRefused([Fault("bad_grant", said, "list the tools themselves", place)])
        above.append(path)
        try:
            child = host.bind(path)
        finally:
            above.remove(path)
        bounded = _bounded(child.contract, grant.budget or ChildBudget())
        faults = [*_share_faults(contract, bounded, index), *_input_faults(contract, index, child)]
        if faults:
            raise ContractRefused(faults)
        host.registry.lend(_tool(host, child, bounded))
        share = ChildBudget(
            tokens=bounded.budget.tokens, cost_usd=bounded.budget.cost_usd, retries=bounded.budget.retries
        )
        tools[index] = grant.model_copy(update={"tool": child.contract.contract, "contract": "", "budget": share})
    if tools == list(contract.permissions.tools):
        return contract
    permissions = contract.permissions.model_copy(update={"tools": tuple(tools)})
    return contract.model_copy(update={"permissions": permissions})


def _tool(host: Host, child: Effective, bounded: Contract) -> Tool:
    async def run_child(**arguments: Any) -> ChildResult:
        snippet = str(arguments.pop(SNIPPET))
        return _outcome(await host.run(bounded, snippet, arguments, key=f"child:{CALL.get()}"))

    return Tool(
        contract=_tool_contract(child, bounded),
        function=run_child,
        is_async=True,
        decode=dict,
        encode=_output,
        error_types=((ChildRejected, ErrorRule(no_effect=True, hint="mend the child's snippet")),),
        cost=_cost,
        preview=lambda arguments: f"run the contract {child.contract.contract}: {arguments.get(SNIPPET, '')}",
    )


def _bounded(child: Contract, share: ChildBudget) -> Contract:
    """The child's contract within its share; where no share is stated, the child's own budget is it."""
    stated: dict[str, Any] = {}
    for name, amount in share:
        own = getattr(child.budget, name)
        if amount is not None:
            stated[name] = amount if own is None else min(amount, own)
    return child.model_copy(update={"budget": child.budget.model_copy(update=stated)})


def _share_faults(parent: Contract, bounded: Contract, index: int) -> Iterator[Fault]:
    """A share lies within what its parent has; both numbers are named."""
    for name in ("tokens", "cost_usd", "wall_seconds", "retries", "calls"):
        share, limit = getattr(bounded.budget, name), getattr(parent.budget, name)
        if share is not None and limit is not None and share > limit:
            said = f"the share of `{name}` is {share}, and its parent has {limit}"
            place = parent.place(f"permissions.tools[{index}].budget.{name}")
            yield Fault("above_parent", said, f"state {limit} or less under `budget`", place)


def _input_faults(parent: Contract, index: int, child: Effective) -> Sequence[Fault]:
    if SNIPPET in inputs_schema(child.contract).get("properties", {}):
        said = f"an input of the contract `{child.contract.contract}` is called `{SNIPPET}`"
        place = parent.place(f"permissions.tools[{index}].contract")
        return [Fault("bad_grant", said, "give it another name: a child's snippet goes there", place)]
    return []


def _tool_contract(child: Effective, bounded: Contract) -> ToolContract:
    contract = child.contract
    schema = inputs_schema(contract)
    effect = max((tool.effect for tool in child.tools.values()), key=list(Effect).index, default=Effect.READ)
    text = contract.goal or f"Run the contract `{contract.contract}`."
    return ToolContract(
        name=contract.contract,
        description=f"{text}\n\nRuns a snippet under the contract {contract.contract}, version {contract.version} "
        f"({child.digest[:12]}), within a share of this run's budget.",
        input_schema={
            **schema,
            "properties": {SNIPPET: {"type": "string"}, **schema.get("properties", {})},
            "required": [SNIPPET, *schema.get("required", ())],
        },
        output_schema=contract.output.schema_ if isinstance(contract.output.schema_, dict) else None,
        effect=effect,
        idempotency=IdempotencyRule(Idempotency.DERIVED),
        timeout_s=float(bounded.budget.wall_seconds) + SPARE_SECONDS,
        errors={"ChildRejected": ErrorRule(no_effect=True, hint="mend the child's snippet")},
        reports_cost=True,
        has_preview=True,
        source=contract.place("contract").file or contract.contract,
    )


def _outcome(result: RunResult) -> ChildResult:
    """The child's result as its caller sees it. Raises where it was not accepted."""
    if result.outcome is Outcome.ACCEPTED:
        return ChildResult(result.result, _used(result))
    said = f"the child run {result.run} ended as {result.outcome.value} ({result.reason.value}): {result.ending.detail}"
    if result.outcome is Outcome.UNRESOLVED:
        raise ChildUnresolved(said)
    acted = [line.id for line in result.calls if line.effect != Effect.READ.value and line.state in _ACTED]
    if acted:
        raise Partial(done=[{"run": result.run, "calls": acted}], left=[said])
    raise ChildRejected(said)


_ACTED = ("SUCCEEDED", "PARTIAL", "APPLIED_INVALID")


def _used(result: RunResult) -> dict[str, Amount]:
    used = {name.value: result.budget[name].used for name in SHARED if name in result.budget}
    used[Dimension.CALLS.value] = int(used.get(Dimension.CALLS.value, 0)) + 1
    return used


def _cost(value: object) -> Mapping[str, Amount]:
    return value.cost if isinstance(value, ChildResult) else {}


def _output(value: object) -> Json:
    return value.output if isinstance(value, ChildResult) else value
