"""What the tests of the executor are made of: real functions as tools, calls, and a way to run one to its end."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from harness.core.call import Call, Origin
from harness.core.ports import Outcome
from harness.core.state import State
from harness.executor.execute import Deadline, Executor
from harness.registry.decorator import tool
from harness.registry.from_function import from_function
from harness.registry.registry import Tool


def bind(function: Callable[..., Any], **settings: Any) -> Tool:
    """The function as the registry would hold it; a destructive one must have a preview."""
    if settings.get("effect") == "destructive":
        settings["preview"] = "do it"
    return from_function(tool(**settings)(function))


def make_call(tool: Tool, **arguments: Any) -> Call:
    """A dispatched call of `tool`."""
    return Call(
        id="1.1",
        run="run_1",
        lineage="run_1.1",
        iteration=1,
        attempt=1,
        origin=Origin.SNIPPET,
        task="0",
        tool=tool.contract.name,
        arguments=arguments,
        content="",
        occurrence=1,
        received_at=0.0,
        effect=tool.contract.effect,
        state=State.DISPATCHED,
    )


@contextlib.asynccontextmanager
async def executing(**settings: Any) -> AsyncIterator[Executor]:
    """An executor that is closed afterwards."""
    executor = Executor(**settings)
    try:
        yield executor
    finally:
        executor.close()


def run(tool: Tool, *, timeout_s: float = 5.0, on_retry: Callable[[], Any] = lambda: None, **arguments: Any) -> Outcome:
    """Execute one call on a loop of its own."""

    async def one() -> Outcome:
        async with executing(secrets=["hunter2-token"]) as executor:
            pending = executor.begin(tool, make_call(tool, **arguments), Deadline(timeout_s), on_retry)
            return pending if isinstance(pending, Outcome) else await pending

    return asyncio.run(one())
