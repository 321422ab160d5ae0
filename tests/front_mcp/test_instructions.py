"""C28: every example that a model is handed is run in a box, and does what the text says."""

import asyncio
import re
from pathlib import Path

import pytest

from harness.api import Harness
from harness.front.instructions import INSTRUCTIONS, run_description
from tests.front_mcp.making import write_host

EXAMPLES = re.findall(r"```python\n(.*?)```", INSTRUCTIONS, re.DOTALL)
RESULTS = [
    {"smallest": 1, "sorted": [1, 2, 3]},
    {"greeting": "hello nobody", "seen_before": 0, "calls_left": True},
    {"value": None, "tool_errors_are_exceptions": True},
]


@pytest.mark.bubblewrap
def test_every_example_runs(tmp_path: Path) -> None:
    """Each gives the result that is written here; none is missing."""
    assert len(EXAMPLES) == len(RESULTS)

    async def whole() -> list[object]:
        folder = write_host(tmp_path)
        async with Harness.from_file(folder / "harness.yaml", backend="bubblewrap") as harness:
            results = [await harness.run(folder / "free.yaml", example) for example in EXAMPLES]
            return [each.result if each.exit_code == 0 else each.to_json() for each in results]

    assert asyncio.run(whole()) == RESULTS


def test_a_description_names_goal_and_tools() -> None:
    """One text for every client."""
    text = run_description("repair a record", "read(x: int) -> int")
    assert text.startswith("repair a record\n\nYou hand over one Python snippet.")
    assert text.endswith("Tools:\nread(x: int) -> int\n")
    assert run_description("", "").endswith("It lists no tools: only Python itself.\n")
