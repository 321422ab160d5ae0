"""A host with contracts that the server offers, and the official client that drives it."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client, StdioServerParameters

T = TypeVar("T")

TOOLS = '''
"""Tools of the tests."""
import time
from pathlib import Path

from harness import tool

NOTES = Path(__file__).with_name("notes.txt")


@tool(effect="read")
def double(n: int) -> int:
    """Twice a number.

    Args:
        n: the number
    """
    return n * 2


@tool(effect="write", idempotency="derived", preview="note {text}")
def note(text: str) -> str:
    """Write a note."""
    with NOTES.open("a") as file:
        file.write(text + "\\n")
    return text


@tool(effect="write", idempotency="none", timeout_s=0.2)
def lose(text: str) -> str:
    """Never answer in time."""
    time.sleep(1)
    return text


@tool(effect="write", approval="always", preview="publish {text}")
def publish(text: str) -> str:
    """Publish a text, once a person agreed."""
    return text
'''
CONTRACT = """
contract: sum.up
version: 1
goal: add numbers up
owner: {intent: tests}
inputs: {type: object, properties: {numbers: {type: array, items: {type: integer}}}, required: [numbers]}
output:
  schema: {type: object, properties: {total: {type: integer}}, required: [total], additionalProperties: false}
budget: {tokens: 0, cost_usd: "0", wall_seconds: 60, retries: 0, iterations: 4, calls: 50}
permissions: {tools: [{tool: double}, {tool: note}]}
completion: {success: output.total >= 0}
destination: [{to: "file:results/${run.id}.json"}]
"""
FREE = """
contract: free
version: 1
goal: anything
owner: {intent: tests}
output: {schema: {}}
budget: {tokens: 0, cost_usd: "0", wall_seconds: 60, retries: 0, iterations: 4, calls: 50, output_bytes: 5000000}
permissions: {tools: [{tool: double}, {tool: note}, {tool: lose}, {tool: publish}]}
completion: {success: "true"}
destination: [{to: "file:results/${run.id}.json"}]
"""


def write_host(folder: Path) -> Path:
    """The files of a host."""
    for name, text in (
        ("tools.py", TOOLS),
        ("sum.yaml", CONTRACT),
        ("free.yaml", FREE),
        ("harness.yaml", "tools: [{python: tools.py}]\nsandbox: {backend: bubblewrap}\n"),
    ):
        (folder / name).write_text(text)
    return folder


def parameters(folder: Path, *more: str) -> StdioServerParameters:
    """How the client starts the server."""
    words = ["-m", "harness.front.cli.main", "mcp", "sum.yaml", "free.yaml", *more]
    return StdioServerParameters(command=sys.executable, args=words, cwd=folder, env=dict(os.environ))


def driven(folder: Path, work: Callable[[Client], Awaitable[T]], *more: str, mode: str = "auto") -> T:
    """Run `work` with a client whose server runs over pipes."""

    async def whole() -> T:
        async with asyncio.timeout(120):
            async with Client(parameters(folder, *more), mode=mode) as client:
                return await work(client)

    return asyncio.run(whole())


@contextlib.asynccontextmanager
async def http_server(folder: Path, *more: str) -> AsyncIterator[str]:
    """A server on a free port of loopback; its address."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "harness.front.cli.main", "mcp", "sum.yaml", "free.yaml"),
        *("--http", "127.0.0.1:0", *more),
        cwd=folder,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        line = (await asyncio.wait_for(process.stderr.readline(), 60)).decode()
        assert line.startswith("serving MCP at "), line + (await process.stderr.read()).decode()
        yield line.split()[-1]
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def call(client: Client, name: str, **arguments: Any) -> tuple[dict[str, Any], bool]:
    """The structure of an answer, and whether it is an error."""
    result = await client.call_tool(name, arguments)
    return dict(result.structured_content or {}), bool(result.is_error)
