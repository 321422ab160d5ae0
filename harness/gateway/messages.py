"""Messages: what a frame says. Typed values out of hostile bytes, and the bytes of what the host says.

Parsing is the only way in: a value of these types that came out of `parse` keeps every rule of the wire that needs no
memory of earlier frames; those that do live in `session`.
"""

import json
import re
from typing import Any

import msgspec

from harness.core.call import Answer, Json
from harness.core.errors import HostileInput
from harness.gateway.frames import WireLimits, check_size

__all__ = [
    "ERROR_KINDS",
    "RESERVED_TOOLS",
    "CallFrame",
    "Failed",
    "Hello",
    "Idle",
    "Message",
    "Open",
    "Print",
    "Result",
    "Start",
    "encode_answer",
    "encode_start",
    "encode_stop",
    "parse",
]

ERROR_KINDS = (
    "ToolDenied",
    "ToolFailed",
    "OutcomeUnknown",
    "ApprovalRejected",
    "PartialResult",
    "BudgetExhausted",
)
"""What `kind` of an error answer may be; the class that is raised in the box."""

RESERVED_TOOLS = ("harness.sleep", "harness.escalate")
"""Tool names that the host serves itself: `{seconds}`, and `{question, options, proposed}`."""


# --- from the box ----------------------------------------------------------------------------------------------------


class _FromBox(msgspec.Struct, tag_field="t", forbid_unknown_fields=True, frozen=True, gc=False):
    """Every message says which it is in `t`, and carries no other members than its own."""


class Hello(_FromBox, tag="hello", frozen=True):
    """The box is confined, and ready for a run."""

    v: int
    """Version of the wire, 1."""
    python: str
    """`3.11.7`"""
    magic: str
    """Hex of the four bytes before compiled code; equal on both sides, or the host's code cannot run there."""


class Open(_FromBox, tag="open", frozen=True):
    """The token of `start`, given back."""

    token: str


class CallFrame(_FromBox, tag="call", frozen=True):
    """A stub was used."""

    id: int
    """From 1, rising."""
    task: str
    """Path of the task or thread, `0.1`."""
    tool: str
    """As the stub knows it; whether it exists is for the host to say."""
    args: dict[str, Any]
    """By the parameters' wire names."""


class Print(_FromBox, tag="print", frozen=True):
    """Something was printed: an observation, never a result."""

    stream: str
    """`out` or `err`."""
    text: str


class Idle(_FromBox, tag="idle", frozen=True):
    """Nothing in the box can go on without an answer: a hint."""

    waiting: list[int]
    """Ids of the calls that are waited for."""


class Result(_FromBox, tag="result", frozen=True):
    """The snippet ended by itself."""

    value: Any
    none: bool
    """True where it returned nothing: then it proposes nothing."""


class Failed(_FromBox, tag="failed", frozen=True):
    """An exception left the snippet."""

    type: str
    """Class name of the exception."""
    message: str
    traceback: str
    """The snippet's own lines."""
    line: int
    """Of the snippet, 1-based; 0 where none is known."""


Message = Hello | Open | CallFrame | Print | Idle | Result | Failed

_decode = msgspec.json.Decoder(Message).decode
_encode = msgspec.json.Encoder().encode
_WHERE = re.compile(r"\(byte (\d+)\)|(`\$[^`]*`)")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_NOT_FINITE = re.compile(rb"[:,\[]\s*-?(?:NaN|Infinity)")


def parse(frame: bytes, limits: WireLimits) -> Message:
    """The message in a frame.

    Raises HostileInput with code `too_deep`, `too_many_members`, `number_too_long`, `string_too_long`, `not_utf8`,
    `not_json`, `not_finite`, `surrogate`, `wrong_shape`, `duplicate_key`.
    """
    check_size(frame, limits)
    try:
        message = _decode(frame)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise _refusal(frame, error) from None
    # What equals its own encoding names no key twice. Anything else is looked at key by key.
    if _encode(message) != frame:
        _check_keys(frame)
    return message


def _refusal(frame: bytes, error: Exception) -> HostileInput:
    """Why a frame could not be decoded, in our words."""
    try:
        frame.decode("utf-8")
    except UnicodeDecodeError as bad:
        return HostileInput("not_utf8", f"the frame is not UTF-8 at byte {bad.start}", head=frame)
    hit = _WHERE.search(str(error))
    where = "" if hit is None else f" at byte {hit.group(1)}" if hit.group(1) else f" at {hit.group(2)}"
    if "out of range" in str(error):
        return HostileInput("not_finite", f"the frame holds a number beyond what a number can be{where}", head=frame)
    if isinstance(error, msgspec.ValidationError):
        return HostileInput("wrong_shape", f"the frame is no message of the wire{where}", head=frame)
    if _SURROGATE.search(frame):
        return HostileInput("surrogate", f"the frame holds a lone surrogate{where}", head=frame)
    if _NOT_FINITE.search(frame):
        return HostileInput("not_finite", f"the frame holds a number that is not finite{where}", head=frame)
    return HostileInput("not_json", f"the frame is not JSON{where}", head=frame)


def _check_keys(frame: bytes) -> None:
    """Refuse a key that stands twice in one object; the frame is known to be JSON of bounded depth and size."""

    def pairs(members: list[tuple[str, Any]]) -> None:
        if len(members) > 1:
            names = {name for name, _ in members}
            if len(names) != len(members):
                raise HostileInput("duplicate_key", "a key stands twice in one object", head=frame)

    json.loads(frame, object_pairs_hook=pairs)


# --- from the host ---------------------------------------------------------------------------------------------------


class Start(msgspec.Struct, tag_field="t", tag="start", frozen=True):
    """One snippet, and all that it finds in its box."""

    token: str
    """Of this run; the box gives it back."""
    run: str
    iteration: int
    attempt: int
    language: str
    """`restricted` or `plain`."""
    imports: list[str]
    code: str
    """Base64 of the marshalled code, which defines `__snippet__`."""
    source: str
    """Normalised; for tracebacks."""
    tools: dict[str, Any]
    """`source` and `table` of the generated stubs."""
    inputs: Json
    previous: list[Any]
    """Results of earlier iterations, oldest first."""
    budget: dict[str, Any]
    """What is left, by dimension."""
    chance: dict[str, Any]
    """`seed` (hex), `now_us`, `tick_us`."""


def encode_start(start: Start) -> bytes:
    """The frame of a start. Raises ValueError or TypeError where a value has no JSON form."""
    return _encode(start)


def encode_answer(wire_id: int, answer: Answer, at_us: int) -> bytes:
    """The frame of an answer: `answer.body` goes in as it is. `at_us`: microseconds since the epoch."""
    key = b"ok" if answer.ok else b"error"
    return b'{"t":"answer","id":%d,"at":%d,"%b":%b}' % (wire_id, at_us, key, answer.body)


def encode_stop() -> bytes:
    """The frame that ends a box in order."""
    return b'{"t":"stop"}'
