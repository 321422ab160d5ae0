"""The language canaries, and every way by which a snippet enters: each must refuse each of them.

A new way of handing over a snippet is a line in ENTRIES; a test compares them with the commands.
"""

import json
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from harness.api import Harness
from harness.core.ending import ReasonCode
from harness.core.errors import EnvironmentUnavailable, SnippetRefused
from harness.front.cli.check import find_faults
from harness.front.cli.run import Submission, execute
from harness.report import RunResult

__all__ = ["CANARIES", "ENTRIES", "Entry"]

CANARIES: Mapping[str, str] = MappingProxyType(
    {
        "import-os": "import os\nreturn {'out': os.getcwd()}",
        "import-ctypes": "import ctypes\nreturn {'out': str(ctypes.CDLL(None))}",
        "class-tree": "return {'out': str(().__class__.__base__.__subclasses__())}",
        "computed-name": "return {'out': str(getattr((), '__cl' + 'ass__'))}",
        "format-path": "return {'out': '{0.__class__.__mro__}'.format(1)}",
        "module-in-module": "import json\nreturn {'out': str(json.codecs.builtins)}",
        "builtins-of-module": "import datetime\nreturn {'out': str(datetime.__builtins__['exec'])}",
        "frame": "def f():\n    yield\nreturn {'out': str(f().gi_frame.f_globals)}",
    }
)
"""Programs of the kind that broke other systems (A02, A03, A04, A10, A11, A12, A18)."""

Entry = Callable[[Harness, dict[str, Any], str], Awaitable[str]]
"""Hands a snippet over; nothing where it was refused or failed, else what came of it."""


async def _python(harness: Harness, contract: dict[str, Any], snippet: str) -> str:
    try:
        result = await harness.run(contract, snippet)
    except SnippetRefused:
        return ""
    return _taken(result)


def _taken(result: RunResult) -> str:
    """Raises EnvironmentUnavailable where there was no box to try it in."""
    if result.reason is ReasonCode.ENVIRONMENT_UNAVAILABLE:
        raise EnvironmentUnavailable(result.ending.detail)
    return "" if result.reason is ReasonCode.SNIPPET_FAILED else f"the run ended as {result.reason.value}"


async def _session(harness: Harness, contract: dict[str, Any], snippet: str) -> str:
    async with harness.session(contract) as session:
        try:
            seen = await session.run(snippet)
        except SnippetRefused:
            return ""
        if seen.ending is not None and seen.ending.reason is ReasonCode.ENVIRONMENT_UNAVAILABLE:
            raise EnvironmentUnavailable(seen.ending.detail)
        failed = seen.iteration is not None and seen.iteration.failure is not None
        return "" if failed else "the session took it"


async def _session_check(harness: Harness, contract: dict[str, Any], snippet: str) -> str:
    """The check alone: what only running can show is tried by the session."""
    async with harness.session(contract) as session:
        try:
            session.check(snippet)
        except SnippetRefused:
            return ""
    return await _session(harness, contract, snippet)


async def _command_check(harness: Harness, contract: dict[str, Any], snippet: str) -> str:
    """`harness check`, which executes nothing; what passes it must still fail when it is run."""
    with tempfile.TemporaryDirectory() as folder:
        path, host = Path(folder, "contract.json"), Path(folder, "harness.yaml")
        path.write_text(json.dumps({**contract, "permissions": {"tools": []}}), "utf-8")
        host.write_text("{}\n", "utf-8")
        usual = find_faults(path, "return {}", host, None)
        if find_faults(path, snippet, host, None) != usual:
            return ""
    return await _python(harness, contract, snippet)


async def _command_run(harness: Harness, contract: dict[str, Any], snippet: str) -> str:
    """`harness run`, from where it has read its files."""
    command = Harness(harness.registry, folder=harness.folder, backend=(await harness.parts()).backend)
    try:
        result = await execute(command, Submission(contract, snippet, {}))
    except SnippetRefused:
        return ""
    return _taken(result)


ENTRIES: Mapping[str, Entry] = MappingProxyType(
    {
        "command-check": _command_check,
        "command-run": _command_run,
        "python-run": _python,
        "python-session": _session,
        "python-session-check": _session_check,
    }
)
"""Name → way in. `harness demo` is `harness run`; `run_sync` is `run`."""
