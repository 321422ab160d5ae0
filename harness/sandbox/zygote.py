"""The host's end of the zygote: asks it for slots, learns from the kernel who each one is, and how each ended.

A slot has the same walls as a cold box, made by `sandbox_image.zygote` instead of bubblewrap.
"""

import asyncio
import json
import os
import signal
import socket
import struct
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.boot import Inherited, Walls, boot_argument
from harness.sandbox.bwrap_args import Inherit, zygote_arguments
from harness.sandbox.bwrap_program import explain
from harness.sandbox.cgroup_files import Group
from harness.sandbox.kernel import landlock_version
from harness.sandbox.local_box import END_SECONDS, LocalBox, kill_now, readable
from harness.sandbox.process import Child, exit_status, pipe_with
from harness.sandbox.seccomp import zygote_filter
from harness.sandbox.spec import SandboxSpec
from harness.sandbox.users import box_user

__all__ = ["RUNNER", "SlotBox", "Zygote"]

RUNNER = "sandbox_image.runner"
"""The module in the box whose `serve` runs a snippet, and whose `warm` is called once before any fork."""
MIB = 1 << 20
AT_ONCE = 4
"""Slots in the making: more would only share the same processors, and fill the queue of requests (10 by default)."""
MESSAGE_BYTES = 4096
"""A zygote's word: two numbers, or a sentence."""
_CREDENTIALS = struct.Struct("iII")


