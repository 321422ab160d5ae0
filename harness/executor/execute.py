"""The executor: runs a tool's function for one call, within its deadline, and says what came of it.

The only place that runs tool code. It decides nothing about permission and writes nothing down.
"""

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Collection, Coroutine, Generator, Mapping
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any

from harness.core.call import Call, Json
from harness.core.clock import Clock, SystemClock
from harness.core.ports import Outcome
from harness.executor.attempt import Attempt, step
from harness.executor.reconcile import question
from harness.executor.results import Judged, Results
from harness.executor.retry import OnRetry, Repeats, repeat
from harness.executor.threads import DaemonPool, Job
from harness.registry.registry import Tool

__all__ = ["MAX_THREADS", "Deadline", "Executor"]

MAX_THREADS = 32
"""Blocking tools at once, over all runs: each holds a stack of a few hundred kB; more calls wait for a thread."""
GRACE_SECONDS = 0.25
"""How long a cancelled async tool may take to clean up before it is left to itself."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time limit of a call."""

    timeout_s: float
    """Seconds for one attempt, above 0: the lesser of the tool's own and what is left of the run's."""
    until: float = math.inf
    """Reading of the monotonic clock from which on no repeat starts: the end of the run's own time."""


class Executor:
    """Runs tools of one host. Lives on one loop; blocking tools go to threads that nothing ever waits for."""

    def __init__(self, threads: int = MAX_THREADS, clock: Clock | None = None, secrets: Collection[str] = ()) -> None:
        self._clock: Clock = clock or SystemClock()
        self._pool = DaemonPool(threads)
        self._secrets = tuple(secrets)
        self._results: dict[str, Results] = {}
        self._loose: dict[tuple[str, str], Callable[[], bool]] = {}
        self._orphans: set[asyncio.Task[Judged]] = set()

    def begin(self, tool: Tool, call: Call, limits: Deadline, on_retry: OnRetry) -> Outcome | Awaitable[Outcome]:
        """Run `tool` for `call`: the outcome at once for an `inline` tool, else something to await.

        Never raises for what the tool does. Cancelling the awaitable lets the tool go: see `may_still_run`.
        """
        results = self._results_of(tool)
        attempt = Attempt(call, tool.function, tool.is_async, tool.decode, results, limits.timeout_s)

        def repeats() -> Repeats:
            return Repeats(tool.contract.retry, limits.until, self._clock, on_retry, results)

        if not tool.contract.inline:
            return _Pending(lambda: self._follow(attempt, self._run(attempt), repeats()))
        context = copy_context()
        first = step(attempt.run_async(), context) if attempt.is_async else context.run(attempt.run_sync)
        if not isinstance(first, Judged):
            rest = first
            return _Pending(lambda: self._follow(attempt, self._in_task(attempt, rest, context), repeats()))
        judged = first
        return _Pending(lambda: self._repeat(attempt, judged, repeats())) if judged.retry else judged.outcome

    async def reconcile(self, tool: Tool, call: Call, limits: Deadline, *, ended: bool) -> Outcome:
        """Ask the tool what became of `call`: PROVE_DONE, PROVE_NOT_DONE, or LOSE where that is still not known.

        `ended`: whoever executed it is proven ended: its process is dead, or it was cancelled and obeyed.
        """
        proven = ended and not self.may_still_run(call)
        asked = question(tool, call, self._results_of(tool), limits.timeout_s, proven)
        return (asked if isinstance(asked, Judged) else await self._run(asked)).outcome

    def preview(self, tool: Tool, arguments: Mapping[str, Json]) -> str:
        """What the tool's preview says of a call; empty where it has none, or one that fails or says two things."""
        if tool.preview is None:
            return ""
        try:
            text = str(tool.preview(arguments))
            return text if text == str(tool.preview(arguments)) else ""
        except Exception:  # noqa: BLE001 - tool code: its canonical arguments are shown instead
            return ""

    def may_still_run(self, call: Call) -> bool:
        """Whether the tool of a call that was given up may still be at work: then nobody can say it did not happen."""
        running = self._loose.get((call.run, call.id))
        return running is not None and running()

    def close(self) -> None:
        """Let idle threads end. Tools that hang are left behind: their threads are daemons."""
        self._pool.close()

    def _results_of(self, tool: Tool) -> Results:
        results = self._results.get(tool.contract.name)
        if results is None or not results.of(tool):
            results = self._results[tool.contract.name] = Results(tool, self._secrets)
        return results

    # --- attempts ------------------------------------------------------------------------------------------

    async def _follow(self, attempt: Attempt, first: Awaitable[Judged], repeats: Repeats) -> Outcome:
        judged = await first
        return await self._repeat(attempt, judged, repeats) if judged.retry else judged.outcome

    async def _repeat(self, attempt: Attempt, first: Judged, repeats: Repeats) -> Outcome:
        return await repeat(first, lambda: self._run(attempt), repeats)

    def _run(self, attempt: Attempt) -> Awaitable[Judged]:
        if attempt.is_async:
            return self._in_task(attempt, attempt.run_async(), copy_context())
        return self._in_thread(attempt)

    async def _in_task(self, attempt: Attempt, running: Coroutine[Any, Any, Judged], context: Context) -> Judged:
        task = asyncio.get_running_loop().create_task(running, context=context)
        try:
            await asyncio.wait({task}, timeout=attempt.timeout_s)
            if task.done():
                return task.result()
            task.cancel()
            await asyncio.wait({task}, timeout=GRACE_SECONDS)
        finally:
            if not task.done():
                task.cancel()
                self._let_go(attempt, lambda: not task.done())
                self._orphans.add(task)  # the loop itself holds tasks only weakly
                task.add_done_callback(self._orphans.discard)
        return attempt.reading.late(attempt.timeout_s, settled=task.done())

    async def _in_thread(self, attempt: Attempt) -> Judged:
        loop = asyncio.get_running_loop()
        ending: asyncio.Future[Judged] = loop.create_future()
        job = Job(_thread_body(attempt, loop, ending))

        def expire() -> None:
            if job.withdraw():
                why = f"no thread was free within {attempt.timeout_s:g} seconds"
                _set(ending, attempt.reading.not_started(why))
            elif not ending.done():
                self._let_go(attempt, lambda: not job.finished)
                ending.set_result(attempt.reading.late(attempt.timeout_s, settled=False))

        timer = loop.call_later(attempt.timeout_s, expire)
        self._pool.submit(job)
        try:
            return await ending
        finally:
            timer.cancel()
            if (not ending.done() or ending.cancelled()) and not job.withdraw():
                self._let_go(attempt, lambda: not job.finished)

    def _let_go(self, attempt: Attempt, running: Callable[[], bool]) -> None:
        for place in [place for place, still in self._loose.items() if not still()]:
            del self._loose[place]
        self._loose[attempt.call.run, attempt.call.id] = running


class _Pending:
    """Starts when it is awaited, once; a call that is cancelled before that has not started."""

    __slots__ = ("_start",)

    def __init__(self, start: Callable[[], Coroutine[Any, Any, Outcome]]) -> None:
        self._start: Callable[[], Coroutine[Any, Any, Outcome]] | None = start

    def __await__(self) -> Generator[Any, None, Outcome]:
        start, self._start = self._start, None
        if start is None:
            raise RuntimeError("a call is executed once")
        return start().__await__()


def _thread_body(
    attempt: Attempt, loop: asyncio.AbstractEventLoop, ending: "asyncio.Future[Judged]"
) -> Callable[[], None]:
    context = copy_context()

    def body() -> None:
        judged = context.run(attempt.run_sync)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_set, ending, judged)

    return body


def _set(ending: "asyncio.Future[Judged]", judged: Judged) -> None:
    if not ending.done():
        ending.set_result(judged)
