"""What a contract says of its ending, compiled: checks, stops, escalations. Binding makes them, a run fills them in.

Not the rules of an ending: those live in the completion room.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from harness.contract.expression import Gives, Predicate, compile_predicate
from harness.contract.facts_env import check_env, run_env
from harness.contract.model import Contract
from harness.contract.references import MissingReference, Values, fill
from harness.contract.sections import Check, Skip
from harness.contract.tool import ToolContract
from harness.contract.words import Better
from harness.core.call import Json
from harness.core.errors import Fault

__all__ = [
    "CheckKind",
    "CheckRule",
    "EscalationRule",
    "StopRule",
    "check_rules",
    "escalation_rules",
    "filled",
    "stop_rules",
]


class CheckKind(StrEnum):
    """When a check is looked at."""

    PRECONDITION = "precondition"
    """Before the run has had an effect."""
    INVARIANT = "invariant"
    """Around every effect that it guards."""
    POSTCONDITION = "postcondition"
    """After a proposal that fits the output schema."""


_SECTIONS = {
    CheckKind.PRECONDITION: "preconditions",
    CheckKind.INVARIANT: "invariants",
    CheckKind.POSTCONDITION: "postconditions",
}


@dataclass(frozen=True, slots=True)
class CheckRule:
    """One check, ready to be made."""

    id: str
    kind: CheckKind
    tool: ToolContract | None
    """None where the expression reads facts alone."""
    args: Mapping[str, Json]
    """What the tool is given; references filled in for a run."""
    expect: Predicate
    guards: frozenset[str]
    """Of an invariant: the tools whose effects it surrounds; empty means every effect."""
    repeat: int
    """Trials."""
    need: int
    """Trials that must pass."""
    skip: Skip | None
    """Set where someone authorised that it is not made."""
    key: str
    """Where it stands in the contract."""

    def guarding(self, tool: str) -> bool:
        """Whether it surrounds the effects of `tool`."""
        return self.kind is CheckKind.INVARIANT and (not self.guards or tool in self.guards)


@dataclass(frozen=True, slots=True)
class StopRule:
    """One reason to stop; one of the three is set."""

    text: str
    """As the contract has it, for the reason."""
    when: Predicate | None = None
    same_output: int = 0
    """So many equal outputs or snippets; 0: not this rule."""
    measure: Predicate | None = None
    """Gives a number."""
    stalled: int = 0
    """So many iterations without a better measure; 0: not this rule."""
    better: Better = Better.HIGHER


@dataclass(frozen=True, slots=True)
class EscalationRule:
    """One condition under which a person is asked."""

    when: Predicate
    ask: str
    """May still hold references; filled in for a run."""
    options: tuple[str, ...]
    to: str
    """Who is asked; empty where nobody is named."""


def check_rules(contract: Contract, tools: Mapping[str, ToolContract]) -> tuple[CheckRule, ...]:
    """The checks of a contract that has no fault, in the order in which they are written."""
    return tuple(
        _rule(contract, kind, f"checks.{section}[{index}]", check, tools.get(check.tool))
        for kind, section in _SECTIONS.items()
        for index, check in enumerate(getattr(contract.checks, section))
    )


def _rule(contract: Contract, kind: CheckKind, key: str, check: Check, tool: ToolContract | None) -> CheckRule:
    env = check_env(contract, tool.output_schema, check.args) if tool is not None else run_env(contract)
    return CheckRule(
        id=check.id,
        kind=kind,
        tool=tool,
        args=check.args,
        expect=compile_predicate(check.expect, env),
        guards=frozenset(check.guards),
        repeat=check.repeat,
        need=check.repeat if check.require == "all" else int(check.require.partition(" ")[0]),
        skip=check.skip,
        key=key,
    )


def filled(
    rules: tuple[CheckRule, ...], contract: Contract, values: Values, faults: list[Fault]
) -> Iterator[CheckRule]:
    """The checks of one run; what cannot be filled in is added to `faults`."""
    for rule in rules:
        try:
            yield replace(rule, args=fill(dict(rule.args), values))
        except MissingReference as missing:
            hint = "pass it, or give the principal the claim"
            faults.append(Fault("missing_reference", str(missing), hint, contract.place(f"{rule.key}.args")))


def stop_rules(contract: Contract) -> tuple[StopRule, ...]:
    """The stop conditions, in the order in which they are written."""
    env = run_env(contract)
    rules: list[StopRule] = []
    for stop in contract.completion.stop:
        if stop.when:
            rules.append(StopRule(stop.when, when=compile_predicate(stop.when, env)))
        elif stop.same_output is not None:
            rules.append(StopRule(f"same_output: {stop.same_output}", same_output=stop.same_output))
        elif stop.stalled is not None:
            measure = compile_predicate(stop.stalled.measure, env, Gives.NUMBER)
            text = f"stalled: {stop.stalled.measure}"
            rules.append(StopRule(text, measure=measure, stalled=stop.stalled.iterations, better=stop.stalled.better))
    return tuple(rules)


def escalation_rules(contract: Contract) -> tuple[EscalationRule, ...]:
    """The escalations, in the order in which they are written."""
    env = run_env(contract)
    owner = contract.owner.escalate_to if contract.owner is not None else ""
    return tuple(
        EscalationRule(compile_predicate(each.when, env), each.ask, each.options, each.to or owner)
        for each in contract.escalate
    )
