"""First drafts for a source: an overlay to edit, and a contract that lists its reads. Text; nothing takes effect."""

import json
from collections.abc import Mapping
from typing import Any

from harness.contract.host_tools import ToolSource
from harness.core.call import Effect
from harness.core.errors import ContractRefused, Place, RegistryRefused
from harness.toolsets.build import build_contract
from harness.toolsets.definition import Definition
from harness.toolsets.overlay import ToolWords

__all__ = ["first_contract", "first_overlay", "first_words"]

HEAD = """\
# The tools of `{name}`, as the source describes them; every line is yours to edit.
# Where nothing is said the strict value holds: effect write, no idempotency, approval as the policy says.
# What stands under `proposed` is only the source's word and has no effect: move a line one level up to accept it.
# When this page says what you mean: harness tools admit {name}
tools:
"""


def first_words(said: ToolSource, definition: Definition) -> dict[str, Any]:
    """What the overlay should say of a new tool so that it loads, and what its source proposes."""
    words: dict[str, Any] = {}
    hints = definition.hints
    if hints.tightens is Effect.DESTRUCTIVE:
        words["preview"] = _preview(definition)
    proposed: dict[str, Any] = {}
    if hints.loosens is not None:
        proposed["effect"] = hints.loosens.value
    if hints.repeatable:
        proposed["idempotency"] = "natural"
    if proposed:
        words["proposed"] = proposed
    why = _refused(said, definition, words)
    return {"skip": True, "refused": why} if why else words


def first_overlay(said: ToolSource, definitions: Mapping[str, Definition]) -> str:
    """The text of a first overlay."""
    lines = [HEAD.format(name=said.name)]
    for name, definition in sorted(definitions.items()):
        words = first_words(said, definition)
        why = words.pop("refused", "")
        first = next(iter(definition.description.strip().splitlines()), "")
        lines.append(f"  {_text(name)}:\n    # {_comment(why or first or 'the source does not describe it')}\n")
        for key, value in words.items():
            note = f"  # the source's {definition.hints.words}" if key == "proposed" else ""
            lines.append(f"    {key}: {json.dumps(value, ensure_ascii=False)}{note}\n")
        if not words:
            lines.append("    effect: write\n")
    if not definitions:
        lines.append("  {}\n")
    return "".join(lines)


def first_contract(said: ToolSource, definitions: Mapping[str, Definition]) -> str:
    """The text of a first contract: every tool of the source, to be cut down."""
    other = said.mcp or said.openapi
    prefix = other.prefix if other is not None else ""
    names = [prefix + name for name, each in sorted(definitions.items()) if "refused" not in first_words(said, each)]
    tools = "".join(f"    - tool: {_text(name)}\n" for name in names) or "    []\n"
    return CONTRACT.format(name=said.name, tools=tools)


CONTRACT = """\
# A first contract over the tools of `{name}`: cut it down to what one job needs.
contract: use-{name}
version: 1
goal: say here what a run is for
owner: {{intent: your-team}}
output:
  schema: {{type: object}}
budget: {{tokens: 0, cost_usd: "0", wall_seconds: 60, retries: 0, iterations: 3, calls: 50}}
permissions:
  tools:
{tools}completion: {{success: "true"}}
destination: [{{to: "file:results/${{run.id}}.json"}}]
"""


def _refused(said: ToolSource, definition: Definition, words: Mapping[str, Any]) -> str:
    """Why no tool can be made of it; empty where one can."""
    try:
        plain = {name: value for name, value in words.items() if name != "proposed"}
        build_contract(definition, ToolWords(**plain), prefix="", source=said.name, place=Place(key=definition.name))
    except (RegistryRefused, ContractRefused) as refused:
        return refused.faults[0].message
    return ""


def _preview(definition: Definition) -> str:
    """A first sentence for a person: the name and every argument. Braces cannot stand in names of arguments."""
    names = [name for name in definition.input_schema.get("properties", {}) if not set(name) & set("{}")]
    return " ".join([definition.name.replace("{", "(").replace("}", ")"), *(f"{name}={{{name}}}" for name in names)])


def _text(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _comment(text: str) -> str:
    """One line that cannot leave its comment."""
    plain = "".join(each if each.isprintable() else " " for each in text)
    return plain if len(plain) <= 110 else plain[:109] + "…"
