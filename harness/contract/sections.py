"""The sections of a contract as models: output, budget, permissions, completion, destination, checks, and the rest.

Keys are closed, values are frozen. Only shapes stand here; what needs tools or a policy is looked at in `load` and
`effective`.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from harness.contract.amounts import Count, Duration, Money, Positive, Seconds, refuse
from harness.contract.base import Name, Section, Text, Whole
from harness.contract.scope import Scope
from harness.contract.words import Better, Form, Language, Requirement, Wish
from harness.core.call import Approval, Json

__all__ = [
    "ApprovalTerms",
    "BudgetTerms",
    "Check",
    "Checks",
    "ChildBudget",
    "Completion",
    "Destination",
    "Escalation",
    "Name",
    "NonGoal",
    "Notify",
    "Output",
    "Owner",
    "Permissions",
    "Sandbox",
    "Section",
    "Skip",
    "Stalled",
    "Stop",
    "Text",
    "ToolGrant",
    "Whole",
]

ToolName = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=200)]
"""The wire name of a tool, compared as a whole."""


class Owner(Section):
    """Who answers for what."""

    intent: Text
    """Who wants the goal."""
    policy: Text = ""
    escalate_to: Text = ""
    """Who is asked where the contract escalates."""


class NonGoal(Section):
    """What the run must not do, and what holds that."""

    text: Text
    held_by: Text = ""
    """`permissions`, or the id of a check."""
    accepted_by: Text = ""
    """Who accepted that nothing holds it."""

    @model_validator(mode="after")
    def _held(self) -> "NonGoal":
        if bool(self.held_by) == bool(self.accepted_by):
            raise refuse(
                "non_goal_not_held",
                f"nothing holds the non-goal `{self.text[:80]}`, or two things do",
                "write either `held_by: permissions`, `held_by: CHECK-ID` or `accepted_by: WHO`",
            )
        return self


class Output(Section):
    """Binding 1: what must come back."""

    schema_: Annotated[Any, Field(alias="schema")] = None
    """JSON Schema 2020-12; None where `model` names one."""
    model: Text = ""
    """A model registered in the host file."""

    @model_validator(mode="after")
    def _one(self) -> "Output":
        if (self.schema_ is None) == (not self.model):
            raise refuse("binding_missing", "the output has no schema, or a schema and a model", "write `schema:`")
        return self


class BudgetTerms(Section):
    """Binding 2: how much it may spend. Five are explicit; an unstated one of the rest takes the policy's ceiling."""

    tokens: Count
    cost_usd: Money
    wall_seconds: Seconds
    retries: Count
    iterations: Positive
    calls: Count | None = None
    cpu_seconds: Seconds | None = None
    memory_mb: Positive | None = None
    pids: Positive | None = None
    disk_mb: Positive | None = None
    output_bytes: Count | None = None
    result_bytes: Count | None = None
    journal_bytes: Count | None = None


class ChildBudget(Section):
    """The share of the parent's budget that a child run takes."""

    tokens: Count | None = None
    cost_usd: Money | None = None
    wall_seconds: Seconds | None = None
    retries: Count | None = None
    iterations: Positive | None = None
    calls: Count | None = None


class ToolGrant(Section):
    """One tool that the run may use, or one contract that it may use as a tool."""

    tool: ToolName = ""
    contract: Text = ""
    """File of a child contract."""
    budget: ChildBudget | None = None
    """Of a child contract."""
    scope: Mapping[str, Scope] = Field(default_factory=dict)
    calls: Count | None = None
    """Most calls of this tool."""
    approval: Approval = Approval.NONE
    """May only make it stricter than policy and tool."""

    @model_validator(mode="after")
    def _one(self) -> "ToolGrant":
        if bool(self.tool) == bool(self.contract):
            raise refuse("bad_grant", "the grant names no tool, or a tool and a contract", "write `tool: NAME`")
        if self.budget is not None and not self.contract:
            raise refuse("bad_grant", "only a child contract takes a share of the budget", "leave out `budget`")
        return self

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return self.tool or self.contract


class Permissions(Section):
    """Binding 3: what it may touch. What is not listed does not exist in the box."""

    tools: tuple[ToolGrant, ...] = ()
    data_classes: tuple[Name, ...] = ()
    """Labelled fields of other classes arrive masked."""
    search_above: Count = 60
    """With more tools than this a prompt carries their names alone, and snippets look with `search` and
    `describe`, which the box offers then and only then."""


