"""One call to a tool outside of any run: what a snippet would get of it. For people who set a surface up."""

from typing import Any

from harness.contract.schema import compile_schema
from harness.core.call import Json
from harness.registry.registry import Tool
from harness.registry.values import ResultShape
from harness.toolsets.errors import SOURCE_ERRORS

__all__ = ["try_tool"]


async def try_tool(tool: Tool, arguments: dict[str, Json]) -> dict[str, Any]:
    """`{ok, result}` or `{ok, error, …}`. What the tool raises beside its declared errors goes through."""
    known: tuple[type[BaseException], ...] = (*SOURCE_ERRORS, *(kind for kind, _ in tool.error_types), ResultShape)
    faults = compile_schema(tool.contract.input_schema).faults(arguments)
    if faults:
        return {"ok": False, "error": "ArgumentsRefused", "faults": [f"{each.path}: {each.message}" for each in faults]}
    try:
        value: Any = tool.function(**tool.decode(arguments))
        result = tool.encode(await value if tool.is_async else value)
    except known as error:
        tail = getattr(error, "tail", "")
        said = {"ok": False, "error": type(error).__name__, "message": str(error)}
        return {**said, "hint": getattr(error, "hint", ""), "stderr": tail} if tail else said
    if tool.contract.output_schema is not None and (
        broken := compile_schema(tool.contract.output_schema).faults(result)
    ):
        lines = [f"{each.path}: {each.message}" for each in broken]
        return {"ok": False, "error": "InvalidResult", "faults": lines, "result": result}
    return {"ok": True, "result": result}
