"""`harness mcp` over pipes, driven by the official client."""

import asyncio
import json
from pathlib import Path

import pytest
from mcp import Client, MCPError

from tests.front_mcp.making import call, driven, write_host

pytestmark = [pytest.mark.bubblewrap, pytest.mark.xdist_group("servers")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_host(tmp_path)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_tools_are_typed_and_namespaced(folder: Path, mode: str) -> None:
    """C32: one tool for each contract, and three of the server's own, none of them `search` or `execute`; the first and
    the second call are alike."""

    async def work(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == [
            "harness_run_sum_up",
            "harness_run_free",
            "harness_check",
            "harness_resume",
            "harness_describe",
        ]
        run = tools["harness_run_sum_up"]
        assert run.input_schema["required"] == ["snippet", "inputs"]
        assert run.input_schema["properties"]["inputs"]["properties"]["numbers"]["items"] == {"type": "integer"}
        result = run.output_schema["properties"]["result"]["anyOf"][0]
        assert result["properties"] == {"total": {"type": "integer"}}
        assert "double(n: int) -> int" in run.description
        snippet = "from tools import double\nreturn {'total': sum(double(n) for n in inputs['numbers'])}"
        said = {"snippet": snippet, "inputs": {"numbers": [1, 2, 3]}}
        first, second = [await call(client, "harness_run_sum_up", **said) for _ in range(2)]
        for answer, failed in (first, second):
            assert not failed, answer
            assert (answer["status"], answer["outcome"], answer["result"]) == ("ended", "accepted", {"total": 12})
            assert answer["next"] == "done"

    driven(folder, work, mode=mode)


def test_every_refusal_is_an_error(folder: Path) -> None:
    """C06: a syntax error, arguments that do not fit, a result that does not, an unknown tool: `isError`."""

    async def work(client: Client) -> None:
        run, inputs = "harness_run_sum_up", {"numbers": [1]}
        answer, failed = await call(client, run, snippet="  x = 1\ny=", inputs=inputs)
        assert (failed, answer["status"]) == (True, "refused")
        assert "line 1" in answer["faults"][0]
        answer, failed = await call(client, run, snippet="return {'total': 1}", inputs={"numbers": ["x"]})
        assert (failed, answer["status"]) == (True, "refused")
        assert "$.inputs.numbers[0]" in answer["detail"]
        answer, failed = await call(client, run, snippet="return 'The answer is 5'", inputs=inputs)
        assert (failed, answer["outcome"], answer["reason"]) == (True, "rejected", "output_invalid")
        answer, failed = await call(client, run, snippet="return {'total': 1 / 0}", inputs=inputs)
        assert (failed, answer["reason"], answer["failure"]["type"]) == (True, "snippet_failed", "ZeroDivisionError")
        answer, failed = await call(client, "harness_check", contract=run, snippet="import os\nreturn 1")
        assert failed
        assert "os" in answer["faults"][0]
        answer, failed = await call(client, "harness_check", contract=run, snippet="return 1")
        assert (failed, answer["ok"]) == (False, True)
        with pytest.raises(MCPError, match="there is no tool"):
            await client.session.call_tool("harness_nothing", {})

    driven(folder, work)


def test_a_lost_effect_says_do_not_retry(folder: Path) -> None:
    """An unknown ending is an error that nobody may answer with a retry."""

    async def work(client: Client) -> None:
        snippet = "from tools import lose\nreturn lose('x')"
        answer, failed = await call(client, "harness_run_free", snippet=snippet)
        assert failed
        assert answer["outcome"] == "unresolved"
        assert answer["unknown"] == ["1.1"]
        assert answer["next"].startswith("do not retry")

    driven(folder, work)


def test_nothing_is_kept_between_runs(folder: Path) -> None:
    """C31: `x = 1`, then `print(x)`: the second run starts from nothing, and the description says so."""

    async def work(client: Client) -> None:
        await call(client, "harness_run_free", snippet="x = 1\nreturn x")
        answer, failed = await call(client, "harness_run_free", snippet="print(x)\nreturn 1")
        assert (failed, answer["failure"]["type"]) == (True, "NameError")

    driven(folder, work)


def test_an_open_run_is_mended_without_repeating_effects(folder: Path) -> None:
    """The whole snippet is sent again under the same run; its note is written once."""

    async def work(client: Client) -> None:
        broken = "from tools import note\nnote('once')\nreturn {'total': undefined}"
        said = {"inputs": {"numbers": []}, "finish": False}
        answer, failed = await call(client, "harness_run_sum_up", snippet=broken, **said)
        assert (failed, answer["status"]) == (True, "open")
        mended = broken.replace("undefined", "1")
        answer, failed = await call(
            client, "harness_run_sum_up", snippet=mended, inputs={"numbers": []}, run=answer["run"]
        )
        assert (failed, answer["result"]) == (False, {"total": 1})
        answer, failed = await call(client, "harness_run_sum_up", snippet=mended, inputs={"numbers": []}, run="run_no")
        assert (failed, answer["status"]) == (True, "refused")

    driven(folder, work)
    assert (folder / "notes.txt").read_text() == "once\n"


def test_a_key_makes_a_retry_the_same_run(folder: Path) -> None:
    """A client that lost the answer sends the same again."""

    async def work(client: Client) -> None:
        said = {"snippet": "from tools import note\nreturn note('k')", "key": "mine"}
        first, _ = await call(client, "harness_run_free", **said)
        second, _ = await call(client, "harness_run_free", **said)
        assert (first["run"], first["result"]) == (second["run"], second["result"])

    driven(folder, work)
    assert (folder / "notes.txt").read_text() == "k\n"


def test_a_long_run_answers_before_the_client_gives_up(folder: Path) -> None:
    """`running` with the run's id, progress meanwhile, and the result later."""
    heard: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(done)

    async def work(client: Client) -> None:
        said = {"snippet": "import time\ntime.sleep(4)\nreturn 7", "wait_seconds": 2.5}
        result = await client.call_tool("harness_run_free", said, progress_callback=progress)
        answer = dict(result.structured_content or {})
        assert (result.is_error, answer["status"]) == (False, "running")
        answer, failed = await call(client, "harness_resume", run=answer["run"], wait_seconds=30)
        assert (failed, answer["result"]) == (False, 7)

    driven(folder, work)
    assert len(heard) >= 2
    assert heard == sorted(heard)


def test_a_cancelled_request_cancels_the_run(folder: Path) -> None:
    """Its record says who; the server goes on."""

    async def work(client: Client) -> None:
        said = {"snippet": "import time\ntime.sleep(30)\nreturn 7"}
        task = asyncio.create_task(client.call_tool("harness_run_free", said))
        await asyncio.sleep(3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        answer, failed = await call(client, "harness_run_free", snippet="return 1")
        assert (failed, answer["result"]) == (False, 1)

    driven(folder, work)


def test_a_large_result_is_a_resource(folder: Path) -> None:
    """Its two ends stand in the answer, the whole of it behind the link."""

    async def work(client: Client) -> None:
        result = await client.call_tool("harness_run_free", {"snippet": "return ['x' * 100] * 2000"})
        answer = dict(result.structured_content or {})
        assert (answer["result"], answer["outcome"]) == (None, "accepted")
        [link] = [part for part in result.content if part.type == "resource_link"]
        assert str(link.uri) == answer["result_resource"]
        whole = await client.read_resource(answer["result_resource"])
        assert json.loads(whole.contents[0].text) == ["x" * 100] * 2000
        with pytest.raises(MCPError):
            await client.read_resource("harness://runs/run_other/result")

    driven(folder, work)


def test_what_waits_for_a_person_is_announced_and_never_granted(folder: Path) -> None:
    """The answer is `paused` with a public reference; no tool of the server can say yes."""

    async def work(client: Client) -> None:
        answer, failed = await call(
            client, "harness_run_free", snippet="from tools import publish\nreturn publish('x')"
        )
        assert (failed, answer["status"], answer["reason"]) == (False, "paused", "paused")
        assert answer["waiting"][0].startswith("ask-")
        again, failed = await call(client, "harness_resume", run=answer["run"])
        assert (failed, again["status"], again["waiting"]) == (False, "paused", answer["waiting"])
        described, _ = await call(client, "harness_describe", contract="harness_run_free", tools=["publish"])
        assert "def publish(" in described["text"]
        other, failed = await call(client, "harness_resume", run="run_unknown")
        assert (failed, other["status"]) == (True, "refused")

    driven(folder, work)
