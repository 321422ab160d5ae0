"""Paths: the name of every task and thread of a snippet, by the order in which they were made.

`0` is the snippet itself, `0.2` the second task or thread that it makes. A replay finds calls by these names, so they
depend on nothing but what the snippet does.
"""

import asyncio
import concurrent.futures
import contextvars
import functools
import hashlib
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

__all__ = ["MAIN", "child_path", "current_path", "enter_path", "name_threads"]

T = TypeVar("T")

MAIN = "0"
LONGEST = 200
"""Characters of a path; the host takes 256. A longer one begins with a digest of what it was."""

_path: contextvars.ContextVar[str] = contextvars.ContextVar("path", default="")
_children: dict[str, Iterator[int]] = {}


def current_path() -> str:
    """The path of the task or thread that asks."""
    return _path.get() or getattr(threading.current_thread(), "_path", MAIN)


def child_path() -> str:
    """The path of the next task or thread that the one that asks makes."""
    parent = current_path()
    number = next(_children.setdefault(parent, itertools.count(1)))
    path = f"{parent}.{number}"
    if len(path) <= LONGEST:
        return path
    return f"~{hashlib.sha256(path.encode('ascii')).hexdigest()[:16]}"


def enter_path(path: str) -> None:
    """Call the running context `path` from here on."""
    _path.set(path)


def _under(path: str, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Call a function as `path`."""
    token = _path.set(path)
    try:
        return function(*args, **kwargs)
    finally:
        _path.reset(token)


def name_threads() -> None:
    """Give a path to whatever the box runs in a thread. Once, before the snippet."""
    start = threading.Thread.start
    submit = concurrent.futures.ThreadPoolExecutor.submit

    @functools.wraps(start)
    def start_named(self: threading.Thread) -> None:
        if not hasattr(self, "_path"):
            self._path = child_path()  # type: ignore[attr-defined]
        start(self)

    @functools.wraps(submit)  # type: ignore[arg-type]
    def submit_named(
        self: concurrent.futures.ThreadPoolExecutor, fn: Callable[..., T], /, *args: Any, **kwargs: Any
    ) -> "concurrent.futures.Future[T]":
        path = getattr(fn, "named", "") or child_path()
        # A worker's thread is nobody's: which one takes the work is chance, so it must not use up a number.
        context = contextvars.copy_context()
        return context.run(_under, f"{path}.0", submit, self, functools.partial(_under, path, fn), *args, **kwargs)

    @functools.wraps(asyncio.to_thread)  # type: ignore[arg-type]
    async def to_thread_named(func: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        loop = asyncio.get_running_loop()
        context = contextvars.copy_context()
        path = child_path()
        work = functools.partial(context.run, _under, path, func, *args, **kwargs)
        work.named = path  # type: ignore[attr-defined]
        return await loop.run_in_executor(None, work)

    threading.Thread.start = start_named  # type: ignore[method-assign]
    concurrent.futures.ThreadPoolExecutor.submit = submit_named  # type: ignore[assignment,method-assign]
    asyncio.to_thread = to_thread_named  # type: ignore[assignment]
    asyncio.threads.to_thread = to_thread_named  # type: ignore[assignment]
