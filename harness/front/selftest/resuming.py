"""The ways by which a snippet comes back out of the store: it is checked again, whoever wrote it there."""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from harness.api import Harness
from harness.core.errors import SnippetRefused
from harness.front.selftest.taking import Entry, taken
from harness.report import RunResult
from harness.run.opening import new_row

__all__ = ["ENTRIES", "left_behind", "resumed_by"]


async def left_behind(harness: Harness, contract: dict[str, Any], snippet: str, key: str = "") -> str:
    """The id of a run that its host wrote down, unchecked, and died; as the store has it."""
    parts, terms = await harness.parts(), harness.terms(contract)
    key = key or secrets.token_hex(8)
    row = new_row(parts, terms, caller_key=key, snippet=snippet, now=parts.clock.now())
    return parts.store.create_run(replace(row, owner=""), []).id


def resumed_by(resume: Callable[[Harness, str], Awaitable[RunResult]]) -> Entry:
    """The way in through one way of resuming."""

    async def entry(harness: Harness, contract: dict[str, Any], snippet: str) -> str:
        run = await left_behind(harness, contract, snippet)
        try:
            return taken(await resume(harness, run))
        except SnippetRefused:
            return ""

    return entry


async def _retry(harness: Harness, contract: dict[str, Any], snippet: str) -> str:
    """A second submission with the key of the first, which goes on with the first one's snippet."""
    key = secrets.token_hex(8)
    await left_behind(harness, contract, snippet, key)
    try:
        return taken(await harness.run(contract, snippet, key=key))
    except SnippetRefused:
        return ""


ENTRIES: Mapping[str, Entry] = MappingProxyType({"python-resume": resumed_by(Harness.resume), "python-retry": _retry})
"""Name → way back in. `resume_decided` and the command resume through `reopen` too."""
