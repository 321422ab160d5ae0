"""The event loop of the box: an ordinary asyncio loop that waits for answers instead of for time.

Its clock is the host's, a timer is a call that the host answers when the time has come, and answers are taken one at a
time when no task can go on: so the same answers in the same order make the same run. Standard library only.
"""

import asyncio
import contextvars
import selectors
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import Any

from sandbox_image.channel import Channel
from sandbox_image.promise import Promise
from sandbox_image.reading import Slot
from sandbox_image.tasks import child_path, current_path, enter_path

__all__ = ["SLEEP", "BoxLoop", "use_loop", "waiting"]

SLEEP = "harness.sleep"
"""The tool that the host serves itself: `{seconds}`."""
SPINS = 1_000
"""Turns of a loop that always has something to do (`await sleep(0)`) before it must take an answer."""


class _Selector(selectors.DefaultSelector):
    """Asks the loop what to wait for."""

    loop: "BoxLoop"

    def select(self, timeout: "float | None" = None) -> "list[tuple[selectors.SelectorKey, int]]":
        if self.loop.turn(timeout):
            return []
        return super().select(0)

    def block(self) -> None:
        """Wait for the loop's own descriptors."""
        super().select(None)


class BoxLoop(asyncio.SelectorEventLoop):
    """One loop; `home` of the calls that are made while it runs."""

    def __init__(self, channel: Channel, clock: "Callable[[], float]") -> None:
        self._channel = channel
        self._clock = clock
        self.arrived: deque[Slot] = deque()
        self.untaken: set[Slot] = set()
        self._own = _Selector()
        self._own.loop = self
        self._spins = 0
        self._sleep_until = float("inf")
        self._path = current_path()
        self._main: object = None
        super().__init__(self._own)

    # --- answers -----------------------------------------------------------------------------------------------

    def turn(self, timeout: "float | None") -> bool:
        """Take the next answer if no task can go on. True where the loop need not look at its descriptors."""
        if timeout is not None and timeout <= 0:
            self._spins += 1
            if self._spins < SPINS or not self.untaken:
                return self._alone()
        self._spins = 0
        # Asked whether the next answer is there already or not: what is asked must not depend on when answers come.
        if timeout:
            self._ask_for_time(timeout)
        if self._take():
            return True
        if self.untaken and self._alone():
            if timeout != 0 and self._ready:  # type: ignore[attr-defined]
                return False  # the last thread left work behind after the loop had looked for some
            self._channel.next_answer(self)
        else:
            self._channel.rest(self, self._own.block, self._own.fileno())
        return self._take()

    def take_at_once(self, slot: Slot) -> bool:
        """Take the answer of `slot` in place, where it is the next and only this task can go on: no turn is needed."""
        if not self._alone() or self._ready or self._scheduled:  # type: ignore[attr-defined]
            return False
        self._channel.next_answer(self)
        if not self.arrived or self.arrived[0] is not slot or slot.heirs:
            return False
        self.arrived.popleft()
        self._channel.take(slot)
        return True

    def _take(self) -> bool:
        while self.arrived:
            slot = self.arrived.popleft()
            self._channel.take(slot)
            if slot.heirs:
                for tell in slot.heirs:
                    tell()
                return True
        return False

    def _alone(self) -> bool:
        """True where only an answer can end a wait: no thread, no descriptor but the loop's own."""
        return threading.active_count() == 1 and len(self._own.get_map()) == 1

    def wake(self) -> None:
        """End a wait of this loop, from any thread."""
        self._write_to_self()  # type: ignore[attr-defined]

    # --- time --------------------------------------------------------------------------------------------------

    def time(self) -> float:
        """Seconds of the box's clock, which moves on with the answers."""
        return self._clock()

    def _ask_for_time(self, seconds: float) -> None:
        """Have the host say when the next timer is due; one call stands for all later timers."""
        due = self.time() + seconds
        if due >= self._sleep_until:
            return
        self._sleep_until = due
        head = f'"task":"{self._path}","tool":"{SLEEP}","args":'
        slot = self._channel.call(
            head.encode("ascii"), b'{"seconds":%b}' % repr(round(seconds, 6)).encode("ascii"), self
        )
        slot.heirs = [lambda: self._woken(due)]

    def _woken(self, due: float) -> None:
        if due == self._sleep_until:
            self._sleep_until = float("inf")

    # --- tasks -------------------------------------------------------------------------------------------------

    def create_task(self, coro: Any, *, name: object = None, context: Any = None) -> "asyncio.Task[Any]":
        """A task with a path of its own; a promise is taken for the coroutine that it stands for."""
        if context is None:
            context = contextvars.copy_context()
        if type(coro) is Promise:
            coro = _awaiting(coro)
        if getattr(coro, "cr_code", None) not in _OWN:
            context.run(enter_path, self._path if coro is self._main else child_path())
        return super().create_task(coro, name=None if name is None else str(name), context=context)

    async def shutdown_default_executor(self, timeout: "float | None" = None) -> None:
        """Wait for the threads, however long: a limit of ours, as Python has one from 3.12 on, would be a call."""
        await super().shutdown_default_executor()

    def run_main(self, coro: Coroutine[Any, Any, Any]) -> Any:
        """Run the snippet itself: its task has the path of the one that calls. Ends what it left."""
        self._main = coro
        with asyncio.Runner(loop_factory=lambda: self) as runner:
            return runner.run(coro)


_OWN = (
    asyncio.BaseEventLoop.shutdown_asyncgens.__code__,
    BoxLoop.shutdown_default_executor.__code__,
)
"""Tasks that asyncio makes when a loop ends: no work of the snippet, so they use up no number."""


async def _awaiting(promise: Any) -> Any:
    return await promise


def use_loop(make: "Callable[[], BoxLoop]") -> None:
    """Let `asyncio.run`, and whatever else makes loops, make ours."""

    class Policy(asyncio.DefaultEventLoopPolicy):
        def new_event_loop(self) -> asyncio.AbstractEventLoop:
            return make()

    asyncio.set_event_loop_policy(Policy())


def waiting(loop: BoxLoop, slot: Slot) -> Generator[Any, None, None]:
    """Steps of an await for the answer of `slot`."""
    if loop.take_at_once(slot):
        return
    future: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if not future.done():
            future.set_result(None)

    if slot.heirs is None:
        slot.heirs = []
    slot.heirs.append(tell)
    yield from future