class Zygote:
    """One process that forks slots. Bound to the event loop that uses it; a new loop takes it over."""

    def __init__(self, program: Path, tree: Path, runner: str = RUNNER) -> None:
        """Start it. Raises EnvironmentUnavailable."""
        self._control, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)
        self._control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        seccomp = pipe_with(zygote_filter())
        settings = json.dumps({"control": inner.fileno(), "runner": runner})
        try:
            self._child = Child(
                zygote_arguments(program, tree, Inherit(seccomp, null), settings),
                pass_fds=(inner.fileno(), seccomp, null),
                user=box_user(),
            )
        except BaseException:
            self._control.close()
            raise
        finally:
            inner.close()
            os.close(seccomp)
            os.close(null)
        self._numbers = count(1)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._ready = False
        self._lost = False
        self._slots: dict[int, SlotBox] = {}
        self._by_inner: dict[int, SlotBox | None] = {}
        """None: a slot that was given up before it had a name here."""
        self._early: dict[int, int] = {}
        """Ends that came before the word which slot it was."""

    @property
    def pid(self) -> int:
        """The host's id of its bubblewrap."""
        return self._child.handle.pid

    @property
    def alive(self) -> bool:
        """Whether it can still fork."""
        return not self._lost and self._child.handle.alive()

    async def until_ready(self, seconds: float) -> None:
        """Wait until it has warmed up. Raises EnvironmentUnavailable with its last words."""
        if not await readable(self._control, seconds):
            raise EnvironmentUnavailable(
                f"the process that makes boxes did not start within {seconds:g} s", hint="see what the machine does"
            )
        self._read()
        if not self._ready:
            await self._child.collect(END_SECONDS)
            raise explain(self._child.words())

    async def slot(self, spec: SandboxSpec, group: Group | None) -> "SlotBox":
        """A confined box that has said its first word, and was verified. Raises EnvironmentUnavailable."""
        self.attend()
        if self._lost:
            raise EnvironmentUnavailable("the process that makes boxes is gone")
        channel, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        channel.setblocking(False)
        number = next(self._numbers)
        box = SlotBox(number, channel, spec, group, self)
        self._slots[number] = box
        try:
            async with self._turn:
                self._ask(number, spec, inner, group)
                await box.until_ready(spec.start_seconds)
            await box.verify()
        except BaseException:
            if inner.fileno() >= 0:
                inner.close()
                box.ended(None)
            await box.close()
            raise
        return box

    async def close(self) -> None:
        """End it, and with it every slot."""
        self._child.handle.send(signal.SIGKILL)
        await self._child.collect(END_SECONDS)
        self._leave_loop()
        self._lose()
        self._control.close()
        self._child.close()

    def kill_now(self) -> None:
        """As `close`, without an event loop."""
        self._child.handle.send(signal.SIGKILL)
        kill_now(list(self._slots.values()))

    def _ask(self, number: int, spec: SandboxSpec, inner: socket.socket, group: Group | None) -> None:
        entrances = group.entrances() if group is not None else []
        walls = Walls(single=group is None, own_user=True, landlock=landlock_version() > 0)
        boot = boot_argument(spec, Inherited(0), walls)
        work = f'{{"bytes":{spec.disk_mb * MIB},"inodes":{spec.inodes}}}'
        message = f'{{"slot":{number},"work":{work},"boot":{boot}}}'.encode()
        try:
            socket.send_fds(self._control, [message], [inner.fileno(), *entrances])
        except OSError as error:
            raise EnvironmentUnavailable(f"the process that makes boxes is gone: {error}") from None
        finally:
            inner.close()
            for entrance in entrances:
                os.close(entrance)

    def attend(self) -> None:
        """Read its words on the loop that runs now."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop and not self._lost:
            self._leave_loop()
            self._loop = loop
            self._turn = asyncio.Semaphore(AT_ONCE)
            loop.add_reader(self._control.fileno(), self._read)
            self._read()

    def _leave_loop(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._control.fileno())
        self._loop = None

    def _read(self) -> None:
        while not self._lost:
            try:
                content, ancillary, _, _ = self._control.recvmsg(MESSAGE_BYTES, socket.CMSG_SPACE(_CREDENTIALS.size))
            except BlockingIOError:
                return
            except OSError:
                content = b""
            if not content:
                self._leave_loop()
                self._lose()
                return
            self._hear(json.loads(content), _sender(ancillary))

    def _hear(self, message: dict[str, Any], sender: int) -> None:
        if "ready" in message:
            self._ready = True
        elif "ended" in message:
            self._hear_end(message["ended"], message["status"])
        elif "inner" in message:
            self._hear_inner(self._slots.get(message["slot"]), message["inner"])
        elif message["slot"] in self._slots:
            self._hear_slot(self._slots[message["slot"]], message, sender)

    def _hear_end(self, inner: int, status: int) -> None:
        if inner not in self._by_inner:
            self._early[inner] = status
            return
        box = self._by_inner.pop(inner)
        if box is not None:
            box.ended(status)

    def _hear_inner(self, box: "SlotBox | None", inner: int) -> None:
        status = self._early.pop(inner, None)
        if status is None:
            self._by_inner[inner] = box
        elif box is not None:
            box.ended(status)

    def _hear_slot(self, box: "SlotBox", message: dict[str, Any], sender: int) -> None:
        if "up" in message:
            with suppress(ProcessLookupError):
                box.found(sender, entered=False)
        else:
            box.failed(message["failed"])

    def forget(self, box: "SlotBox") -> None:
        """A slot is closed: nothing more is told to it."""
        self._slots.pop(box.number, None)

    def _lose(self) -> None:
        self._lost = True
        for box in list(self._slots.values()):
            box.ended(None)


class SlotBox(LocalBox):
    """One slot of a zygote."""

    def __init__(
        self, number: int, channel: socket.socket, spec: SandboxSpec, group: Group | None, zygote: Zygote
    ) -> None:
        """`number`: the zygote's name for it."""
        super().__init__(f"slot-{zygote.pid}-{number}", channel, spec, group)
        self.number = number
        self._zygote = zygote
        self._end_known = asyncio.Event()
        self._status: int | None = None
        self._why = ""

    @property
    def waiting(self) -> bool:
        """Whether it still lives, with its first word unread."""
        return self._exit is None and not self._end_known.is_set() and not self._ending()

    async def until_ready(self, seconds: float) -> None:
        """Wait for the first byte of the box, leaving it unread. Raises EnvironmentUnavailable."""
        if not await readable(self.channel, seconds):
            raise EnvironmentUnavailable(
                f"the box did not start within {seconds:g} s", hint="see what the machine is busy with"
            )
        if self._ending() or self._first is None:
            raise EnvironmentUnavailable(f"no box was forked: {self._why or 'it ended at once'}")

    def ended(self, wait_status: int | None) -> None:
        """The zygote collected it; None where the zygote itself is gone."""
        if not self._end_known.is_set():
            self._status = None if wait_status is None else exit_status(wait_status)
            self._end_known.set()

    def failed(self, why: str) -> None:
        """It could not be made."""
        self._why = why
        self.ended(None)

    async def _collect(self, seconds: float) -> tuple[bool, int | None]:
        self._zygote.attend()
        try:
            async with asyncio.timeout(seconds):
                await self._end_known.wait()
        except TimeoutError:
            return False, None
        return True, self._status

    def _let_go(self) -> None:
        super()._let_go()
        self._zygote.forget(self)


def _sender(ancillary: list[tuple[int, int, bytes]]) -> int:
    """The host's id of the process that sent a message, as the kernel says; 0 where it does not."""
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            return int(_CREDENTIALS.unpack(data)[0])
    return 0
