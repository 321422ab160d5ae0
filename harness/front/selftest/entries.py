"""The language canaries, and every way by which a snippet enters: each must refuse each of them.

A new way of handing over a snippet is a line in ENTRIES; a test compares them with the commands.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from harness.api import Harness
from harness.core.ending import ReasonCode
from harness.core.errors import EnvironmentUnavailable, SnippetRefused
from harness.front.selftest import resuming
from harness.front.selftest.taking import Entry, taken

__all__ = ["CANARIES", "ENTRIES", "run_in_python"]

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


async def run_in_python(harness: Harness, contract: dict[str, Any], snippet: str) -> str:
    """`Harness.run`."""
    try:
        result = await harness.run(contract, snippet)
    except SnippetRefused:
        return ""
    return taken(result)


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


async def _loop(harness: Harness, contract: dict[str, Any], snippet: str) -> str:
    """An agent's loop: the refusal is an observation, and the agent has nothing else to say."""
    proposals = [snippet]
    result = await harness.loop(contract, lambda _: proposals.pop() if proposals else None)
    if result.reason is ReasonCode.ENVIRONMENT_UNAVAILABLE:
        raise EnvironmentUnavailable(result.ending.detail)
    return "" if result.result is None else f"the loop gave back {result.result}"


ENTRIES: Mapping[str, Entry] = MappingProxyType(
    {
        "python-run": run_in_python,
        "python-session": _session,
        "python-loop": _loop,
        "python-session-check": _session_check,
        **resuming.ENTRIES,
    }
)
"""Name → way in from Python; `run_sync` is `run`. Those of the command line are in `harness.front.cli.entries`."""
