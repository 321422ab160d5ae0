"""Contracts in the formats of providers, and called from any loop."""

import asyncio
from pathlib import Path

import pytest

from harness.api import Harness
from harness.contract.schema import compile_schema
from harness.core.errors import ContractRefused
from harness.front.agents.toolbox import Toolbox
from harness.front.agents.transcript import anthropic_answer
from tests.front_mcp.making import write_host


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_host(tmp_path)


def toolbox(folder: Path, **more: str) -> Toolbox:
    harness = Harness.from_file(folder / "harness.yaml", backend="bubblewrap")
    return Toolbox(harness, [folder / "sum.yaml", folder / "free.yaml"], **more)


def test_definitions_in_the_formats_of_providers(folder: Path) -> None:
    """The same contract in each; every example fits its schema; names are ones that all of them take."""
    tools = toolbox(folder)
    anthropic, openai, responses = tools.anthropic(), tools.openai(), tools.openai_responses()
    names = ["harness_run_sum_up", "harness_run_free"]
    assert [each["name"] for each in anthropic] == names
    assert [each["function"]["name"] for each in openai] == names
    assert [each["name"] for each in responses] == names
    assert anthropic[0]["input_schema"] == openai[0]["function"]["parameters"] == responses[0]["parameters"]
    example = anthropic[1]["input_examples"][0]
    assert compile_schema(anthropic[1]["input_schema"]).faults(example) == []
    code = tools.anthropic_programmatic("harness_run_free")
    assert [each["name"] for each in code] == ["double", "note", "lose", "publish"]
    assert [each["allowed_callers"] for each in code] == [["code_execution_20250825"]] * 4
    assert code[0]["input_schema"]["required"] == ["n"]
    with pytest.raises(ContractRefused, match="no contract can be used here"):
        Toolbox(Harness.from_file(folder / "harness.yaml"), [folder / "tools.py"])


@pytest.mark.bubblewrap
def test_a_loop_calls_and_answers(folder: Path) -> None:
    """A use, its answer as a block; names and arguments that do not fit are refused with the way (C29)."""

    async def whole() -> None:
        async with toolbox(folder, prefix="x_") as tools:
            answer = await tools.call("x_run_free", {"snippet": "from tools import double\nreturn double(21)"})
            block = anthropic_answer("use_1", answer)
            assert (block["is_error"], answer["result"]) == (False, 42)
            wrong = await tools.call("x_run_fre", {"snippet": "return 1"})
            assert (tools.failed(wrong), wrong["next"]) == (True, "did you mean `x_run_free`?")
            wrong = await tools.call("x_run_free", {"code": "return 1"})
            assert (tools.failed(wrong), wrong["status"]) == (True, "refused")
            waits = await tools.call("x_run_free", {"snippet": "from tools import publish\nreturn publish('x')"})
            assert (waits["status"], tools.failed(waits)) == ("paused", False)
            assert (await tools.resume(waits["run"]))["waiting"] == waits["waiting"]

    asyncio.run(whole())
