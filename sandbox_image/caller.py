"""The caller: what a stub does when it is used. A value outside a running event loop, a promise inside one."""

import asyncio
import json
import sys
from collections.abc import Callable, Generator, Sequence
from types import FrameType
from typing import Any

from sandbox_image.channel import Channel
from sandbox_image.failure import FILE
from sandbox_image.loop import SLEEP, BoxLoop, waiting
from sandbox_image.promise import Promise
from sandbox_image.reading import Slot
from sandbox_image.tasks import current_path
from sandbox_image.values import encode_arguments
from tool_stubs.runtime.errors import ArgumentsRefused, BudgetExhausted, ToolError, from_wire

__all__ = ["Caller", "Decode"]

_running_loop = asyncio._get_running_loop

Decode = Callable[[Any], Any]
HEADS = 10_000
"""Heads of frames that are kept: one for each tool and task."""


class Caller:
    """Makes calls over a channel. Safe from any thread."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._heads: dict[tuple[str, str], bytes] = {}
        self.open: dict[int, _One] = {}
        """Promises that nobody has used yet, by call."""

    def __call__(self, tool: str, arguments: dict[str, Any], decode: Decode) -> Any:
        """Call a tool. Raises its error, and ArgumentsRefused for an argument that has no JSON form."""
        head = self._head(tool)
        body = _encoded(tool, arguments)
        loop = _running_loop()
        if loop is None:
            return self.outcome(self._channel.wait(self._channel.call(head, body)), decode)
        return Promise(self._promised(self._channel.call(head, body, _home(loop)), loop, decode))

    def many(self, tool: str, rows: Sequence[dict[str, Any]], decode: Decode) -> Any:
        """Call a tool once for each row, all at the same time: the values in the order of the rows.

        Where calls fail, all are waited for, and the first failure in the order of the rows is raised.
        """
        head = self._head(tool)
        bodies = [_encoded(tool, row) for row in rows]
        loop = _running_loop()
        slots = self._channel.calls(head, bodies, None if loop is None else _home(loop))
        if loop is not None:
            return Promise(_Many([self._promised(slot, loop, decode) for slot in slots]))
        answers = [self._channel.wait(slot) for slot in slots]
        return [self.outcome(answer, decode) for answer in answers]

    def now(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Call a tool and wait in place, inside a running loop too."""
        slot = self._channel.call(self._head(tool), _encoded(tool, arguments))
        return self.outcome(self._channel.wait(slot), _same)

    def sleep(self, seconds: float) -> None:
        """Wait as `time.sleep` does; the host keeps the time."""
        if not seconds >= 0:
            raise ValueError("sleep length must be non-negative")
        self.now(SLEEP, {"seconds": round(float(seconds), 6)})

    def settle(self) -> None:
        """Wait for every promise that nobody used, and raise the first failure among them."""
        for pending in list(self.open.values()):
            pending.rest()
            try:
                pending.value()
            except (ToolError, BudgetExhausted) as error:
                error.add_note(f"it is the error of the call in line {pending.line}, whose value nothing used")
                raise

    def outcome(self, answer: dict[str, Any], decode: Decode) -> Any:
        """The value of an answer, or its error raised."""
        if "error" in answer:
            raise from_wire(answer["error"])
        return decode(answer["ok"])

    def _head(self, tool: str) -> bytes:
        place = current_path(), tool
        try:
            return self._heads[place]
        except KeyError:
            if len(self._heads) >= HEADS:
                self._heads.clear()
            text = f'"task":"{place[0]}","tool":{json.dumps(tool, ensure_ascii=False)},"args":'
            head = self._heads[place] = text.encode("utf-8")
            return head

    def _promised(self, slot: Slot, loop: asyncio.AbstractEventLoop, decode: Decode) -> "_One":
        pending = _One(self, self._channel, slot, decode)
        pending.line = _own_line(sys._getframe(2))
        self.open[slot.id] = pending
        if not isinstance(loop, BoxLoop):
            self._channel.wait(slot)
        return pending


def _same(value: Any) -> Any:
    return value


def _encoded(tool: str, arguments: dict[str, Any]) -> bytes:
    try:
        return encode_arguments(arguments, tool)
    except (TypeError, ValueError) as error:
        raise ArgumentsRefused(str(error), code="bad_arguments", tool=tool) from None


def _own_line(frame: FrameType | None) -> int:
    """The line of the snippet that made the call; 0 where it was none."""
    for _ in range(8):
        if frame is None:
            break
        if frame.f_code.co_filename == FILE:
            return frame.f_lineno
        frame = frame.f_back
    return 0


def _home(loop: asyncio.AbstractEventLoop) -> "BoxLoop | None":
    """A loop that is not ours cannot wait for answers: its calls are waited for in place."""
    return loop if isinstance(loop, BoxLoop) else None


class _One:
    """One call behind a promise."""

    __slots__ = ("_caller", "_channel", "_decode", "_done", "_slot", "_value", "line")

    def __init__(self, caller: Caller, channel: Channel, slot: Slot, decode: Decode) -> None:
        self._caller = caller
        self._channel = channel
        self._slot = slot
        self._decode: Decode = decode
        self._done = False
        self._value: Any = None
        self.line = 0
        """Of the snippet, where the call was made."""

    def block(self) -> Any:
        """The value, waited for in place."""
        self.rest()
        return self.value()

    def rest(self) -> None:
        """Wait in place until the answer is there, whatever it says."""
        self._caller.open.pop(self._slot.id, None)
        self._channel.wait(self._slot)

    def wait(self) -> Generator[Any, None, Any]:
        """The steps of an await."""
        yield from self.arrive()
        return self.value()

    def arrive(self) -> Generator[Any, None, None]:
        """The steps until the answer is there, whatever it says."""
        slot = self._slot
        self._caller.open.pop(slot.id, None)
        if not slot.taken:
            loop = _running_loop()
            if isinstance(loop, BoxLoop) and loop is slot.home:
                yield from waiting(loop, slot)
            else:
                self._channel.wait(slot)

    def value(self) -> Any:
        """The value of the answer that has come; the same object each time."""
        if not self._done:
            self._value = self._caller.outcome(self._slot.answer or {}, self._decode)
            self._done = True
        return self._value


class _Many:
    """The calls of a `map` behind one promise."""

    __slots__ = ("_calls", "_values")

    def __init__(self, calls: list[_One]) -> None:
        self._calls = calls
        self._values: list[Any] | None = None

    def block(self) -> list[Any]:
        """The values, waited for in place."""
        for call in self._calls:
            call.rest()
        return self._finish()

    def wait(self) -> Generator[Any, None, list[Any]]:
        """The steps of an await."""
        for call in self._calls:
            yield from call.arrive()
        return self._finish()

    def _finish(self) -> list[Any]:
        if self._values is None:
            self._values = [call.value() for call in self._calls]
        return self._values
