"""The runner: one snippet from the host's start to its result, over a channel that is open, in a box that is closed.

Standard library only. It holds no rule: what the snippet may do is the host's, the namespace's and the box's.
"""

import base64
import functools
import importlib.util
import json
import marshal
import os
import socket
import sys
import threading
import types
from collections.abc import Callable, Sequence
from concurrent.futures import thread as pool
from typing import Any, NoReturn

from sandbox_image import chance, failure, pages
from sandbox_image.caller import Caller
from sandbox_image.channel import Channel
from sandbox_image.frames import encode as framed
from sandbox_image.language import namespace
from sandbox_image.loop import BoxLoop, use_loop
from sandbox_image.prints import Printer, PrintStream
from sandbox_image.promise import resolve, teach_json
from sandbox_image.readonly import read_only
from sandbox_image.tasks import MAIN, enter_path, name_threads
from sandbox_image.values import encode, encode_arguments
from tool_stubs.runtime import errors, stub

__all__ = ["ESCALATE", "VERSION", "rehearsal", "serve", "warm"]

VERSION = 1
"""Of the wire."""
OWN_AFTER_MS = 5
"""A slot whose run has not come by then waits on a shelf; one that was forked on demand has its run in 2 ms."""
WARM_AFTER_MS = 50
"""A box whose run has not come by then waits in a pool, and has time to warm up; a cold one has its run in 10 ms."""
ESCALATE = "harness.escalate"
"""The tool with which a snippet asks a person: the host serves it itself."""


def serve(sock: socket.socket) -> NoReturn:
    """Say hello, run the snippet that the host sends, tell how it ended, and end the process."""
    channel = Channel(sock)
    magic = importlib.util.MAGIC_NUMBER.hex()
    python = ".".join(map(str, sys.version_info[:3]))
    channel.send(json.dumps({"t": "hello", "v": VERSION, "python": python, "magic": magic}).encode("ascii"))
    if channel.quiet(OWN_AFTER_MS):
        pages.own()
        if channel.quiet(WARM_AFTER_MS):
            warm()
    start = channel.receive()
    channel.send(json.dumps({"t": "open", "token": start["token"]}).encode("utf-8"))
    channel.close(_Run(channel, start).ending())
    os._exit(0)


@functools.cache
def warm() -> None:
    """Do once what every run does, before there is one: what is loaded and compiled now costs no run anything.

    Leaves nothing of any run, so that a process may do it and then fork.
    """
    namespace.warm()
    encode({"value": [1, 1.5, "text"]}, "a dummy")
    code = marshal.loads(marshal.dumps(compile("def __snippet__():\n    return 1 / 0\n", failure.FILE, "exec")))
    names: dict[str, Any] = {}
    exec(code, names)
    try:
        names["__snippet__"]()
    except ZeroDivisionError as error:
        failure.describe(error)
    row = {"name": "dummy", "py": "dummy", "params": [{"wire": "x", "py": "x"}]}
    stub.build({"tools": [row]}, lambda tool, arguments, decode: encode_arguments(arguments, tool))["dummy"](x=1)


def rehearsal() -> Callable[[], None]:
    """A dummy's whole run, with a call, ready to go: what is called does what a run does, and leaves it all behind.

    So only in a fork that is thrown away.
    """
    ours, host = socket.socketpair()
    row = {"name": "dummy", "py": "dummy", "params": [{"wire": "x", "py": "x"}]}
    source = "def __snippet__():\n    import json\n    from tools import dummy\n    return {'value': dummy(x=1)}\n"
    start = {
        "source": source,
        "code": base64.b64encode(marshal.dumps(compile(source, failure.FILE, "exec"))).decode("ascii"),
        "language": namespace.RESTRICTED,
        "imports": ["json"],
        "tools": {"source": "", "table": {"tools": [row]}},
        "inputs": {"name": ["value"]},
        "previous": [],
        "budget": {"calls": 1},
        "chance": {"seed": "00" * 32, "now_us": 1, "tick_us": 1},
    }
    begin = framed(json.dumps(start).encode("ascii"))
    answer = framed(b'{"t":"answer","id":1,"at":1,"ok":{"value":[1,1.5,"text"]}}')

    def rehearse() -> None:
        host.sendall(begin)
        channel = Channel(ours)
        run = _Run(channel, channel.receive())
        host.sendall(answer)
        channel.close(run.ending())

    return rehearse


class _Run:
    """One snippet."""

    def __init__(self, channel: Channel, start: dict[str, Any]) -> None:
        self._channel = channel
        self._start = start
        self._caller = Caller(channel)
        enter_path(MAIN)
        printer = Printer(channel)
        channel.prelude = printer.take
        sys.stdout, sys.stderr = PrintStream(printer, "out"), PrintStream(printer, "err")
        failure.remember(start["source"])

    def ending(self) -> bytes:
        """Run to the end: the last frame."""
        try:
            value = self._value()
            _join_threads()
            self._caller.settle()
            body = encode(value, "the result")
            none = b"true" if body == b"null" else b"false"
            return b'{"t":"result","value":%b,"none":%b}' % (body, none)
        except BaseException as error:  # noqa: BLE001 (whatever leaves the snippet is its failure)
            return json.dumps({"t": "failed", **failure.describe(error)}).encode("ascii")

    def _value(self) -> Any:
        snippet = self._load()
        value = snippet()
        if hasattr(type(value), "__await__"):
            value = self._loop().run_main(_awaited(value))
        return resolve(value)

    def _load(self) -> Any:
        """The snippet's function, in the globals that its language gives it."""
        start = self._start
        clock = chance.install(start["chance"], self._caller.sleep)
        self._channel.answered = clock.answered
        self._clock = clock
        name_threads()
        use_loop(self._loop)
        teach_json()
        tools = types.ModuleType("tools")
        table = start["tools"]
        tools.__dict__.update(stub.build(table["table"], self._caller, self._caller.many, table["source"]))
        for kind in (*errors.KINDS.values(), errors.ToolError, errors.ArgumentsRefused):
            kind.__module__ = tools.__name__
        sys.modules["tools"] = tools
        names = namespace.build(start["language"], start["imports"], tools, self._extras())
        exec(marshal.loads(base64.b64decode(start["code"])), names)
        return names["__snippet__"]

    def _loop(self) -> BoxLoop:
        return BoxLoop(self._channel, self._clock.monotonic)

    def _extras(self) -> dict[str, Any]:
        """What the snippet finds beside its language."""
        start = self._start
        found = {name: read_only(start[name], name) for name in ("inputs", "previous", "budget")}
        return {**found, "escalate": self._escalate, "__value__": resolve}

    def _escalate(self, question: str, options: Sequence[str] = (), proposed: Any = None) -> Any:
        """Put a question to the contract's owner; the answer is the owner's choice."""
        asked = {"question": question, "options": list(options), "proposed": proposed}
        return self._caller(ESCALATE, asked, lambda value: value)


async def _awaited(value: Any) -> Any:
    """What stands behind a coroutine, a task or a promise, and behind what that gives."""
    while hasattr(type(value), "__await__"):
        value = await value
    return value


def _join_threads() -> None:
    """Wait for the snippet's threads, as Python does at its end; not for the idle workers of a pool."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon and thread not in pool._threads_queues:
            thread.join()
