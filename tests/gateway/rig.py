"""A snippet in a real runner behind a real connection, with tools that are functions of the test."""

import ast
import asyncio
import base64
import contextlib
import functools
import json
import marshal
import os
import signal
import socket
import subprocess
import symtable
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from harness.core.call import Answer
from harness.core.errors import HostileInput
from harness.gateway.messages import CallFrame, Failed, Hello, Idle, Print, Result, Start
from harness.gateway.server import Connection, attach
from harness.gateway.session import Session, WireLimits

TOKEN = "the-token-of-this-run"
NURSERY = Path(__file__).resolve().parents[1] / "sandbox_image" / "open_nursery.py"
SECONDS = 20.0


@dataclass(frozen=True)
class Refuse:
    """An answer that is an error."""

    kind: str = "ToolDenied"
    code: str = "out_of_scope"
    message: str = "no"
    hint: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Later:
    """An answer that comes after `seconds`."""

    seconds: float
    value: Any = None


@dataclass
class Ended:
    """How a box ended, as the host saw it."""

    result: Any = None
    none: bool | None = None
    failed: Failed | None = None
    lost: HostileInput | None = None
    closed: bool = False
    """True where the box closed its end."""
    out: str = ""
    err: str = ""
    prints: int = 0
    """Frames of printed text."""
    longest: int = 0
    """Characters of the longest of them."""
    unread: int = 0
    """Bytes of answers that the box had not read when time was up."""
    calls: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    """(task, tool, arguments) in the order in which they came."""
    idle: list[list[int]] = field(default_factory=list)
    status: int | None = None


