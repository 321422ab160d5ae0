"""The runs behind the server's tools: begun, waited for within bounds, gone on with, cancelled in order."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.api import Harness
from harness.core.call import Json
from harness.core.errors import HarnessError, Refused, StoreError, StoreUnavailable
from harness.front.mcp.answers import ended, observed, refused, running
from harness.front.mcp.offers import Offer
from harness.language.check import check as check_language
from harness.run.observation import Observation
from harness.run.session import Session
from harness.run.stored import stored_result

__all__ = ["Runs", "Submission", "Tell"]

Tell = Callable[[float, str], Awaitable[None]]
"""Progress: seconds so far, and a word."""
TELL_SECONDS = 1.0
"""Between two notes of progress."""
OPEN_SECONDS = 900.0
"""An open run that nobody goes on with is cancelled: it holds its place in the budget of the host."""
MAX_OPEN = 100
"""Open runs of one principal."""


@dataclass(frozen=True, slots=True)
class Submission:
    """One snippet as a client sends it."""

    snippet: str
    inputs: Mapping[str, Json] = field(default_factory=dict)
    key: str = ""
    run: str = ""
    """An open run to go on with; empty for a new one."""
    finish: bool = True
    wait_s: float = 45.0


@dataclass(slots=True, eq=False)
class _Active:
    session: Session
    tool: str
    task: "asyncio.Task[dict[str, Any]]"
    used_at: float = 0.0
    open: bool = False


class Runs:
    """The runs of one principal."""

    def __init__(self, harness: Harness, resume: str) -> None:
        self.harness = harness
        self._resume = resume
        self._active: dict[str, _Active] = {}
        self._resuming: dict[str, asyncio.Task[dict[str, Any]]] = {}
        self._cancels: dict[object, Callable[[str], None]] = {}
        """How to cancel what is being opened or gone on with, by whatever stands for it."""

    async def submit(self, offer: Offer, said: Submission, tell: Tell) -> dict[str, Any]:
        """Run a snippet, and wait for its end as long as was said. Never raises for what is wrong with it."""
        try:
            self._check(offer, said.snippet)
            active = self._opened(said.run) if said.run else await self._begin(offer, said)
        except HarnessError as error:
            return refused(error)
        active.open, active.used_at = False, time.monotonic()
        active.task = asyncio.create_task(self._drive(active, said))
        try:
            return await self._wait(active.session.id, active.task, said.wait_s, tell)
        except asyncio.CancelledError:
            active.session.cancel("the client cancelled the request")
            raise

    async def resume(self, run: str, wait_s: float, tell: Tell) -> dict[str, Any]:
        """What became of a run; goes on with it where its decisions have come."""
        active = self._active.get(run)
        if active is not None:
            return await self._wait(run, active.task, wait_s, tell)
        try:
            row = self.harness.recorded(run)
            if row.principal != self.harness.principal.name:
                raise StoreError(f"there is no run `{run}`")
        except StoreUnavailable as error:
            return refused(error)
        except StoreError as error:
            return refused(error, hint="name a run that an answer gave you")
        if row.status == "ended":
            return ended(stored_result(row.ending), self._resume)
        if run not in self._resuming:
            self._resuming[run] = asyncio.create_task(self._go_on(run))
        return await self._wait(run, self._resuming[run], wait_s, tell)

    def result(self, run: str) -> Json:
        """The accepted result of a run of this principal. Raises StoreError where there is none."""
        row = self.harness.recorded(run)
        if row.principal != self.harness.principal.name or row.status != "ended":
            raise StoreError(f"there is no result of a run `{run}`")
        return stored_result(row.ending).result

    def check(self, offer: Offer, snippet: str) -> dict[str, Any]:
        """Every fault of a snippet under a contract; nothing runs."""
        try:
            self._check(offer, snippet)
        except Refused as error:
            return {"ok": False, "faults": [str(fault) for fault in error.faults]}
        return {"ok": True, "faults": []}

    def cancel(self, why: str) -> None:
        """Cancel what runs, in order: each ends by itself in a moment."""
        for cancel in [*(active.session.cancel for active in self._active.values()), *self._cancels.values()]:
            cancel(why)

    async def close(self) -> None:
        """Cancel what still runs, in order, and wait for the records."""
        self.cancel("the server ends")
        tasks = [each.task for each in self._active.values()] + list(self._resuming.values())
        await asyncio.gather(*tasks, return_exceptions=True)
        for active in list(self._active.values()):
            await self._leave(active)
        await self.harness.close()

    # --- inside --------------------------------------------------------------------------------------------

    def _check(self, offer: Offer, snippet: str) -> None:
        """Raises SnippetRefused before a run exists, so that a slip of the pen costs nothing."""
        tools = frozenset(grant.tool for grant in offer.effective.contract.permissions.tools)
        check_language(snippet, language=offer.effective.language, imports=offer.effective.imports, tools=tools)

    async def _begin(self, offer: Offer, said: Submission) -> _Active:
        await self._sweep()
        if len(self._active) >= MAX_OPEN:
            raise StoreError(f"{MAX_OPEN} runs are open", hint="finish one of them")
        alone = said.snippet if said.finish else ""
        session = self.harness.session(offer.path, dict(said.inputs), key=said.key, snippet=alone)
        self._cancels[session] = session.cancel
        try:
            await session.__aenter__()
        finally:
            del self._cancels[session]
        known = self._active.get(session.id)
        if known is not None:
            return known  # the same key while its run is alive: the same run
        active = _Active(session, offer.name, asyncio.create_task(_nothing()))
        self._active[session.id] = active
        return active

    def _opened(self, run: str) -> _Active:
        active = self._active.get(run)
        if active is None or not active.open:
            raise StoreError(f"no run `{run}` is open", hint="leave out `run` to begin a new one")
        return active

    async def _drive(self, active: _Active, said: Submission) -> dict[str, Any]:
        session = active.session
        try:
            observation: Observation | None = None
            if not session.is_retry or said.run:
                observation = await session.run(said.snippet)
            if observation is not None and observation.ending is None and not said.finish:
                active.open, active.used_at = True, time.monotonic()
                return observed(session.id, observation, active.tool)
            answer = ended(await session.finish(), self._resume)
        except HarnessError as error:
            answer = refused(error)
        try:
            await self._leave(active)
        except StoreUnavailable as error:  # its record cannot be closed either: it is left as by a killed host
            answer = refused(error)
        return answer

    async def _leave(self, active: _Active) -> None:
        self._active.pop(active.session.id, None)
        await active.session.__aexit__(None, None, None)

    async def _go_on(self, run: str) -> dict[str, Any]:
        try:
            corridor = await self.harness.reopen(run)
            self._cancels[run] = corridor.cancel
            await corridor.resume()
            return ended(await corridor.finish(), self._resume)
        except StoreUnavailable as error:
            return refused(error)
        except StoreError as error:
            row = self.harness.recorded(run)
            if row.ending:
                return ended(stored_result(row.ending), self._resume)
            return {**running(run, self._resume), "detail": error.message}
        except HarnessError as error:
            return refused(error)
        finally:
            self._cancels.pop(run, None)
            self._resuming.pop(run, None)

    async def _wait(self, run: str, task: "asyncio.Task[dict[str, Any]]", wait_s: float, tell: Tell) -> dict[str, Any]:
        begun = time.monotonic()
        until = begun + (wait_s if math.isfinite(wait_s) else 0.0)
        while not task.done():
            left = until - time.monotonic()
            if left <= 0:
                return running(run, self._resume)
            await asyncio.wait({task}, timeout=min(left, TELL_SECONDS))
            if not task.done():
                await tell(time.monotonic() - begun, f"run {run} is at work")
        return task.result()

    async def _sweep(self) -> None:
        limit = time.monotonic() - OPEN_SECONDS
        for active in [each for each in self._active.values() if each.open and each.used_at < limit]:
            active.session.cancel("nobody went on with it")
            await active.session.finish()
            await self._leave(active)


async def _nothing() -> dict[str, Any]:
    return {}
