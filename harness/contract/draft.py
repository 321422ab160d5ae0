"""A draft: the five questions answered as far as their answers go; what an owner must decide stays a TODO."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from harness.contract.todo import TODO

__all__ = ["QUESTIONS", "Answers", "draft"]

QUESTIONS = (
    ("output", "What must come back? Names of the result's fields, separated by commas"),
    ("budget", "How much may it spend? Seconds of wall time"),
    ("permissions", "What may it touch? Names of tools, separated by commas"),
    ("completion", "When is it done? A condition over output and checks"),
    ("destination", "Where does the result go?"),
)
"""The five bindings, as they are asked."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What was answered; empty leaves the decision open."""

    name: str
    goal: str = ""
    output: Sequence[str] = ()
    wall_seconds: str = ""
    tools: Sequence[str] = ()
    success: str = ""
    destination: str = ""


def draft(answers: Answers) -> str:
    """The text of a contract. It does not load before its owners have decided what is left open."""
    fields = [
        f"      {json.dumps(name)}: {{type: {json.dumps(f'{TODO}: type of {name}')}}}" for name in answers.output
    ] or [f"      {TODO}: {{type: {TODO}}}"]
    required = ", ".join(json.dumps(name) for name in answers.output)
    scope = json.dumps(f"{TODO}: its arguments and their values, or leave scope out")
    tools = [f"    - {{tool: {json.dumps(name)}, scope: {scope}}}" for name in answers.tools] or [
        f"    - {{tool: {TODO}}}"
    ]
    lines = [
        f"contract: {json.dumps(answers.name)}",
        "version: 1",
        f"goal: {_or_todo(answers.goal, 'what the run is for')}",
        "owner:",
        f"  intent: {_or_todo('', 'who wants the goal')}",
        f"  escalate_to: {_or_todo('', 'who is asked where the contract escalates')}",
        "non_goals:",
        f"  - {{text: {_or_todo('', 'what it must not do')}, held_by: permissions}}",
        "",
        "output:                      # 1. what must come back",
        "  schema:",
        "    type: object",
        "    properties:",
        *fields,
        f"    required: [{required}]",
        "    additionalProperties: false",
        "",
        "budget:                      # 2. how much it may spend; these five are decisions",
        f"  tokens: {_or_todo('', 'whole number; 0 for none')}",
        f"  cost_usd: {_or_todo('', 'dollars as text; 0 for none')}",
        f"  wall_seconds: {answers.wall_seconds or _or_todo('', 'seconds')}",
        "  retries: 0",
        "  iterations: 1",
        "",
        "permissions:                 # 3. what it may touch; what is not listed does not exist in the box",
        "  tools:",
        *tools,
        "",
        "completion:                  # 4. when it stops",
        f"  success: {_or_todo(answers.success, 'condition over output and checks.passed')}",
        "",
        "destination:                 # 5. where the result goes",
        f"  - {{to: {_or_todo(answers.destination, 'a URL, as file:results/${run.id}.json')}}}",
        "",
        "checks:                      # what looks for itself, so that the result is more than the model's word",
        "  postconditions:",
        f"    - {{id: the-result-is-right, tool: {_or_todo('', 'a tool that reads')}, "
        f"expect: {_or_todo('', 'condition over result')}}}",
    ]
    return "\n".join(lines) + "\n"


def _or_todo(answer: str, what: str) -> str:
    return json.dumps(answer if answer else f"{TODO}: {what}", ensure_ascii=False)
