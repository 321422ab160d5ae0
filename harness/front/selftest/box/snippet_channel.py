"""Probes of the channel: a snippet that holds the descriptor and writes to it itself. Each has a box of its own."""

import json
import os
import select
import stat
import struct
import sys
import threading
from typing import Any


def _descriptor() -> int:
    for number in range(256):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                return number
        except OSError:
            continue
    raise LookupError("there is no channel")


def _send(message: Any) -> None:
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    _raw(struct.pack(">I", len(data)) + data)


def _raw(data: bytes) -> None:
    number = _descriptor()
    while data:
        data = data[os.write(number, data) :]


def _wait(seconds: float) -> None:
    """Sleep without asking the host: its answers have numbers of their own."""
    select.select([], [], [], seconds)


def _forged(message: Any) -> None:
    _send(message)
    _wait(5)


def success_on_standard_output(box: Any) -> Any:
    """Write to descriptors 1 and 2 what looks like a result."""
    text = json.dumps({"t": "result", "none": False, "value": {"forged": True}}).encode()
    for number in (1, 2):
        os.write(number, struct.pack(">I", len(text)) + text)
    sys.exit(0)


def second_hello(box: Any) -> Any:
    """Say hello again."""
    _forged({"t": "hello", "v": 1, "python": "3", "magic": ""})


def wrong_token(box: Any) -> Any:
    """Open the conversation again with a token that was guessed."""
    _forged({"t": "open", "token": "guessed"})


def replayed_call(box: Any) -> Any:
    """Use the number of a call again."""
    from tools import selftest_echo  # type: ignore[import-not-found]

    selftest_echo("once")
    _forged({"t": "call", "id": 1, "task": "0", "tool": "selftest_echo", "args": {"text": "twice"}})


def call_without_a_number(box: Any) -> Any:
    """Call under a number that is none."""
    _forged({"t": "call", "id": "1", "task": "0", "tool": "selftest_echo", "args": {"text": "x"}})


def call_that_names_a_command(box: Any) -> Any:
    """Put a command beside the tool: a frame has no such member."""
    _forged({"t": "call", "id": 99, "task": "0", "tool": "selftest_echo", "args": {"text": "x"}, "command": "id"})


def answer_to_oneself(box: Any) -> Any:
    """Send the frame that only the host sends."""
    _forged({"t": "answer", "id": 1, "at": 0, "ok": True})


def idle_for_a_stranger(box: Any) -> Any:
    """Wait for a call that was never made."""
    _forged({"t": "idle", "waiting": [7]})


def deep_nesting(box: Any) -> Any:
    """Nest 100,000 lists."""
    _forged(b'{"t":"result","none":false,"value":' + b"[" * 100_000 + b"]" * 100_000 + b"}")


def oversized(box: Any) -> Any:
    """Announce a frame of 1 GB."""
    _raw(struct.pack(">I", 1 << 30))
    _wait(5)


def empty_frame(box: Any) -> Any:
    """Announce a frame of no bytes."""
    _raw(struct.pack(">I", 0))
    _wait(5)


def not_utf8(box: Any) -> Any:
    """Send bytes that are no text."""
    _forged(b'{"t":"print","stream":"out","text":"\xff"}')


def duplicate_keys(box: Any) -> Any:
    """Say one thing twice, differently."""
    _forged(b'{"t":"result","none":true,"none":false,"value":1}')


def not_a_number(box: Any) -> Any:
    """Send NaN."""
    _forged(b'{"t":"result","none":false,"value":NaN}')


def pickled(box: Any) -> Any:
    """Send a pickle that would execute something on loading."""
    import pickle

    class Command:
        def __reduce__(self) -> Any:
            return os.system, ("id",)

    _forged(pickle.dumps(Command()))


def truncated(box: Any) -> Any:
    """End in the middle of a frame."""
    _raw(struct.pack(">I", 100) + b'{"t":')
    os._exit(0)


def slow(box: Any) -> Any:
    """Send half a frame and hold the rest back."""
    _raw(struct.pack(">I", 100) + b'{"t":')
    while True:
        _wait(60)


def interleaved(box: Any) -> Any:
    """Write two frames into one another from two threads."""
    data = json.dumps({"t": "print", "stream": "out", "text": "x" * 50}).encode()
    frame = struct.pack(">I", len(data)) + data

    def half() -> None:
        _raw(frame[:20])

    thread = threading.Thread(target=half)
    thread.start()
    thread.join()
    _raw(frame)
    _raw(frame[20:])
    _wait(5)


def late_call(box: Any) -> Any:
    """Call a tool after the end: nothing of it is executed."""
    _send({"t": "result", "none": False, "value": {"ended": True}})
    _forged({"t": "call", "id": 50, "task": "0", "tool": "selftest_count", "args": {}})


def late_call_of_a_child(box: Any) -> Any:
    """Let a child call a tool after the end."""
    try:
        child = os.fork()
    except BlockingIOError:
        return {"ended": True}
    if child == 0:
        os.setsid()
        _wait(0.3)
        _forged({"t": "call", "id": 50, "task": "0", "tool": "selftest_count", "args": {}})
        os._exit(0)
    return {"ended": True}


def second_result(box: Any) -> Any:
    """Give two results: the first stands."""
    _send({"t": "result", "none": False, "value": {"ended": True}})
    _forged({"t": "result", "none": False, "value": {"forged": True}})


def unlisted_tool(box: Any) -> Any:
    """Call a tool that the host has and the contract does not list."""
    _send({"t": "call", "id": 50, "task": "0", "tool": "selftest_unlisted", "args": {}})
    _wait(0.3)
    return {"ended": True}


def reserved_tool(box: Any) -> Any:
    """Call a name that the harness keeps for itself."""
    _send({"t": "call", "id": 50, "task": "0", "tool": "harness.approve", "args": {"all": True}})
    _wait(0.3)
    return {"ended": True}
