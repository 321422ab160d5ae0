"""An adapter for LangChain: contracts as tools; what waits for a person is an interrupt of the graph.

Needs `pip install 'execution-harness[langchain]'`.
"""

import json
from contextvars import ContextVar
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.types import interrupt

from harness.front.agents.toolbox import Toolbox

__all__ = ["tools"]

_USE: ContextVar[str] = ContextVar("harness_tool_use", default="")


class _ContractTool(BaseTool):
    """One contract. A graph that goes on after an interrupt calls it again: the id of the use makes it the same run."""

    box: Any
    inside_graph: bool = True

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """As every tool; remembers the id of the use."""
        token = _USE.set(str(input.get("id") or "") if isinstance(input, dict) and "args" in input else "")
        try:
            return await super().ainvoke(input, config, **kwargs)
        finally:
            _USE.reset(token)

    async def _arun(self, **arguments: Any) -> str:
        answer = await self.box.call(self.name, {**({"key": _USE.get()} if _USE.get() else {}), **arguments})
        while answer["status"] == "paused" and self.inside_graph:
            interrupt({"run": answer["run"], "waiting": answer["waiting"], "next": answer["next"]})
            answer = await self.box.resume(answer["run"])
            if answer["status"] == "paused":
                break
        return json.dumps(answer, ensure_ascii=False)

    def _run(self, **_: Any) -> str:
        raise NotImplementedError("contracts are called from asynchronous code: `await tool.ainvoke(…)`")


def tools(toolbox: Toolbox, *, inside_graph: bool = True) -> list[BaseTool]:
    """The tools of `toolbox`. Outside of a graph there are no interrupts: a paused run is an answer like any other."""
    return [
        _ContractTool(
            name=name,
            description=offer.description,
            args_schema=offer.input_schema,
            box=toolbox,
            inside_graph=inside_graph,
        )
        for name, offer in toolbox.offers.items()
    ]
