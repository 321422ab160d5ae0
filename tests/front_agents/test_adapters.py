"""The adapters, driven by the frameworks themselves with a model that is a script."""

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from harness.front.agents.toolbox import Toolbox
from tests.front_agents.test_toolbox import toolbox
from tests.front_mcp.making import write_host

pytestmark = pytest.mark.bubblewrap
DOUBLE = {"snippet": "from tools import double\nreturn double(21)"}
PUBLISH = {"snippet": "from tools import publish\nreturn publish('x')"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_host(tmp_path)


def test_pydantic_ai(folder: Path) -> None:
    """A call gives its answer to the model; a paused one comes out as a deferred call with its reference."""
    agents = pytest.importorskip("pydantic_ai")
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    from harness.front.agents.pydantic_ai import toolset

    async def whole(tools: Toolbox) -> None:
        def model(messages: list[Any], info: Any) -> Any:
            assert [tool.name for tool in info.function_tools] == list(tools.offers)
            last = messages[-1].parts[-1]
            if isinstance(last, ToolReturnPart):
                return ModelResponse(parts=[TextPart(str(last.content))])
            said = PUBLISH if "publish" in str(last.content) else DOUBLE
            return ModelResponse(parts=[ToolCallPart("harness_run_free", said, "use_1")])

        agent = agents.Agent(
            FunctionModel(model), toolsets=[toolset(tools)], output_type=[str, agents.DeferredToolRequests]
        )
        result = await agent.run("double it")
        assert json.loads(result.output)["result"] == 42
        waits = (await agent.run("publish it")).output
        assert [call.tool_call_id for call in waits.calls] == ["use_1"]
        run = waits.metadata["use_1"]["run"]
        assert (await tools.resume(run))["status"] == "paused"

    async def entered() -> None:
        async with toolbox(folder) as tools:
            await whole(tools)

    asyncio.run(entered())


def test_langchain(folder: Path) -> None:
    """A tool call gives a tool message; inside a graph a pause is an interrupt, and going on makes no second run."""
    pytest.importorskip("langchain_core")
    from langchain_core.messages import AIMessage
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import StateGraph
    from langgraph.graph.message import add_messages
    from langgraph.prebuilt import ToolNode
    from langgraph.types import Command

    from harness.front.agents.langchain import tools as as_tools

    class State(TypedDict):
        messages: Annotated[list[Any], add_messages]

    async def whole() -> None:
        async with toolbox(folder) as box:
            tools = as_tools(box, inside_graph=True)
            use = {"name": "harness_run_free", "args": DOUBLE, "id": "use_1", "type": "tool_call"}
            message = await tools[1].ainvoke(use)
            assert (message.tool_call_id, json.loads(message.content)["result"]) == ("use_1", 42)
            graph = StateGraph(State)
            graph.add_node("tools", ToolNode(tools))
            graph.set_entry_point("tools")
            made = graph.compile(checkpointer=InMemorySaver())
            config: Any = {"configurable": {"thread_id": "1"}}
            asked = AIMessage("", tool_calls=[{**use, "args": PUBLISH, "id": "use_2"}])
            state = await made.ainvoke({"messages": [asked]}, config)
            [waits] = state["__interrupt__"]
            assert waits.value["waiting"][0].startswith("ask-")
            state = await made.ainvoke(Command(resume="look again"), config)
            answer = json.loads(state["messages"][-1].content)
            assert (answer["status"], answer["run"]) == ("paused", waits.value["run"])

    asyncio.run(whole())
