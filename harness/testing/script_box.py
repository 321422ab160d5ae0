"""A box that plays a script: no isolation, no snippet, the real wire. For tests of contracts, tools and endings only.

It is never chosen by the harness: a test hands it over by name.
"""

import contextlib
import importlib.util
import json
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

from harness.core.call import Json
from harness.core.ports import BoxExit, BoxUsage, ExitKind

__all__ = ["BoxSide", "ScriptBackend", "ScriptBox"]


class BoxSide:
    """The box's end of the wire, for a script: it may follow the protocol or break it."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._next = 1
        self.start: dict[str, Any] = {}
        """The host's `start` frame, after `open`."""

    def send(self, message: Json) -> None:
        """Send one message as a well-formed frame."""
        self.send_bytes(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8"))

    def send_bytes(self, body: bytes) -> None:
        """Send one frame with any body."""
        self.send_raw(struct.pack(">I", len(body)) + body)

    def send_raw(self, data: bytes) -> None:
        """Send bytes that need not be a frame."""
        self._sock.sendall(data)

    def receive(self) -> Any:
        """The next message of the host; None where it closed the channel."""
        head = self._read(4)
        if len(head) < 4:
            return None
        return json.loads(self._read(struct.unpack(">I", head)[0]))

    def hello(self) -> None:
        """Say hello as a real box would."""
        magic = importlib.util.MAGIC_NUMBER.hex()
        self.send({"t": "hello", "v": 1, "python": "3", "magic": magic})

    def open(self) -> None:
        """Take the snippet and give the token back. Raises ConnectionResetError where the host hung up before."""
        self.start = self.receive()
        if self.start is None:
            raise ConnectionResetError("the host hung up before it sent a snippet")
        self.send({"t": "open", "token": self.start["token"]})

    def call(self, tool: str, /, **args: Json) -> Any:
        """Use a stub: the host's answer frame."""
        self.send_call(tool, args)
        return self.receive()

    def send_call(self, tool: str, args: Json, task: str = "0") -> int:
        """Send a call without waiting; its number."""
        number = self._next
        self._next += 1
        self.send({"t": "call", "id": number, "task": task, "tool": tool, "args": args})
        return number

    def result(self, value: Json) -> None:
        """End with a result."""
        self.send({"t": "result", "value": value, "none": value is None})

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            chunk = self._sock.recv(size - len(data))
            if not chunk:
                break
            data += chunk
        return data


class ScriptBox:
    """`harness.core.ports.Box` over a thread that plays a script."""

    def __init__(self, name: str, script: Callable[[BoxSide], None]) -> None:
        self.id = name
        self.channel, self._inner = socket.socketpair()
        self.channel.setblocking(False)
        self._killed = False
        self._thread = threading.Thread(target=self._play, args=(script,), daemon=True)
        self._thread.start()

    def _play(self, script: Callable[[BoxSide], None]) -> None:
        try:
            script(BoxSide(self._inner))
        except OSError:
            pass
        finally:
            self._inner.close()

    async def verify(self) -> None:
        """There is no confinement to read back."""

    def usage(self) -> BoxUsage:
        """Nothing is measured."""
        return BoxUsage(None, None, None)

    async def kill(self) -> None:
        """Cut the channel."""
        self._killed = True
        with contextlib.suppress(OSError):
            self._inner.shutdown(socket.SHUT_RDWR)

    async def freeze(self) -> None:
        """A script cannot be frozen; it waits for its next answer anyway."""

    async def thaw(self) -> None:
        """See `freeze`."""

    async def close(self) -> BoxExit:
        """End the script."""
        await self.kill()
        self._thread.join(1)
        return BoxExit(ExitKind.EXITED, "the script ended")


class ScriptBackend:
    """`harness.core.ports.Backend` that plays `script` in every box: hello and open are the script's to send."""

    name = "script"

    def __init__(self, script: Callable[[BoxSide], None]) -> None:
        self._script = script
        self.started = 0

    async def start(self, spec: Any) -> ScriptBox:
        """A box that plays the script."""
        self.started += 1
        return ScriptBox(f"script-{self.started}", self._script)

    async def close(self) -> None:
        """Nothing is kept."""

    def kill_now(self) -> None:
        """Scripts are threads: they end with the process."""