class Host:
    """A listener that answers from `tools`: name → function of the arguments; `never` is not answered."""

    def __init__(self, tools: Mapping[str, Callable[[dict[str, Any]], Any]], at_most: float = float("inf")) -> None:
        self.tools = tools
        self.at_most = at_most
        self._printed = 0
        self.ended = Ended()
        self.connection: Connection | None = None
        self.hello = asyncio.Event()
        self.over = asyncio.Event()

    def on_hello(self, hello: Hello) -> None:
        self.hello.set()

    def on_open(self) -> None:
        pass

    def on_call(self, frame: CallFrame) -> None:
        self.ended.calls.append((frame.task, frame.tool, frame.args))
        if frame.tool == "harness.sleep":
            answer: Any = Later(frame.args["seconds"])
        elif frame.tool in self.tools:
            answer = self.tools[frame.tool](frame.args)
        else:
            answer = Refuse(code="unlisted", message=f"there is no tool `{frame.tool}`")
        if answer is never:
            return
        if isinstance(answer, Later):
            asyncio.get_running_loop().call_later(answer.seconds, self.answer, frame.id, answer.value, frame.tool)
        else:
            self.answer(frame.id, answer, frame.tool)

    def answer(self, number: int, value: Any, tool: str = "") -> None:
        if isinstance(value, Refuse):
            error = {"kind": value.kind, "code": value.code, "tool": tool, "message": value.message}
            answer = Answer(False, msgspec.json.encode({**error, "hint": value.hint, "data": dict(value.data)}))
        else:
            answer = Answer(True, msgspec.json.encode(value))
        assert self.connection is not None
        self.connection.send_answer(number, answer, time.time_ns() // 1000)

    def on_print(self, frame: Print) -> None:
        self.ended.prints += 1
        self.ended.longest = max(self.ended.longest, len(frame.text))
        self._printed += len(frame.text)
        if self._printed >= self.at_most and self.connection is not None:
            self.connection.close()
            self.over.set()
        if frame.stream == "out":
            self.ended.out += frame.text
        else:
            self.ended.err += frame.text

    def on_idle(self, frame: Idle) -> None:
        self.ended.idle.append(frame.waiting)

    def on_result(self, frame: Result) -> None:
        self.ended.result, self.ended.none = frame.value, frame.none
        self.over.set()

    def on_failed(self, frame: Failed) -> None:
        self.ended.failed = frame
        self.over.set()

    def on_lost(self, error: HostileInput | None) -> None:
        self.ended.lost, self.ended.closed = error, error is None
        self.over.set()


def never(args: dict[str, Any]) -> Any:
    """A tool whose answer does not come."""
    return never


def echo(args: dict[str, Any]) -> Any:
    """A tool that gives its argument `text` back."""
    return args["text"]


def row(name: str, *parameters: str) -> dict[str, Any]:
    """A row of the stubs' table: every parameter optional."""
    return {"name": name, "py": name.replace(".", "_"), "params": [{"wire": each, "py": each} for each in parameters]}


ROWS = [row("echo", "text"), row("slow", "text"), row("refuse", "text"), row("add", "a", "b"), row("never", "text")]


def start_of(source: str, rows: Sequence[dict[str, Any]] = ROWS, **changes: Any) -> Start:
    """The start of a plain snippet."""
    start = Start(
        token=TOKEN,
        run="r1",
        iteration=1,
        attempt=1,
        language="plain",
        imports=[],
        code=base64.b64encode(marshal.dumps(compiled(source))).decode("ascii"),
        source=source,
        tools={"source": "", "table": {"tools": list(rows), "types": {}, "errors": []}},
        inputs={},
        previous=[],
        budget={},
        chance={"seed": "00" * 16, "now_us": time.time_ns() // 1000, "tick_us": 1},
    )
    return msgspec.structs.replace(start, **changes)


def compiled(source: str) -> Any:
    """A module that defines `__snippet__`, whose top-level names are the module's own."""
    tree = ast.parse(source, "<snippet>")
    uses_await = _awaits(tree)
    body = tree.body or [ast.Pass()]
    if isinstance(body[-1], ast.Expr):
        body[-1] = ast.copy_location(ast.Return(body[-1].value), body[-1])
    names = _top_names(source)
    if names:
        body.insert(0, ast.Global(names=names))
    kind = ast.AsyncFunctionDef if uses_await else ast.FunctionDef
    arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    function = kind(name="__snippet__", args=arguments, body=body, decorator_list=[])
    star = [each for each in body if isinstance(each, ast.ImportFrom) and each.names[0].name == "*"]
    function.body = [each for each in body if each not in star] or [ast.Pass()]
    module = ast.fix_missing_locations(ast.Module(body=[*star, function], type_ignores=[]))
    code = compile(module, "<snippet>", "exec")
    named = [each.replace(co_name="<module>", co_qualname="<module>") if isinstance(each, type(code)) else each
             for each in code.co_consts]  # fmt: skip
    return code.replace(co_consts=tuple(named))


def _top_names(source: str) -> list[str]:
    plain = [line for line in source.splitlines() if not line.endswith("import *")]
    wrapped = "async def f():\n pass\n" + "\n".join(f" {line}" for line in plain)
    table = symtable.symtable(wrapped, "<snippet>", "exec").get_children()[0]
    return [each.get_name() for each in table.get_symbols() if each.is_assigned() or each.is_imported()]


def _awaits(node: ast.AST) -> bool:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.Await | ast.AsyncFor | ast.AsyncWith) or _awaits(child):
            return True
    return False


class Nursery:
    """The process that forks runners; one for all tests, gone with them."""

    def __init__(self) -> None:
        self._control, there = socket.socketpair()
        with there:
            subprocess.Popen(
                [sys.executable, "-s", "-P", "-B", str(NURSERY)],
                stdin=there,
                stdout=subprocess.DEVNULL,
                stderr=None if os.environ.get("RIG_STDERR") else subprocess.DEVNULL,
                env={"PYTHONHASHSEED": "0"},
            )
        self._text = b""
        self._ended: dict[int, int] = {}

    def start(self, channel: socket.socket) -> int:
        """Fork a runner for `channel`; its pid."""
        socket.send_fds(self._control, [b"."], [channel.fileno()])
        while True:
            for fact in self._heard(0):
                if "started" in fact:
                    return int(fact["started"])

    def status(self, pid: int) -> int | None:
        """How a runner ended; None while it lives."""
        with contextlib.suppress(BlockingIOError):
            self._heard(socket.MSG_DONTWAIT)
        return self._ended.get(pid)

    def _heard(self, flags: int) -> list[dict[str, int]]:
        *lines, self._text = (self._text + self._control.recv(65536, flags)).split(b"\n")
        facts: list[dict[str, int]] = [json.loads(line) for line in lines]
        self._ended.update((fact["ended"], fact["status"]) for fact in facts if "ended" in fact)
        return facts


@functools.cache
def nursery() -> Nursery:
    """The one nursery of this process."""
    return Nursery()


@dataclass(frozen=True)
class Runner:
    """One runner's process."""

    pid: int

    def kill(self) -> None:
        """End it now; nothing where it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it ended between the look and the kill
                os.kill(self.pid, signal.SIGKILL)

    def poll(self) -> int | None:
        """How it ended; None while it lives."""
        return nursery().status(self.pid)


@contextlib.contextmanager
def runner() -> Iterator[tuple[socket.socket, Runner]]:
    """A runner and the host's end of its channel; both are gone afterwards."""
    here, there = socket.socketpair()
    with there:
        process = Runner(nursery().start(there))
    try:
        yield here, process
    finally:
        here.close()
        process.kill()


TOOLS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "echo": echo,
    "slow": lambda args: Later(0.05, args["text"]),
    "refuse": lambda args: Refuse(message=f"`{args.get('text')}` is out of scope", hint="ask for another"),
    "add": lambda args: args["a"] + args["b"],
    "never": never,
}


def play(source: str, serve: Mapping[str, Callable[[dict[str, Any]], Any]] = TOOLS, **changes: Any) -> Ended:
    """Run a snippet to its end, its calls served by `serve`. Raises TimeoutError after 20 seconds.

    `at_most` ends it after so many printed characters, `seconds` after so long, as the host would.
    """
    at_most, seconds = changes.pop("at_most", float("inf")), changes.pop("seconds", None)
    return asyncio.run(_play(start_of(source, **changes), Host(serve, at_most), seconds))


async def _play(start: Start, host: Host, seconds: float | None) -> Ended:
    with runner() as (sock, process):
        host.connection = await attach(asyncio.get_running_loop(), sock, Session(TOKEN, WireLimits()), host)
        try:
            async with asyncio.timeout(SECONDS):
                await host.hello.wait()
                host.connection.send_start(start)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(host.over.wait(), seconds)
                host.ended.unread = host.connection.unread_bytes
                if not host.over.is_set() or host.at_most < float("inf"):
                    process.kill()
                while process.poll() is None:
                    await asyncio.sleep(0.002)
                await asyncio.sleep(0.01)
        finally:
            host.connection.close()
        host.ended.status = process.poll()
    return host.ended
