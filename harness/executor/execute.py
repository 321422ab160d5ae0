"""The executor: runs a tool's function for one call, within its deadline, and says what came of it.

The only place that runs tool code. It decides nothing about permission and writes nothing down.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Collection, Coroutine, Generator
from contextvars import copy_context
from dataclasses import dataclass
from types import coroutine
from typing import Any

from harness.core.call import Call
from harness.core.clock import Clock, SystemClock
from harness.core.ports import Outcome
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
    """The time limit of one call, repeats and the waits between them included."""

    timeout_s: float
    """Seconds, above 0: the lesser of the tool's own and what is left of the run's."""


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
        repeats = Repeats(
            tool.contract.retry, self._clock.monotonic() + limits.timeout_s, self._clock, on_retry, results
        )
        work = _Work(tool, call, results, limits.timeout_s, repeats)
        if not tool.contract.inline:
            return _Pending(lambda: self._follow(work, self._attempt(work)))
        first = self._at_once(work)
        if isinstance(first, Judged):
            return _Pending(lambda: self._repeat(work, first)) if first.retry else first.outcome
        return _Pending(lambda: self._follow(work, first))

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

    async def _follow(self, work: "_Work", first: Awaitable[Judged]) -> Outcome:
        judged = await first
        return await self._repeat(work, judged) if judged.retry else judged.outcome

    async def _repeat(self, work: "_Work", first: Judged) -> Outcome:
        return await repeat(first, lambda: self._attempt(work), work.repeats)

    def _attempt(self, work: "_Work") -> Awaitable[Judged]:
        return self._in_task(work, work.run_async()) if work.tool.is_async else self._in_thread(work)

    def _at_once(self, work: "_Work") -> Judged | Awaitable[Judged]:
        """Run on the loop itself. An async tool that does wait after all goes on as a task."""
        if not work.tool.is_async:
            return work.run_sync()
        running = work.run_async()
        try:
            first = running.send(None)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        return self._in_task(work, _continued(running, first))

    async def _in_task(self, work: "_Work", running: Coroutine[Any, Any, Judged]) -> Judged:
        task = asyncio.get_running_loop().create_task(running)
        try:
            await asyncio.wait({task}, timeout=self._left(work))
            if task.done():
                return task.result()
            task.cancel()
            await asyncio.wait({task}, timeout=GRACE_SECONDS)
        finally:
            if not task.done():
                task.cancel()
                self._let_go(work, lambda: not task.done())
                self._orphans.add(task)  # the loop itself holds tasks only weakly
                task.add_done_callback(self._orphans.discard)
        return work.results.late(work.timeout_s, settled=task.done())

    async def _in_thread(self, work: "_Work") -> Judged:
        loop = asyncio.get_running_loop()
        ending: asyncio.Future[Judged] = loop.create_future()
        job = Job(_thread_body(work, loop, ending))

        def expire() -> None:
            if job.withdraw():
                _set(ending, work.results.not_started(f"no thread was free within {work.timeout_s:g} seconds"))
            elif not ending.done():
                self._let_go(work, lambda: not job.finished)
                ending.set_result(work.results.late(work.timeout_s, settled=False))

        timer = loop.call_later(self._left(work), expire)
        self._pool.submit(job)
        try:
            return await ending
        finally:
            timer.cancel()
            if not ending.done() and not job.withdraw():
                self._let_go(work, lambda: not job.finished)

    def _left(self, work: "_Work") -> float:
        return max(work.repeats.until - self._clock.monotonic(), 0.0)

    def _let_go(self, work: "_Work", running: Callable[[], bool]) -> None:
        for place in [place for place, still in self._loose.items() if not still()]:
            del self._loose[place]
        self._loose[work.call.run, work.call.id] = running


class _Pending:
    """Starts when it is awaited, once; a call that is cancelled before that has not started."""

    __slots__ = ("_start",)

    def __init__(self, start: Callable[[], Coroutine[Any, Any, Outcome]]) -> None:
        self._start = start

    def __await__(self) -> Generator[Any, None, Outcome]:
        return self._start().__await__()


@dataclass(frozen=True, slots=True)
class _Work:
    """One call of one tool; each run is one attempt, and none of them raises."""

    tool: Tool
    call: Call
    results: Results
    timeout_s: float
    repeats: Repeats

    def run_sync(self) -> Judged:
        try:
            arguments = self.tool.decode(dict(self.call.arguments))
        except Exception as error:  # noqa: BLE001 - types of the tool, with code of their own
            return self.results.bad_arguments(error)
        try:
            value = self.tool.function(**arguments)
        except BaseException as error:
            return self._raised(error)
        return self.results.returned(value, self.call)

    async def run_async(self) -> Judged:
        try:
            arguments = self.tool.decode(dict(self.call.arguments))
        except Exception as error:  # noqa: BLE001 - types of the tool, with code of their own
            return self.results.bad_arguments(error)
        try:
            value = await self.tool.function(**arguments)
        except BaseException as error:
            return self._raised(error)
        return self.results.returned(value, self.call)

    def _raised(self, error: BaseException) -> Judged:
        if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise error  # a person's Ctrl-C, not the tool's
        return self.results.raised(error)


def _thread_body(work: _Work, loop: asyncio.AbstractEventLoop, ending: "asyncio.Future[Judged]") -> Callable[[], None]:
    context = copy_context()

    def body() -> None:
        judged = context.run(work.run_sync)
        try:
            loop.call_soon_threadsafe(_set, ending, judged)
        except RuntimeError:
            pass  # the loop is closed: nobody waits any more

    return body


def _set(ending: "asyncio.Future[Judged]", judged: Judged) -> None:
    if not ending.done():
        ending.set_result(judged)


@coroutine
def _rest(running: Coroutine[Any, Any, Judged], waits_for: object) -> Generator[object, Any, Judged]:
    """The rest of a coroutine whose first step was taken outside a task."""
    while True:
        try:
            sent = yield waits_for
        except BaseException as error:
            step: Callable[[], object] = lambda error=error: running.throw(error)  # type: ignore[misc]
        else:
            step = lambda sent=sent: running.send(sent)  # type: ignore[misc]
        try:
            waits_for = step()
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]


async def _continued(running: Coroutine[Any, Any, Judged], waits_for: object) -> Judged:
    return await _rest(running, waits_for)
