"""What stands in for asyncio's event loop: an object with the loop's ordinary methods and none of its rights.

Standard library only.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from sandbox_image.language.guards import VIEWS

__all__ = ["OURS", "Loop", "view"]


class Loop:
    """An event loop, as a snippet may use it: no sockets, processes, signals, handlers."""

    __slots__ = ("_loop",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def run_until_complete(self, future: Any) -> Any:
        """Run to the end of a coroutine, task or promise; what is none is its own value."""
        if not hasattr(future, "__await__"):
            return future
        return self._loop.run_until_complete(future)

    def create_task(self, coro: Any, *, name: str | None = None) -> Any:
        """A task of this loop."""
        return self._loop.create_task(coro, name=name)

    def create_future(self) -> Any:
        """A future of this loop."""
        return self._loop.create_future()

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        """Run a function in a thread. Raises TypeError where the executor is no executor."""
        return self._loop.run_in_executor(executor, func, *args)

    def call_soon(self, callback: Callable[..., Any], *args: Any) -> Any:
        """Call a function in the next turn."""
        return self._loop.call_soon(callback, *args)

    def call_soon_threadsafe(self, callback: Callable[..., Any], *args: Any) -> Any:
        """Call a function in the next turn, from any thread."""
        return self._loop.call_soon_threadsafe(callback, *args)

    def call_later(self, delay: float, callback: Callable[..., Any], *args: Any) -> Any:
        """Call a function after `delay` seconds."""
        return self._loop.call_later(delay, callback, *args)

    def call_at(self, when: float, callback: Callable[..., Any], *args: Any) -> Any:
        """Call a function at a time of `time()`."""
        return self._loop.call_at(when, callback, *args)

    def time(self) -> float:
        """The loop's clock, in seconds."""
        return self._loop.time()

    def is_running(self) -> bool:
        """Whether it runs."""
        return self._loop.is_running()

    def is_closed(self) -> bool:
        """Whether it is closed."""
        return self._loop.is_closed()

    def close(self) -> None:
        """Close it."""
        self._loop.close()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loop) and other._loop is self._loop

    def __hash__(self) -> int:
        return hash(self._loop)


def view(loop: Any) -> Any:
    """A loop as the snippet may have it; anything else as it is."""
    return Loop(loop) if isinstance(loop, asyncio.AbstractEventLoop) else loop


def _real(loop: Any) -> Any:
    return loop._loop if type(loop) is Loop else loop


def _run(main: Any, *, debug: object = None) -> Any:
    """`asyncio.run`; a tool that was called outside a loop has given its value already, and is it."""
    return asyncio.run(main) if hasattr(main, "__await__") else main


def _running() -> Any:
    return view(asyncio.get_running_loop())


def _new() -> Any:
    return view(asyncio.new_event_loop())


def _set(loop: Any) -> None:
    asyncio.set_event_loop(_real(loop))


def _current() -> Any:
    running = asyncio._get_running_loop()
    if running is not None:
        return view(running)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return view(loop)


def _threadsafe(coro: Any, loop: Any) -> Any:
    return asyncio.run_coroutine_threadsafe(coro, _real(loop))


def _ensure(future: Any, *, loop: Any = None) -> Any:
    return asyncio.ensure_future(future, loop=_real(loop))


VIEWS.loop = view

OURS: Mapping[str, Mapping[str, Any]] = {
    "asyncio": {
        "get_running_loop": _running,
        "get_event_loop": _current,
        "new_event_loop": _new,
        "run": _run,
        "set_event_loop": _set,
        "run_coroutine_threadsafe": _threadsafe,
        "ensure_future": _ensure,
    },
}
