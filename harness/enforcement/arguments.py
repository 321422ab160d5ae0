"""Check 2: do the arguments fit? Unknown, missing and ill-typed ones are all named, with what is valid.

It also adds what the contract binds: from here on the arguments are those that the tool gets.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.contract.schema import SchemaFault
from harness.core.call import Call, Json
from harness.core.canonical import canonical
from harness.core.errors import HostileInput
from harness.core.verdict import Code, Decision, Verdict
from harness.enforcement.facts import ToolFacts
from harness.enforcement.words import nearest, shown

__all__ = ["Merged", "check"]

MAX_REASONS = 8
"""So many faults one refusal names; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Merged:
    """Arguments as they go to the tool."""

    values: dict[str, Json]
    canonical: bytes


def check(tool: ToolFacts, call: Call) -> Merged | Verdict:
    """The arguments with bound values added, or the refusal.

    A call that was decided before carries the bound values of then: today's take their place.
    """
    bound = tool.grant.bound
    sent: Mapping[str, Json] = call.arguments
    if bound:
        taken = [name for name in bound if name in sent]
        if taken and not call.digest:
            return _bound_sent(tool, taken)
        values = {**sent, **bound}
    else:
        values = dict(sent)
    for name, value in tool.defaults.items():
        values.setdefault(name, value)
    try:
        text = canonical(values)
    except HostileInput as error:
        return _deny(tool, [_canonical_words(error)])
    if tool.validator.ok(values):
        return Merged(values, text)
    return _explain(tool, sent, tool.validator.faults(values))


def _explain(tool: ToolFacts, sent: Mapping[str, Json], faults: list[SchemaFault]) -> Verdict:
    """Names first: a wrong name is usually why another is missing."""
    known = tool.parameters
    unknown = [name for name in sent if name not in known and name not in tool.grant.bound]
    schema = tool.grant.tool.input_schema
    if schema.get("additionalProperties") is not False and schema.get("unevaluatedProperties") is not False:
        unknown = []
    missing = [name for name in schema.get("required", ()) if name not in sent and name in known]
    reasons = [f"`{tool.name}` has no parameter {shown(name)}" for name in unknown]
    reasons += [f"`{tool.name}` needs `{name}`" for name in missing]
    told = bool(unknown or missing)
    reasons += [_fault_words(tool, fault) for fault in faults if not (told and _about_names(fault))]
    hints = []
    for name in unknown:
        near = nearest(name, [each for each in known if each not in sent])
        if near:
            hints.append(f"for {shown(name)} did you mean {' or '.join(f'`{each}`' for each in near)}?")
    return _deny(tool, reasons or ["the arguments do not fit the tool's schema"], hints)


def _about_names(fault: SchemaFault) -> bool:
    """Whether a fault of the schema engine says again what the names already say."""
    return fault.path == "$" and fault.keyword in ("required", "additionalProperties", "unevaluatedProperties")


def _fault_words(tool: ToolFacts, fault: SchemaFault) -> str:
    name = fault.path.removeprefix("$.")
    if name in tool.grant.bound:
        return f"the value that the contract sets for `{name}` does not fit `{tool.name}`"
    place = f"`{name}`" if name != "$" else "the arguments together"
    return f"{place}: expected {fault.expected}, got {fault.got}"


def _canonical_words(error: HostileInput) -> str:
    return error.message.replace("$.", "argument ", 1)


def _bound_sent(tool: ToolFacts, taken: list[str]) -> Verdict:
    names = ", ".join(f"`{name}`" for name in taken)
    return _deny(tool, [f"{names} of `{tool.name}` is set by the contract"], ["leave it out;"])


def _deny(tool: ToolFacts, reasons: list[str], hints: list[str] | None = None) -> Verdict:
    shown_reasons = reasons[:MAX_REASONS]
    if len(reasons) > MAX_REASONS:
        shown_reasons.append(f"and {len(reasons) - MAX_REASONS} more")
    hint = " ".join([*(hints or [])[:MAX_REASONS], f"parameters: {tool.signature}"])
    return Verdict(Decision.DENY, Code.BAD_ARGUMENTS, tuple(shown_reasons), hint)
