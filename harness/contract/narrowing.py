"""A contract held against a policy: what lies above a ceiling or outside a list is refused, with both sides named."""

from collections.abc import Iterator, Mapping

from harness.contract.model import Contract
from harness.contract.policy import Policy
from harness.contract.principal import Principal
from harness.contract.references import Root, references
from harness.contract.sections import ToolGrant
from harness.contract.tool import ToolContract
from harness.core.budget import Amount, Dimension, tool_calls
from harness.core.call import Approval, Effect
from harness.core.errors import Fault

__all__ = ["DISK_SHARE", "narrowed_limits", "policy_faults", "strictest"]

DISK_SHARE = 4
"""Work files lie in memory: an unstated `disk_mb` takes at most a quarter of `memory_mb`."""


def strictest(tool: ToolContract, grant: ToolGrant, policy: Policy) -> Approval:
    """The approval that calls of a tool need: the strictest of policy, tool and contract."""
    return max(policy.approval_for(tool), tool.approval, grant.approval, key=lambda each: each.strictness)


def narrowed_limits(contract: Contract, policy: Policy) -> dict[str, Amount]:
    """The limit of every dimension, and `calls:TOOL` where a grant states one: as stated, else the ceiling."""
    limits: dict[str, Amount] = {}
    for dimension in Dimension:
        stated: Amount | None = getattr(contract.budget, dimension.value)
        limits[dimension.value] = stated if stated is not None else policy.ceilings.limit(dimension)
    if contract.budget.disk_mb is None:
        share = int(limits[Dimension.MEMORY_MB]) // DISK_SHARE
        limits[Dimension.DISK_MB.value] = max(1, min(int(limits[Dimension.DISK_MB]), share))
    for grant in contract.permissions.tools:
        if grant.tool and grant.calls is not None:
            limits[tool_calls(grant.tool)] = grant.calls
    return limits


def policy_faults(
    contract: Contract, policy: Policy, principal: Principal, tools: Mapping[str, ToolContract]
) -> Iterator[Fault]:
    """Every way in which a contract asks for more than the policy lets it."""
    yield from _caller_faults(contract, policy, principal)
    yield from _ceiling_faults(contract, policy)
    yield from _permission_faults(contract, policy, tools)
    yield from _sandbox_faults(contract, policy)
    yield from _destination_faults(contract, policy)
    yield from _secret_faults(contract, policy)
    yield from _question_faults(contract, policy)


def _caller_faults(contract: Contract, policy: Policy, principal: Principal) -> Iterator[Fault]:
    allowed = policy.callers.get(contract.contract)
    if allowed is not None and principal.name not in allowed:
        said = f"`{principal.name}` may not run the contract `{contract.contract}`"
        yield Fault("caller_not_allowed", said, "ask the platform team", contract.place("contract"))


def _ceiling_faults(contract: Contract, policy: Policy) -> Iterator[Fault]:
    for dimension in Dimension:
        stated, ceiling = getattr(contract.budget, dimension.value), policy.ceilings.limit(dimension)
        if stated is not None and stated > ceiling:
            said = f"`{dimension}` is {stated}, and the policy `{policy.policy}` allows {ceiling}"
            place = contract.place(f"budget.{dimension}")
            yield Fault("above_ceiling", said, f"state {ceiling} or less", place)


def _question_faults(contract: Contract, policy: Policy) -> Iterator[Fault]:
    """Owners whom none of the policy's approvers answers for; without approvers nobody answers anything."""
    owner = contract.owner.escalate_to if contract.owner is not None else ""
    asked = {f"escalate[{index}].to": each.to for index, each in enumerate(contract.escalate)}
    asked["owner.escalate_to"] = owner
    for key, name in asked.items():
        if name and policy.approvers and not any(each.may_answer(name) for each in policy.approvers):
            said = f"nobody of the policy `{policy.policy}` answers questions to `{name}`"
            yield Fault("nobody_answers", said, f"add `answers_for: [{name}]` to an approver", contract.place(key))


def _permission_faults(contract: Contract, policy: Policy, tools: Mapping[str, ToolContract]) -> Iterator[Fault]:
    listed = [(f"permissions.tools[{index}]", each.tool) for index, each in enumerate(contract.permissions.tools)]
    for kind in ("preconditions", "invariants", "postconditions"):
        checks = enumerate(getattr(contract.checks, kind))
        listed += [(f"checks.{kind}[{index}].tool", check.tool) for index, check in checks]
    for key, name in listed:
        if name in tools and not policy.allows_tool(tools[name]):
            said = f"the policy `{policy.policy}` does not let a contract list `{name}`, which is {tools[name].effect}"
            yield Fault("tool_not_allowed", said, "leave it out, or ask the platform team", contract.place(key))
    for index, grant in enumerate(contract.permissions.tools):
        tool = tools.get(grant.tool)
        if tool is None or tool.has_preview:
            continue
        always = strictest(tool, grant, policy) is Approval.ALWAYS
        if always or tool.effect is Effect.DESTRUCTIVE:
            why = "asks a person every time" if always else "is destructive"
            said = f"`{tool.name}` {why}, and has no written preview"
            place = contract.place(f"permissions.tools[{index}]")
            yield Fault("no_preview", said, "give the tool a `preview`", place)


def _sandbox_faults(contract: Contract, policy: Policy) -> Iterator[Fault]:
    sandbox = contract.sandbox
    asked: list[tuple[str, str, tuple[str, ...]]] = [
        ("sandbox.language", sandbox.language or "", policy.languages),
        ("sandbox.backend", sandbox.backend, policy.backends),
        ("sandbox.runtime", sandbox.runtime, policy.runtimes),
        ("sandbox.image", sandbox.image, policy.images),
    ]
    asked += [(f"sandbox.imports[{index}]", each, policy.imports) for index, each in enumerate(sandbox.imports or ())]
    for key, value, allowed in asked:
        if value and value not in allowed:
            word = "import" if "imports" in key else key.partition(".")[2]
            said = f"the policy `{policy.policy}` does not allow the {word} `{str(value)[:120]}`"
            hint = f"it allows {', '.join(f'`{each}`' for each in allowed)}" if allowed else "leave it out"
            yield Fault(f"{word}_not_allowed", said, hint, contract.place(key))


def _destination_faults(contract: Contract, policy: Policy) -> Iterator[Fault]:
    for index, each in enumerate(contract.destination):
        if each.kind and not policy.allows_destination(each.to, each.kind):
            said = f"the policy `{policy.policy}` does not allow the destination `{each.to[:120]}`"
            hint = f"it allows {', '.join(f'`{kind}`' for kind in policy.destinations) or 'none'}"
            yield Fault("destination_not_allowed", said, hint, contract.place(f"destination[{index}].to"))


def _secret_faults(contract: Contract, policy: Policy) -> Iterator[Fault]:
    for index, each in enumerate(contract.destination):
        fields = [(f"destination[{index}].to", "destination", each.to)]
        for number, note in enumerate(each.notify):
            word = "webhook" if note.webhook else "bus"
            fields.append((f"destination[{index}].notify[{number}].{word}", word, note.webhook or note.bus))
        for key, field, text in fields:
            for reference in references(text):
                if reference.root is not Root.SECRET:
                    continue
                rule = policy.secrets.get(reference.path[0])
                if rule is None or field not in rule.fields:
                    said = f"the policy `{policy.policy}` does not let `{reference.text}` stand in a {field}"
                    hint = f"list it under `secrets` of the policy, with the field `{field}`"
                    yield Fault("secret_not_allowed", said, hint, contract.place(key))
