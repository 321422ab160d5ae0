"""Every function document of a published benchmark: stubs that compile and call through, or a refusal with a reason."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from tests.tool_stubs.making import item
from tool_stubs.generate import generate
from tool_stubs.problem import StubRefused
from tool_stubs.runtime.stub import build


def _documents() -> list[dict[str, Any]]:
    spec = importlib.util.find_spec("bfcl_eval")
    if spec is None or spec.origin is None:
        pytest.skip("bfcl-eval is not installed")
    found: list[dict[str, Any]] = []
    for path in sorted(Path(spec.origin).parent.joinpath("data").rglob("*.json")):
        for line in path.read_text("utf-8").splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict):
                found += row.get("function", [row] if "parameters" in row else [])
    return found


def test_every_document_gives_stubs_or_a_reason() -> None:
    """C15, C16, C33: names with dots, keywords as parameters, `dict`, `float`, `any`, `tuple`, `String`."""
    documents = _documents()
    refused: list[str] = []
    for each in documents:
        try:
            stubs = generate([item(each["name"], description=each.get("description"), parameters=each["parameters"])])
        except StubRefused as error:
            refused.append(str(error))
            continue
        compile(stubs.source, each["name"], "exec")
        row = stubs.table["tools"][0]
        module = build(stubs.table, lambda tool, arguments, decode: (tool, decode(arguments)))
        sent = {parameter["wire"]: "value" for parameter in row["params"]}
        by_python_name = {parameter.get("py", parameter["wire"]): "value" for parameter in row["params"]}
        assert module[row["py"]](**by_python_name) == (each["name"], sent)
    assert refused == [
        "tool `createAuthToken`, /properties/options/properties/issuer/type: `` is no type; "
        "known are string, integer, number, boolean, object, array, null"
    ]
    assert len(documents) > 8_726
