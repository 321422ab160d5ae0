"""Every public way by which a snippet reaches a box passes the canaries; a new one must be named here."""

import asyncio
import inspect
from pathlib import Path

import pytest

from harness.api import Harness, Session
from harness.front.cli.entries import ENTRIES
from harness.front.cli.main import COMMANDS
from harness.front.mcp.runs import Runs
from harness.sandbox.bubblewrap import BubblewrapBackend
from tests.e2e.host import Host, contract

NONE = ""
"""It hands no snippet to a box."""
COMMAND_WAYS = {
    "run": "command-run",
    "demo": "command-run",
    "check": "command-check",
    "resume": "command-resume",
    "mcp": "command-mcp",
    **dict.fromkeys(("init", "cancel", "runs", "approvals", "contract", "tools", "audit", "image", "policy"), NONE),
    **dict.fromkeys(("selftest", "doctor"), NONE),
}
PYTHON_WAYS = {
    "Harness.run": "python-run",
    "Harness.run_sync": "python-run",
    "Harness.session": "python-session",
    "Harness.loop": "python-loop",
    "Harness.loop_sync": "python-loop",
    "Harness.cancel": NONE,
    **dict.fromkeys(("Harness.resume", "Harness.reopen", "Harness.resume_decided"), "python-resume"),
    "Session.check": "python-session-check",
    "Session.run": "python-session",
    "Session.loop": "python-loop",
    "Session.finish": NONE,
    "Session.__aenter__": "python-retry",
}
MCP_WAYS = {
    "submit": "command-mcp",
    "check": "command-mcp",
    "resume": "command-mcp-resume",
    **dict.fromkeys(("result", "cancel", "close"), NONE),
}
TAKES = {"snippet", "propose"}
GIVES = ("RunResult", "Observation", "Session", "Corridor", "Self")


def ways_in(kind: type) -> set[str]:
    """Public methods that take a snippet, or who makes them, or give back what came of one."""
    found = set()
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        if name.startswith("_") and name != "__aenter__":
            continue
        signature = inspect.signature(method)
        gives = str(signature.return_annotation)
        if TAKES & {*signature.parameters} or any(word in gives for word in GIVES):
            found.add(f"{kind.__name__}.{name}")
    return found - {"Harness.__aenter__"}


def test_every_command_says_how_it_takes_a_snippet() -> None:
    """A20: a new command is tried with the canaries, or hands no snippet over."""
    assert set(COMMAND_WAYS) == set(COMMANDS)


def test_every_python_way_in_is_named() -> None:
    """A20: the methods are found by what they take and give."""
    assert ways_in(Harness) | ways_in(Session) == set(PYTHON_WAYS)


def test_every_way_in_over_mcp_is_named() -> None:
    """A20: what a client of the server can set off."""
    assert {name for name, _ in inspect.getmembers(Runs, inspect.isfunction) if name[0] != "_"} == set(MCP_WAYS)


def test_the_selftest_tries_just_the_ways_that_there_are() -> None:
    """A20: no way in without canaries, no canaries through a way that nobody has."""
    ways = {*COMMAND_WAYS.values(), *PYTHON_WAYS.values(), *MCP_WAYS.values()} - {NONE}
    assert ways == set(ENTRIES)


@pytest.mark.bubblewrap
@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_that_refused_nothing_would_show(entry: str, tmp_path: Path) -> None:
    """A19: each way in takes an honest snippet, so that a canary which got through would be seen."""

    async def body() -> str:
        backend = BubblewrapBackend()
        host = Host.at(tmp_path, backend)
        try:
            async with host.harness() as harness:
                return await ENTRIES[entry](harness, contract(language="restricted"), "return {'out': 'through'}")
        finally:
            await backend.close()

    assert asyncio.run(body()) != ""
