"""What a model is told about snippets: one text for every client. Each example in it is run by a test."""

__all__ = ["INSTRUCTIONS", "run_description"]

INSTRUCTIONS = """\
You hand over one Python snippet. It runs in an isolated box that holds Python and the contract's tools, and nothing
else: no network, no files, no packages but those that the contract lists.

The snippet is a module that may `return` at its top. What it returns is its result; what it prints is only shown:

```python
numbers = [3, 1, 2]
print("sorting", len(numbers))
return {"smallest": min(numbers), "sorted": sorted(numbers)}
```

`inputs` holds the caller's inputs, `previous` the results of earlier iterations of the same run, `budget` what is left:

```python
name = inputs.get("name", "nobody")
return {"greeting": f"hello {name}", "seen_before": len(previous), "calls_left": budget["calls"] is not None}
```

Tools are functions: `from tools import NAME`. Call them with or without `await`, in loops, in `asyncio.gather`, or for
many rows at once with `NAME.map(rows)`. A failed call raises: `ToolDenied` (nothing happened; read its `hint`),
`ToolFailed`, `OutcomeUnknown` (it may have happened: do not repeat it), `ApprovalRejected`, `PartialResult`.
Catch what you can handle and let the rest out:

```python
from tools import ToolError

try:
    value = 10 // 0
except ZeroDivisionError:
    value = None
return {"value": value, "tool_errors_are_exceptions": issubclass(ToolError, Exception)}
```

Every run starts from nothing: no variable of an earlier snippet is there. When a snippet fails, mend it and send the
whole of it again under the same run: calls that were made are not made twice.
"""
"""The whole text; `tests/front_mcp/test_instructions.py` runs its examples in a box."""


def run_description(goal: str, tools: str) -> str:
    """The description of one contract's tool: its goal, how to write for it, and its tools one a line."""
    listed = f"Tools:\n{tools}" if tools.strip() else "It lists no tools: only Python itself."
    return f"{goal.strip() or 'Run a snippet under a contract.'}\n\n{INSTRUCTIONS}\n{listed}\n"
