"""The host's side of one conversation with one box, without any I/O: which message may come now.

EXPECT_HELLO → (start is sent) → EXPECT_OPEN → OPEN → CLOSED. A message that may not come raises HostileInput and closes
the session for good. It does not decide about calls: who may call what is the enforcer's.
"""

import hmac
import importlib.util
import re
import sys
from enum import StrEnum

from harness.core.call import Answer
from harness.core.errors import HostileInput
from harness.gateway.frames import Decoder, WireLimits
from harness.gateway.messages import (
    CallFrame,
    Failed,
    Hello,
    Idle,
    Message,
    Open,
    Print,
    Result,
    Start,
    encode_answer,
    encode_start,
    parse,
)

__all__ = ["VERSION", "Phase", "Session", "WireLimits"]

VERSION = 1
"""Of the wire: both ends come from one wheel, so any other is a wrong image."""

_TASK = re.compile(r"(?:0|~[0-9a-f]{16})(?:\.[0-9]+)*", re.ASCII)
_STREAMS = frozenset(("out", "err"))


class Phase(StrEnum):
    """Where the conversation stands."""

    EXPECT_HELLO = "expect_hello"
    EXPECT_OPEN = "expect_open"
    OPEN = "open"
    CLOSED = "closed"


class Session:
    """One conversation. `decoder` cuts the stream, `accept` judges a frame, the `…_frame` methods make what is sent."""

    def __init__(self, token: str, limits: WireLimits) -> None:
        self.limits = limits
        self.decoder = Decoder(limits)
        self.phase = Phase.EXPECT_HELLO
        self._token = token.encode("utf-8")
        self._started = False
        self._last_id = 0
        self._in_flight: set[int] = set()
        self._idles_left = 1
        """How often the box may still say that it is idle: once, and once more after each call and each answer."""
        self._tasks: set[str] = set()

    @property
    def in_flight(self) -> int:
        """Calls that the box still waits for."""
        return len(self._in_flight)

    def accept(self, frame: bytes) -> Message:
        """The message in `frame`, which may come now. Raises HostileInput; then the session is closed."""
        try:
            message = parse(frame, self.limits)
            if type(message) is CallFrame:
                self._call(message, frame)
            else:
                self._other(message, frame)
        except HostileInput:
            self.phase = Phase.CLOSED
            raise
        return message

    def close(self) -> None:
        """Nothing more is taken."""
        self.phase = Phase.CLOSED

    # --- to the box ------------------------------------------------------------------------------------------

    def start_frame(self, start: Start) -> bytes:
        """The frame that hands the snippet over. Raises ValueError before hello, or where it was handed over."""
        if self.phase is not Phase.EXPECT_OPEN or self._started:
            raise ValueError(f"a snippet cannot be handed over in phase `{self.phase.value}`")
        if start.token.encode("utf-8") != self._token:
            raise ValueError("the token of the start is not the session's")
        self._started = True
        return encode_start(start)

    def answer_frame(self, wire_id: int, answer: Answer, at_us: int) -> bytes:
        """The frame of an answer. Raises ValueError where no call `wire_id` waits for one."""
        try:
            self._in_flight.remove(wire_id)
        except KeyError:
            raise ValueError(f"no call {wire_id} waits for an answer") from None
        self._idles_left += 1
        return encode_answer(wire_id, answer, at_us)

    # --- rules -----------------------------------------------------------------------------------------------

    def _call(self, call: CallFrame, frame: bytes) -> None:
        if self.phase is not Phase.OPEN:
            raise self._out_of_turn("call", frame)
        number, limits = call.id, self.limits
        if number <= self._last_id:
            what = "duplicate_id" if number in self._in_flight else "falling_id"
            raise HostileInput(what, f"call {number} came after call {self._last_id}", head=frame)
        if len(self._in_flight) >= limits.in_flight:
            message = f"more than {limits.in_flight} calls wait for an answer"
            raise HostileInput("too_many_in_flight", message, head=frame)
        if len(call.tool) > limits.name_chars:
            raise HostileInput("name_too_long", f"a tool's name has {len(call.tool)} characters", head=frame)
        if call.task not in self._tasks:
            self._new_task(call.task, frame)
        self._last_id = number
        self._in_flight.add(number)
        self._idles_left += 1

    def _new_task(self, task: str, frame: bytes) -> None:
        if len(task) > self.limits.name_chars or _TASK.fullmatch(task) is None:
            raise HostileInput("bad_task", "a task's path is numbers with dots between them", head=frame)
        if len(self._tasks) < self.limits.in_flight:
            self._tasks.add(task)

    def _other(self, message: Message, frame: bytes) -> None:
        match message:
            case Print() if self.phase is Phase.OPEN:
                if message.stream not in _STREAMS or not message.text:
                    raise HostileInput("wrong_shape", "a print names `out` or `err`, and has a text", head=frame)
            case Idle() if self.phase is Phase.OPEN:
                self._idle(message, frame)
            case Result() if self.phase is Phase.OPEN:
                if message.none and message.value is not None:
                    raise HostileInput("wrong_shape", "a result is nothing and has a value", head=frame)
                self.phase = Phase.CLOSED
            case Failed() if self.phase is Phase.OPEN:
                self.phase = Phase.CLOSED
            case Hello() if self.phase is Phase.EXPECT_HELLO:
                self._hello(message, frame)
            case Open() if self.phase is Phase.EXPECT_OPEN and self._started:
                if not hmac.compare_digest(message.token.encode("utf-8"), self._token):
                    raise HostileInput("wrong_token", "the box did not give back the run's token", head=frame)
                self.phase = Phase.OPEN
            case _:
                raise self._out_of_turn(type(message).__name__.lower(), frame)

    def _hello(self, hello: Hello, frame: bytes) -> None:
        if hello.v != VERSION:
            raise HostileInput("wrong_version", f"the box speaks version {hello.v}, the host {VERSION}", head=frame)
        if hello.magic != importlib.util.MAGIC_NUMBER.hex():
            host = ".".join(map(str, sys.version_info[:3]))
            message = f"compiled code of Python {host} does not fit the box's, which says it is {hello.python[:20]!r}"
            raise HostileInput("wrong_python", message, head=frame)
        self.phase = Phase.EXPECT_OPEN

    def _idle(self, idle: Idle, frame: bytes) -> None:
        if not self._idles_left:
            raise HostileInput("idle_again", "the box says again that it is idle, and nothing has happened", head=frame)
        if len(idle.waiting) > self.limits.in_flight or not all(0 < each <= self._last_id for each in idle.waiting):
            raise HostileInput("unknown_id", "the box waits for a call that it never made", head=frame)
        self._idles_left -= 1

    def _out_of_turn(self, what: str, frame: bytes) -> HostileInput:
        code = "after_end" if self.phase is Phase.CLOSED else "out_of_turn"
        return HostileInput(code, f"a `{what}` came in phase `{self.phase.value}`", head=frame)
