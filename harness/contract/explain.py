"""A contract in plain words: its five questions, answered in order, for the person who has to agree to it."""

from collections.abc import Iterable, Iterator, Mapping

from harness.contract.effective import Effective
from harness.contract.faults import visible
from harness.contract.grants import ConstraintKind
from harness.contract.scope import Limits
from harness.contract.sections import Check, Destination, Stop, ToolGrant
from harness.contract.shape import Shape, shape_of
from harness.core.budget import Amount, Dimension
from harness.core.call import Approval, Effect, Json
from harness.core.canonical import canonical

__all__ = ["QUESTIONS", "explain"]

QUESTIONS = (
    "What must come back?",
    "How much may it spend?",
    "What may it touch?",
    "When does it stop?",
    "Where does the result go?",
)
"""One for each binding, in the order of `BINDINGS`."""

_EFFECTS = {Effect.READ: "reads", Effect.WRITE: "writes", Effect.DESTRUCTIVE: "destroys"}
_APPROVALS = {
    Approval.NONE: "without asking",
    Approval.BEFORE_EXECUTE: "after a person has said yes to these arguments",
    Approval.ALWAYS: "after a person has said yes, every time",
}
_UNITS = {
    Dimension.TOKENS: "tokens of models",
    Dimension.COST_USD: "dollars",
    Dimension.WALL_SECONDS: "seconds by the clock",
    Dimension.RETRIES: "retries",
    Dimension.ITERATIONS: "iterations, one snippet each",
    Dimension.CALLS: "calls of tools",
    Dimension.CPU_SECONDS: "seconds of computing in the box",
    Dimension.MEMORY_MB: "MiB of memory",
    Dimension.PIDS: "processes and threads",
    Dimension.DISK_MB: "MiB of work files",
    Dimension.OUTPUT_BYTES: "bytes of printed text",
    Dimension.RESULT_BYTES: "bytes of result",
    Dimension.JOURNAL_BYTES: "bytes of journal",
}


def explain(effective: Effective) -> str:
    """The contract as it holds here: policy, ceilings and strictest approvals are in it. Ends with a line break."""
    contract = effective.contract
    head = [f"{contract.contract}, version {contract.version} ({effective.digest[:12]})"]
    if contract.goal:
        head.append(f"Goal: {contract.goal}")
    if contract.owner is not None:
        head.append(f"Wanted by {contract.owner.intent}, under the policy `{effective.policy.policy}`.")
    head.append(f"Run for {effective.principal.name}.")
    answers = (
        _output(effective),
        _budget(effective),
        _permissions(effective),
        _completion(effective),
        _ends(effective),
    )
    lines = head
    for number, (question, answer) in enumerate(zip(QUESTIONS, answers, strict=True), 1):
        lines += ["", f"{number}. {question}", *(f"   {line}" for line in answer)]
    if effective.unavailable:
        lines += ["", "Not available yet, so it will not run:"]
        lines += [f"   {fault.message}" for fault in effective.unavailable]
    return "\n".join(visible(line) for line in lines) + "\n"


def _output(effective: Effective) -> Iterator[str]:
    output = effective.contract.output
    if output.model:
        yield f"A value of the model `{output.model}`."
        return
    shape = shape_of(output.schema_)
    yield f"{_kind(shape).capitalize()}."
    yield from _members(shape)
    if shape.kind == "array":
        yield f"Each item is {_kind(shape.items)}."
        yield from _members(shape.items)


def _members(shape: Shape) -> Iterator[str]:
    for name in shape.fields:
        optional = "" if name in shape.required else ", may be left out"
        yield f"- {name}: {_kind(shape.member(name))}{optional}"
    if shape.is_closed and shape.fields:
        yield "Nothing else."


def _kind(shape: Shape) -> str:
    if shape.values:
        return "one of " + ", ".join(_value(each) for each in shape.values[:10])
    words = {
        "object": "an object",
        "array": "a list",
        "string": "text",
        "integer": "a whole number",
        "number": "a number",
        "boolean": "true or false",
        "null": "nothing",
    }
    return words.get(shape.kind, "any value") + (" or nothing" if shape.nullable else "")


def _budget(effective: Effective) -> Iterator[str]:
    yield "At most:"
    stated = effective.contract.budget
    for dimension in Dimension:
        amount = effective.limits[dimension.value]
        source = "" if getattr(stated, dimension.value) is not None else "  (ceiling of the policy)"
        yield f"- {_amount(amount)} {_UNITS[dimension]}{source}"
    if effective.contract.models:
        yield f"Only the models {_listing(effective.contract.models)}."
    yield "Whatever is exceeded ends the run; 0 means none."


