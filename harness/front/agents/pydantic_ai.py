"""An adapter for pydantic-ai: a toolset whose tools are contracts; what waits for a person is a deferred call.

Needs `pip install 'execution-harness[pydantic-ai]'`.
"""

import json
from typing import Any

from pydantic_ai import CallDeferred, Tool
from pydantic_ai.toolsets import FunctionToolset

from harness.front.agents.toolbox import Toolbox

__all__ = ["toolset"]


def toolset(toolbox: Toolbox) -> FunctionToolset[Any]:
    """The tools of `toolbox`. A paused run raises `CallDeferred` with its run and references; whoever resumes the agent
    gives `await toolbox.resume(run)` as the result of that call."""
    return FunctionToolset(tools=[_tool(toolbox, name) for name in toolbox.offers])


def _tool(toolbox: Toolbox, name: str) -> Tool[Any]:
    offer = toolbox.offers[name]

    async def call(**arguments: Any) -> str:
        answer = await toolbox.call(name, arguments)
        if answer["status"] == "paused":
            raise CallDeferred(metadata={"run": answer["run"], "waiting": answer["waiting"]})
        return json.dumps(answer, ensure_ascii=False)

    return Tool.from_schema(call, name, offer.description, offer.input_schema)
