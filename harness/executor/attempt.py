"""One attempt at a call: the tool's function with decoded arguments, and whatever comes of it as a judgement.

Never raises for what the tool does, but for a person's Ctrl-C.
"""

import functools
import signal
import threading
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextvars import Context
from dataclasses import dataclass
from types import coroutine
from typing import Any, Protocol

from harness.core.call import Call, Json
from harness.executor.current import CALL, CALL_KEY
from harness.executor.results import Judged

__all__ = ["Attempt", "Reading", "step"]


class Reading(Protocol):
    """How endings are read: as those of a call, or as those of a question about one."""

    def returned(self, value: object, call: Call) -> Judged:
        """A value came back."""

    def raised(self, error: BaseException) -> Judged:
        """An exception came out."""

    def bad_arguments(self, error: BaseException) -> Judged:
        """The arguments could not be made into the function's own types; nothing ran."""

    def not_started(self, why: str) -> Judged:
        """The function was certainly not entered."""

    def late(self, seconds: float, settled: bool) -> Judged:
        """The deadline passed; `settled` is False where the function may still be running."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What to run, and how to read its ending. May be run again."""

    call: Call
    function: Callable[..., Any]
    is_async: bool
    decode: Callable[[dict[str, Json]], dict[str, Any]]
    """JSON arguments → Python values, by the function's annotations."""
    reading: Reading
    timeout_s: float

    def run_sync(self) -> Judged:
        """Run it here and now, in a context of its own."""
        CALL.set(f"{self.call.run}/{self.call.id}")
        CALL_KEY.set(self.call.key)
        try:
            arguments = self.decode(_fresh(self.call.arguments))
        except Exception as error:  # noqa: BLE001 - types of the tool, with code of their own
            return self.reading.bad_arguments(error)
        try:
            value = self.function(**arguments)
        except BaseException as error:  # noqa: BLE001 - tool code may raise anything, SystemExit too
            return self._raised(error)
        return self.reading.returned(value, self.call)

    async def run_async(self) -> Judged:
        """Run it on the loop, in a context of its own. A cancellation ends it like any raise; nobody looks at that."""
        CALL.set(f"{self.call.run}/{self.call.id}")
        CALL_KEY.set(self.call.key)
        try:
            arguments = self.decode(_fresh(self.call.arguments))
        except Exception as error:  # noqa: BLE001 - types of the tool, with code of their own
            return self.reading.bad_arguments(error)
        try:
            value = await self.function(**arguments)
        except BaseException as error:  # noqa: BLE001 - tool code may raise anything, SystemExit too
            return self._raised(error)
        return self.reading.returned(value, self.call)

    def _raised(self, error: BaseException) -> Judged:
        if isinstance(error, KeyboardInterrupt) and _may_be_a_persons():
            raise error
        return self.reading.raised(error)


def _may_be_a_persons() -> bool:
    """Whether Ctrl-C would raise KeyboardInterrupt here: by Python's own handler, or that of `asyncio.Runner`."""
    if threading.current_thread() is not threading.main_thread():
        return False
    handler = signal.getsignal(signal.SIGINT)
    return handler is signal.default_int_handler or isinstance(handler, functools.partial)


def _fresh(arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Arguments that the tool may do with as it likes: the record of the call is the host's."""
    return {name: _copy(value) for name, value in arguments.items()}


def _copy(value: Json) -> Json:
    if isinstance(value, list):
        return [_copy(item) for item in value]
    if isinstance(value, dict):
        return {name: _copy(item) for name, item in value.items()}
    return value


# --- a coroutine whose first step is taken outside a task ----------------------------------------------------


def step(running: Coroutine[Any, Any, Judged], context: Context) -> Judged | Coroutine[Any, Any, Judged]:
    """Run a coroutine in `context` until it waits for something: its judgement where it never does, else its rest."""
    try:
        waits_for = context.run(running.send, None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    return _went_on(running, waits_for)


async def _went_on(running: Coroutine[Any, Any, Judged], waits_for: object) -> Judged:
    return await _rest(running, waits_for)


@coroutine
def _rest(running: Coroutine[Any, Any, Judged], waits_for: object) -> Generator[object, Any, Judged]:
    while True:
        thrown: BaseException | None = None
        sent: object = None
        try:
            sent = yield waits_for
        except BaseException as error:  # noqa: BLE001 - handed on to the coroutine that it is meant for
            thrown = error
        try:
            waits_for = running.throw(thrown) if thrown is not None else running.send(sent)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
