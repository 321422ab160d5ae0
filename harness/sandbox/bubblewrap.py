"""The embedded backend, cold: each box is a bubblewrap of its own.

The runner is the first process of the box's pid namespace: killing it ends the whole tree, whatever the tree does.
"""

import asyncio
import json
import os
import signal
import socket
from contextlib import suppress
from pathlib import Path

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.boot import Inherited, Walls, address_space, boot_argument
from harness.sandbox.bwrap_args import Inherit, arguments
from harness.sandbox.bwrap_program import explain, probe
from harness.sandbox.cgroup import Parent, find
from harness.sandbox.cgroup_files import Group
from harness.sandbox.kernel import landlock_version
from harness.sandbox.local_box import END_SECONDS, LocalBox, kill_now, readable
from harness.sandbox.process import Child, exit_status, pipe_with
from harness.sandbox.seccomp import outer_filter
from harness.sandbox.spec import SandboxSpec
from harness.sandbox.tree import host_tree
from harness.sandbox.users import box_user
from harness.walls.bubblewrap import Program

__all__ = ["BubblewrapBackend", "BubblewrapBox", "Ground"]

SIGNAL_BASE = 128
"""Bubblewrap says a signal as a shell does."""


class Ground:
    """What every box of this process stands on: the program, the tree, the place for control groups; found once."""

    def __init__(self, tree: Path | None = None, *, groups: bool = True) -> None:
        self._tree = tree
        self._groups = groups
        self._lock = asyncio.Lock()
        self._ready = False
        self.program: Program
        self.tree: Path
        self.parent: Parent | None = None
        """None: boxes are single processes."""

    async def prepare(self) -> None:
        """Find everything, building what is missing. Raises EnvironmentUnavailable."""
        async with self._lock:
            if self._ready:
                return
            self.tree = self._tree if self._tree is not None else await asyncio.to_thread(host_tree)
            self.program = await asyncio.to_thread(probe)
            self.parent = find() if self._groups else None
            if self.parent is not None:
                await asyncio.to_thread(self.parent.sweep)
            self._ready = True

    def group(self, spec: SandboxSpec) -> Group | None:
        """A new control group with the limits of `spec`; None where boxes are single processes.

        Raises EnvironmentUnavailable where a limit cannot be held.
        """
        if self.parent is not None:
            return self.parent.create(spec)
        address_space(spec)
        return None


class BubblewrapBackend:
    """Makes boxes with bubblewrap; each lives and dies with this process."""

    name = "bubblewrap"

    def __init__(self, *, tree: Path | None = None, groups: bool = True) -> None:
        """`tree`: another root file system than this host's. `groups`: False makes single-process boxes everywhere."""
        self._ground = Ground(tree, groups=groups)
        self._live: dict[str, BubblewrapBox] = {}

    async def start(self, spec: SandboxSpec) -> "BubblewrapBox":
        """A box that has confined itself. Raises EnvironmentUnavailable."""
        await self._ground.prepare()
        group = self._ground.group(spec)
        try:
            box = BubblewrapBox(spec, group, self._ground.program.path, self._ground.tree)
        except BaseException:
            if group is not None:
                group.remove()
            raise
        self._live[box.id] = box
        box.on_close = lambda: self._live.pop(box.id, None)
        try:
            await box.until_ready()
        except BaseException:
            await box.close()
            raise
        return box

    async def close(self) -> None:
        """End the boxes that are left."""
        for box in list(self._live.values()):
            await box.close()

    def kill_now(self) -> None:
        """See `harness.core.ports.Backend`."""
        kill_now(self._live.values())


class BubblewrapBox(LocalBox):
    """One box, started cold."""

    def __init__(self, spec: SandboxSpec, group: Group | None, program: Path, tree: Path) -> None:
        channel, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        channel.setblocking(False)
        self._info, info = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        entrances = group.entrances() if group is not None else []
        seccomp = pipe_with(outer_filter(single=group is None))
        walls = Walls(single=group is None, own_user=True, landlock=landlock_version() > 0, own_work=True)
        boot = boot_argument(spec, Inherited(inner.fileno()), walls, tuple(entrances))
        try:
            self._child = Child(
                arguments(program, tree, Inherit(seccomp, info), boot),
                pass_fds=(inner.fileno(), seccomp, info, *entrances),
                user=box_user(),
            )
        except BaseException:
            channel.close()
            os.close(self._info)
            raise
        finally:
            inner.close()
            for descriptor in (seccomp, info, *entrances):
                os.close(descriptor)
        super().__init__(f"bubblewrap-{self._child.handle.pid}", channel, spec, group)

    async def until_ready(self) -> None:
        """Wait for the first byte of the box, leaving it unread. Raises EnvironmentUnavailable."""
        if not await readable(self.channel, self.spec.start_seconds):
            raise EnvironmentUnavailable(
                f"the box did not start within {self.spec.start_seconds:g} s", hint="see what the machine is busy with"
            )
        self._learn_first()
        if self._ending() or self._first is None:
            status = await self._child.collect(END_SECONDS)
            raise explain(self._child.words() or f"the box ended with status {status} before its first word")

    def send_kill(self) -> None:
        """As every box of this host; one whose first process is not known yet ends with its bubblewrap."""
        self._learn_first()
        if self._first is None:
            self._child.handle.send(signal.SIGKILL)
        super().send_kill()

    def _learn_first(self) -> None:
        """The host's id of the box's first process, which bubblewrap says before it starts it."""
        if self._first is not None:
            return
        try:
            said = json.loads(os.read(self._info, 4096) or b"{}")
        except (BlockingIOError, ValueError):
            return
        pid = said.get("child-pid") if isinstance(said, dict) else None
        if isinstance(pid, int):
            with suppress(ProcessLookupError):
                self.found(pid, entered=True)

    async def _collect(self, seconds: float) -> tuple[bool, int | None]:
        status = await self._child.collect(seconds)
        if status is None:
            return False, None
        kept = self._first.status() if self._first is not None else None
        if kept is not None:
            return True, exit_status(kept)
        signalled = status > SIGNAL_BASE and status - SIGNAL_BASE in signal.valid_signals()
        return True, SIGNAL_BASE - status if signalled else status

    def _let_go(self) -> None:
        super()._let_go()
        os.close(self._info)
        self._child.close()
