"""What the server offers: one tool for each contract that the principal may use, with typed schemas."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.api import Harness
from harness.contract.effective import Effective
from harness.contract.listing import listed_grants
from harness.core.ending import Outcome
from harness.core.errors import Refused
from harness.front.instructions import run_description
from harness.registry.catalog import listed

__all__ = ["Offer", "answer_schema", "check_schema", "describe_schema", "offers_of", "resume_schema"]

MAX_WAIT_SECONDS = 300.0
"""A client may ask to wait this long; most give up by themselves after one or two minutes."""
WAIT_SECONDS = 45.0
"""Unsaid: below the sixty seconds after which common clients time out."""

_TEXT = {"type": "string"}


@dataclass(frozen=True, slots=True)
class Offer:
    """One contract as a tool."""

    name: str
    """Of the tool: prefix, `run_`, and the contract's name with what no tool name may hold folded."""
    path: Path
    effective: Effective
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]


def offers_of(harness: Harness, paths: Iterable[Path], prefix: str) -> dict[str, Offer]:
    """The offers by tool name: every contract that loads and that policy and principal admit, in the order given."""
    offers: dict[str, Offer] = {}
    for path in paths:
        try:
            effective = harness.bind(path)
        except Refused:
            continue  # what the principal may not use does not exist for it
        name = f"{prefix}run_{re.sub('[^A-Za-z0-9_-]', '_', effective.contract.contract)}"[:64]
        if name in offers:
            continue
        offers[name] = _offer(name, path, effective)
    return offers


def _offer(name: str, path: Path, effective: Effective) -> Offer:
    contract = effective.contract
    inputs = dict(contract.inputs) if contract.inputs else {"type": "object", "properties": {}}
    told = listed(listed_grants(effective), contract.permissions.search_above)
    properties: dict[str, Any] = {
        "snippet": {**_TEXT, "description": "the Python to run"},
        "inputs": _embedded(inputs) or {"type": "object"},
        "key": {**_TEXT, "description": "your own name for this submission: sent again, it is the same run"},
        "run": {**_TEXT, "description": "an open run to go on with, after `finish: false` or a failed snippet"},
        "finish": {"type": "boolean", "default": True, "description": "judge and end the run after this snippet"},
        "wait_seconds": {"type": "number", "minimum": 0, "maximum": MAX_WAIT_SECONDS, "default": WAIT_SECONDS},
    }
    required = ["snippet", *(["inputs"] if inputs.get("required") else [])]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    result = effective.contract.output.schema_
    return Offer(name, path, effective, run_description(contract.goal or "", told), schema, answer_schema(result))


def answer_schema(result: Any = None) -> dict[str, Any]:
    """The schema of what a run answers; `result` is the schema of the contract's output."""
    known = _embedded(result) if isinstance(result, Mapping) else None
    outcomes = [each.value for each in Outcome]
    return {
        "type": "object",
        "properties": {
            "status": {"enum": ["ended", "open", "paused", "running", "refused"]},
            "run": {"type": ["string", "null"]},
            "outcome": {"enum": [*outcomes, None]},
            "reason": {"type": ["string", "null"]},
            "detail": _TEXT,
            "result": {"anyOf": [known or {}, {"type": "null"}]},
            "result_resource": {"type": ["string", "null"]},
            "output": {"description": "what the last snippet returned"},
            "printed": _TEXT,
            "failure": {"type": ["object", "null"]},
            "committed": {"type": "array", "items": _TEXT},
            "unknown": {"type": "array", "items": _TEXT},
            "refusals": {"type": "array", "items": {"type": "object"}},
            "faults": {"type": "array", "items": _TEXT},
            "waiting": {"type": "array", "items": _TEXT, "description": "public references of what waits for a person"},
            "next": {**_TEXT, "description": "what to do now"},
        },
        "required": ["status", "run", "outcome", "reason", "detail", "result", "next"],
    }


def _embedded(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """A schema that may stand inside another one; None where its references would point astray there."""
    return None if _has_reference(schema) else {key: value for key, value in schema.items() if key != "$schema"}


def _has_reference(node: Any) -> bool:
    if isinstance(node, Mapping):
        return "$ref" in node or "$dynamicRef" in node or any(_has_reference(each) for each in node.values())
    return isinstance(node, list) and any(_has_reference(each) for each in node)


def check_schema(names: Iterable[str]) -> dict[str, Any]:
    """The arguments of `check`."""
    properties = {"contract": {"enum": list(names)}, "snippet": _TEXT}
    return {
        "type": "object",
        "properties": properties,
        "required": ["contract", "snippet"],
        "additionalProperties": False,
    }


def describe_schema(names: Iterable[str]) -> dict[str, Any]:
    """The arguments of `describe`."""
    properties = {
        "contract": {"enum": list(names)},
        "tools": {"type": "array", "items": _TEXT, "description": "the full text of these tools alone"},
    }
    return {"type": "object", "properties": properties, "required": ["contract"], "additionalProperties": False}


def resume_schema() -> dict[str, Any]:
    """The arguments of `resume`."""
    properties = {
        "run": _TEXT,
        "wait_seconds": {"type": "number", "minimum": 0, "maximum": MAX_WAIT_SECONDS, "default": WAIT_SECONDS},
    }
    return {"type": "object", "properties": properties, "required": ["run"], "additionalProperties": False}