def _amount(amount: Amount) -> str:
    if isinstance(amount, int):
        return f"{amount:,}"
    if isinstance(amount, float) and amount.is_integer():
        return f"{int(amount):,}"
    return str(amount)


def _permissions(effective: Effective) -> Iterator[str]:
    grants = effective.contract.permissions.tools
    if not grants:
        yield "No tool at all."
    for grant in grants:
        yield from _grant(effective, grant)
    classes = effective.contract.permissions.data_classes
    yield (
        f"It sees labelled fields of the classes {_listing(classes)}." if classes else "Labelled fields arrive masked."
    )
    for non_goal in effective.contract.non_goals:
        holder = f"held by {non_goal.held_by}" if non_goal.held_by else f"not held, accepted by {non_goal.accepted_by}"
        yield f"It must not {non_goal.text} ({holder})."
    yield f"Python: {effective.language}, with {_listing(effective.imports) or 'no modules'}."
    yield "Nothing else exists in the box."


def _grant(effective: Effective, grant: ToolGrant) -> Iterator[str]:
    if not grant.tool:
        yield f"- the contract `{grant.contract}` as a tool"
        return
    tool = effective.tools[grant.tool]
    often = f", at most {grant.calls:,} times" if grant.calls is not None else ""
    yield f"- {grant.tool}: {_EFFECTS[tool.effect]}, {_APPROVALS[effective.approvals[grant.tool]]}{often}"
    for argument, limits in grant.scope.items():
        yield f"    {argument} {_limits(limits)}"


def _limits(limits: Limits) -> str:
    if limits.bind:
        return f"is always {_value(limits.rules[0][1])}"
    words = {
        ConstraintKind.EQUALS: "is {}",
        ConstraintKind.ONE_OF: "is one of {}",
        ConstraintKind.UNDER: "lies under {}",
        ConstraintKind.MAX: "is at most {}",
        ConstraintKind.MATCH: "matches {}",
    }
    return " and ".join(
        words[kind].format(_listing(value) if kind is ConstraintKind.ONE_OF else _value(value))
        for kind, value in limits.rules
    )


def _completion(effective: Effective) -> Iterator[str]:
    contract = effective.contract
    yield f"It succeeds where {_line(contract.completion.success)}"
    yield from (f"It stops {_stop(stop)}." for stop in contract.completion.stop)
    yield f"It ends in any case after {_amount(effective.limits[Dimension.ITERATIONS])} iterations."
    for word, checks in (
        ("Before it starts", contract.checks.preconditions),
        ("Around its effects", contract.checks.invariants),
        ("At its end", contract.checks.postconditions),
    ):
        yield from (f"{word}: {_check(check)}" for check in checks)
    for escalation in contract.escalate:
        asked = escalation.to or (contract.owner.escalate_to if contract.owner else "") or "a person"
        yield f"It asks {asked} “{escalation.ask}” where {_line(escalation.when)}"


def _stop(stop: Stop) -> str:
    if stop.same_output is not None:
        return f"after {stop.same_output} equal outputs"
    if stop.stalled is not None:
        stalled = stop.stalled
        return f"where {_line(stalled.measure)} did not get {stalled.better} in {stalled.iterations} iterations"
    return f"where {_line(stop.when)}"


def _check(check: Check) -> str:
    source = f", by {check.tool}" if check.tool else ""
    required = f"all {check.repeat}" if check.require == "all" else check.require
    times = "" if check.repeat == 1 else f", {required} times"
    return f"{check.id}{source}{times}: {_line(check.expect)}"


def _ends(effective: Effective) -> Iterator[str]:
    yield from (_destination(each) for each in effective.contract.destination)
    yield "Only an accepted result is delivered; the snippet writes nothing itself."


def _destination(destination: Destination) -> str:
    kept = f", kept for {_amount(destination.retention)} seconds" if destination.retention is not None else ""
    told = sorted({wish for note in destination.notify for wish in note.on})
    heard = f"; told of {', '.join(told)}: {len(destination.notify)} receiver(s)" if told else ""
    return f"- {destination.to}, as {destination.format}{kept}{heard}"


def _line(text: str) -> str:
    return " ".join(text.split())


def _value(value: Json) -> str:
    text = value if isinstance(value, str) else canonical(value).decode("utf-8")
    shown = text if len(text) <= 80 else text[:79] + "…"
    return f"`{shown}`"


def _listing(values: Iterable[Json] | Mapping[str, Json]) -> str:
    every = [_value(each) for each in values]
    return ", ".join(every[:20]) + (f" and {len(every) - 20} more" if len(every) > 20 else "")
