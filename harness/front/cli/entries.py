"""The ways by which the command line hands a snippet over, for the canaries of the selftest."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from harness.api import Harness
from harness.core.ending import ReasonCode
from harness.core.errors import EnvironmentUnavailable, SnippetRefused
from harness.front.cli.check import find_faults
from harness.front.cli.run import Submission, execute
from harness.front.mcp import runs
from harness.front.mcp.offers import Offer
from harness.front.selftest import entries
from harness.front.selftest.entries import Entry, run_in_python, taken

__all__ = ["ENTRIES"]


async def _command_check(harness: Harness, contract: dict[str, Any], snippet: str) -> str:
    """`harness check`, which executes nothing; what passes it must still fail when it is run."""
    with tempfile.TemporaryDirectory() as folder:
        path, host = Path(folder, "contract.json"), Path(folder, "harness.yaml")
        path.write_text(json.dumps({**contract, "permissions": {"tools": []}}), "utf-8")
        host.write_text("{}\n", "utf-8")
        usual = find_faults(path, "return {}", host, None)
        if find_faults(path, snippet, host, None) != usual:
            return ""
    return await run_in_python(harness, contract, snippet)


async def _command_run(harness: Harness, contract: dict[str, Any], snippet: str) -> str:
    """`harness run`, from where it has read its files."""
    command = Harness(harness.registry, folder=harness.folder, backend=(await harness.parts()).backend)
    try:
        result = await execute(command, Submission(contract, snippet, {}))
    except SnippetRefused:
        return ""
    return taken(result)


async def _mcp(harness: Harness, contract: dict[str, Any], snippet: str) -> str:
    """A contract that an MCP server offers as a tool."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "contract.json")
        path.write_text(json.dumps(contract), "utf-8")
        offer = Offer("run_selftest", path, harness.effective(contract), "", {}, {})
        answer = await runs.Runs(harness, "resume").submit(offer, runs.Submission(snippet), _silent)
    if answer["reason"] == ReasonCode.ENVIRONMENT_UNAVAILABLE.value:
        raise EnvironmentUnavailable(str(answer["detail"]))
    return "" if answer["result"] is None else f"the server gave back {answer['result']}"


async def _silent(_: float, __: str) -> None:
    """Hears no progress."""


ENTRIES: Mapping[str, Entry] = MappingProxyType(
    {"command-check": _command_check, "command-run": _command_run, "command-mcp": _mcp, **entries.ENTRIES}
)
"""All of them. `harness demo` is `harness run`."""
