"""The facts that a contract's expressions may read, as JSON Schemas: what they are typed against when it is loaded."""

from collections.abc import Mapping
from typing import Any

from harness.contract.model import Contract
from harness.contract.typing_env import DYNAMIC_MARK
from harness.core.budget import Dimension
from harness.core.call import Json

__all__ = ["CHECK_STATUSES", "RESERVED_CHECK_ID", "check_env", "inputs_schema", "run_env"]

CHECK_STATUSES = ("pending", "passed", "failed", "skipped", "unavailable")
RESERVED_CHECK_ID = "passed"
"""`checks.passed` says whether all checks passed; no check may be called so."""

_EXACT = 2**53


def run_env(contract: Contract) -> dict[str, Any]:
    """The facts of `success`, `stop` and `escalate`."""
    return {
        "output": contract.output.schema_ if contract.output.schema_ is not None else {},
        "inputs": inputs_schema(contract),
        "params": _schema_of_value(dict(contract.params)),
        "run": _closed({"id": {"type": "string"}, "iteration": {"type": "integer"}}),
        "checks": {**_closed(_check_schemas(contract)), DYNAMIC_MARK: True},
        "budget": _closed({str(dimension): {"type": "number"} for dimension in Dimension}),
        "principal": {},
    }


def _check_schemas(contract: Contract) -> dict[str, Any]:
    status = _closed({"status": {"enum": list(CHECK_STATUSES)}})
    return {**{each.id: status for each in contract.checks.every}, RESERVED_CHECK_ID: {"type": "boolean"}}


def check_env(contract: Contract, result: Mapping[str, Any] | None, args: Mapping[str, Json]) -> dict[str, Any]:
    """The facts of a check's `expect`: those of the run, with its tool's result and its arguments."""
    return {**run_env(contract), "result": result or {}, "args": _schema_of_value(dict(args))}


def inputs_schema(contract: Contract) -> dict[str, Any]:
    """What the caller may pass: names that the schema does not speak of are refused."""
    if contract.inputs is None:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    schema = {"type": "object", **contract.inputs}
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)
    return schema


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _schema_of_value(value: Json) -> dict[str, Any]:
    """The schema that a stated value shows. A text with references is a value that is not known yet."""
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, int) and abs(value) <= _EXACT:
        return {"type": "integer"}
    if isinstance(value, str):
        return {} if "${" in value else {"type": "string"}
    if isinstance(value, Mapping):
        return _closed({str(name): _schema_of_value(each) for name, each in value.items()})
    if isinstance(value, list | tuple):
        shapes = [_schema_of_value(each) for each in value]
        same = bool(shapes) and all(shape == shapes[0] for shape in shapes)
        return {"type": "array", "items": shapes[0] if same else {}}
    return {}