class ApprovalTerms(Section):
    """How long the run waits for a person."""

    expires: Duration = 86_400.0
    """Seconds; a day, so that an office in another time zone can answer."""
    hold_seconds: Seconds = 0.0
    """The box stays so long, frozen; 0 lets it go at once."""


class Stalled(Section):
    """The run stops where a measure did not improve for so many iterations."""

    measure: Text
    """CEL that gives a number."""
    iterations: Positive
    better: Better = Better.HIGHER


class Stop(Section):
    """One reason to stop. Exactly one key."""

    when: Text = ""
    """CEL; an error in it stops the run too."""
    same_output: Positive | None = None
    """So many equal outputs, or equal snippets, over the whole run: a loop that swings between two is stuck too."""
    stalled: Stalled | None = None

    @model_validator(mode="after")
    def _one(self) -> "Stop":
        if bool(self.when) + (self.same_output is not None) + (self.stalled is not None) != 1:
            raise refuse("bad_stop", "a stop has exactly one condition", "one of `when`, `same_output`, `stalled`")
        if self.same_output == 1:
            raise refuse("bad_stop", "`same_output: 1` stops before anything is repeated", "write 2 or more")
        return self


class Completion(Section):
    """Binding 4: when it stops."""

    success: Text
    """CEL: whether the result counts."""
    stop: tuple[Stop, ...] = ()


def _suffix_form(data: Any) -> Any:
    """The format follows the file's suffix where the destination states none."""
    if isinstance(data, Mapping) and "format" not in data and isinstance(data.get("to"), str):
        place = data["to"].partition("#")[0]
        for form in (Form.JSONL, Form.CSV, Form.PARQUET):
            if place.endswith(f".{form}"):
                return {**data, "format": form}
        if place.startswith(("postgresql:", "sqlite:", "mysql:")):
            return {**data, "format": Form.ROW}
    return data


class Notify(Section):
    """Who hears of which endings."""

    webhook: Text = ""
    bus: Text = ""
    on: tuple[Wish, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _one(self) -> "Notify":
        if bool(self.webhook) == bool(self.bus):
            raise refuse("bad_notify", "a notification goes to a webhook or to a bus", "write one of `webhook`, `bus`")
        return self


class Destination(Section):
    """Binding 5: one place where the accepted result goes."""

    to: Text
    """URL: `file:results/${run.id}.json`."""
    format: Form = Form.JSON
    retention: Duration | None = None
    """Seconds until it may be swept; unstated keeps it."""
    notify: tuple[Notify, ...] = ()

    _form = model_validator(mode="before")(_suffix_form)

    @property
    def kind(self) -> str:
        """The scheme of the URL, lower case; empty where it has none."""
        hit = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):", self.to)
        return hit[1].lower() if hit else ""


class Skip(Section):
    """A check that is not made: who answers for that, and why."""

    authorised_by: Text
    because: Text


class Check(Section):
    """One check with the evidence that it accepts."""

    id: Name
    tool: ToolName = ""
    """Granted to the check alone; empty where the expression reads facts only."""
    args: Mapping[str, Json] = Field(default_factory=dict)
    expect: Text
    """CEL over `result`, `args` and the facts of the run."""
    guards: tuple[ToolName, ...] = ()
    """Of an invariant: the tools whose effects it surrounds; none means every effect."""
    repeat: Positive = 1
    require: Requirement = "all"
    """`all`, or `K of N` of the repeats."""
    skip: Skip | None = None
    """Set where someone authorised that it is not made; it then counts as no obstacle, and the record says who."""


class Checks(Section):
    """The checks around the run."""

    preconditions: tuple[Check, ...] = ()
    invariants: tuple[Check, ...] = ()
    postconditions: tuple[Check, ...] = ()

    @property
    def every(self) -> tuple[Check, ...]:
        """All checks, in the order in which they are written."""
        return (*self.preconditions, *self.invariants, *self.postconditions)


class Escalation(Section):
    """A condition under which a named person is asked."""

    when: Text
    ask: Text
    """May hold references."""
    options: tuple[Text, ...] = Field(min_length=1)
    to: Text = ""
    """Who is asked; unstated means `owner.escalate_to`."""


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Sandbox(Section):
    """What the box is like; within what the policy allows."""

    language: Language | None = None
    """Unstated: the first that the policy allows."""
    imports: Annotated[tuple[Text, ...] | None, BeforeValidator(_listed)] = None
    """Modules; unstated: what the policy allows."""
    backend: Text = ""
    """`docker` or `bubblewrap`; unstated leaves it to the host."""
    runtime: Text = ""
    """Of the engine: `runsc`; unstated is its default."""
    image: Text = ""
    """By digest; unstated is the harness's own."""
