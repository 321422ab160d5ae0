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
from harness.front.cli.resume import resume_run
from harness.front.cli.run import Submission, execute
from harness.front.mcp import runs
from harness.front.mcp.offers import Offer
from harness.front.selftest import entries
from harness.front.selftest.entries import run_in_python
from harness.front.selftest.resuming import left_behind, resumed_by
from harness.front.selftest.taking import Entry, taken
from harness.report import RunResult

__all__ = ["ENTRIES"]

WAIT_SECONDS = 60.0
"""For the end of a resumed run: a canary takes some ms, a cold box under gVisor a second."""


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
    try:
        result = await execute(await _command(harness), Submission(contract, snippet, {}))
    except SnippetRefused:
        return ""
    return taken(result)


async def _command(harness: Harness) -> Harness:
    """A harness of one command, which closes it."""
    return Harness(harness.registry, folder=harness.folder, host=harness.host, backend=(await harness.parts()).backend)


async def _resume(harness: Harness, run: str) -> RunResult:
    """`harness resume`."""
    return await resume_run(await _command(harness), run, force=False)


async def _mcp(harness: Harness, contract: dict[str, Any], snippet: str) -> str:
    """A contract that an MCP server offers as a tool."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "contract.json")
        path.write_text(json.dumps(contract), "utf-8")
        offer = Offer("run_selftest", path, harness.effective(contract), "", {}, {})
        answer = await runs.Runs(harness, "resume").submit(offer, runs.Submission(snippet), _silent)
    return _told(answer)


async def _mcp_resume(harness: Harness, contract: dict[str, Any], snippet: str) -> str:
    """The tool of that server which goes on with a run."""
    run = await left_behind(harness, contract, snippet)
    return _told(await runs.Runs(harness, "resume").resume(run, WAIT_SECONDS, _silent))


def _told(answer: Mapping[str, Any]) -> str:
    if answer["reason"] == ReasonCode.ENVIRONMENT_UNAVAILABLE.value:
        raise EnvironmentUnavailable(str(answer["detail"]))
    return "" if answer["result"] is None else f"the server gave back {answer['result']}"


async def _silent(_: float, __: str) -> None:
    """Hears no progress."""


ENTRIES: Mapping[str, Entry] = MappingProxyType(
    {
        "command-check": _command_check,
        "command-run": _command_run,
        "command-resume": resumed_by(_resume),
        "command-mcp": _mcp,
        "command-mcp-resume": _mcp_resume,
        **entries.ENTRIES,
    }
)
"""All of them. `harness demo` is `harness run`."""
