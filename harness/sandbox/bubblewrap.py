"""The embedded backend: each box is a bubblewrap of its own, started cold.

The runner is the first process of the box's pid namespace: killing it ends the whole tree, whatever the tree does.
"""

import asyncio
import json
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from harness.core.errors import EnvironmentUnavailable
from harness.core.ports import BoxExit, BoxUsage
from harness.sandbox.boot import Inherited, Walls, boot_argument
from harness.sandbox.box_exit import classify
from harness.sandbox.bwrap_args import Inherit, arguments
from harness.sandbox.bwrap_program import Program, explain, probe
from harness.sandbox.cgroup import Parent, find
from harness.sandbox.cgroup_files import Group
from harness.sandbox.confinement import own_filters, require_confined
from harness.sandbox.process import Child, Handle, exit_status, pipe_with
from harness.sandbox.seccomp import outer_filter
from harness.sandbox.spec import SandboxSpec
from harness.sandbox.tree import host_tree
from harness.sandbox.users import box_user
from harness.sandbox.watch import Watch

__all__ = ["BubblewrapBackend", "BubblewrapBox"]

STACKED_FILTERS = 2
"""The outer one and the inner one."""
END_SECONDS = 5.0
"""From SIGKILL to the end of a tree: 1 ms here; the bound is for a machine that swaps."""
LAST_SECONDS = 0.2
"""For a box that has hung up to end by itself: an exit takes 1 to 20 ms. Then it is killed."""
LEAVE_SECONDS = 0.005
"""Between two tries to remove a control group that a dying tree still leaves."""
SIGNAL_BASE = 128
"""Bubblewrap says a signal as a shell does."""


class BubblewrapBackend:
    """Makes boxes with bubblewrap; each lives and dies with this process."""

    name = "bubblewrap"

    def __init__(self, *, tree: Path | None = None, groups: bool = True) -> None:
        """`tree`: another root file system than this host's. `groups`: False makes single-process boxes everywhere."""
        self._tree = tree
        self._wanted_groups = groups
        self._program: Program | None = None
        self._parent: Parent | None = None
        self._live: dict[str, BubblewrapBox] = {}
        self._ready = asyncio.Lock()

    async def start(self, spec: SandboxSpec) -> "BubblewrapBox":
        """A box that has confined itself. Raises EnvironmentUnavailable."""
        program, tree = await self._prepared()
        group = self._parent.create(spec) if self._parent is not None else None
        try:
            box = BubblewrapBox(spec, group, program.path, tree)
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

    async def _prepared(self) -> tuple[Program, Path]:
        async with self._ready:
            if self._program is None:
                if self._tree is None:
                    self._tree = await asyncio.to_thread(host_tree)
                program = await asyncio.to_thread(probe)
                self._parent = find() if self._wanted_groups else None
                if self._parent is not None:
                    await asyncio.to_thread(self._parent.sweep)
                self._program = program
        assert self._tree is not None
        return self._program, self._tree


class BubblewrapBox:
    """One box; see `harness.core.ports.Box`."""

    def __init__(self, spec: SandboxSpec, group: Group | None, program: Path, tree: Path) -> None:
        self._spec = spec
        self._group = group
        self._killed = False
        self._exit: BoxExit | None = None
        self._init: Handle | None = None
        self._watch: Watch | None = None
        self._used = BoxUsage(None, None, None)
        self.on_close: Callable[[], object] | None = None
        self.channel, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.channel.setblocking(False)
        self._info, info = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        entrances = group.entrances() if group is not None else []
        user = box_user()
        seccomp = pipe_with(outer_filter(single=group is None))
        walls = Walls(single=group is None, own_user=True, landlock=False)
        boot = boot_argument(spec, Inherited(inner.fileno()), walls, tuple(entrances))
        try:
            self._child = Child(
                arguments(program, tree, spec, Inherit(seccomp, info), boot),
                pass_fds=(inner.fileno(), seccomp, info, *entrances),
                user=user,
            )
        except BaseException:
            self.channel.close()
            os.close(self._info)
            raise
        finally:
            inner.close()
            for descriptor in (seccomp, info, *entrances):
                os.close(descriptor)
        self.id = f"bubblewrap-{self._child.handle.pid}"

    async def until_ready(self) -> None:
        """Wait for the first byte of the box, leaving it unread. Raises EnvironmentUnavailable."""
        if not await _readable(self.channel, self._spec.start_seconds):
            raise EnvironmentUnavailable(
                f"the box did not start within {self._spec.start_seconds:g} s", hint="see what the machine is busy with"
            )
        self._learn_init()
        try:
            alive = bool(self.channel.recv(1, socket.MSG_PEEK)) and self._init is not None
        except OSError:
            alive = False
        if not alive:
            await self._child.collect(END_SECONDS)
            raise explain(self._child.words())

    async def verify(self) -> None:
        """Every task of the box is confined, and the box is in its group. Raises EnvironmentUnavailable."""
        if self._init is None or self._watch is None:
            raise EnvironmentUnavailable("the box has not started")
        pids = self._watch.processes()
        if self._init.pid not in pids:
            raise EnvironmentUnavailable("the box is not in its control group, so its limits do not hold")
        require_confined(pids, own_filters() + STACKED_FILTERS)

    @property
    def first_pid(self) -> int:
        """The host's id of the box's first process; 0 before the box is ready."""
        return self._init.pid if self._init is not None else 0

    def processes(self) -> list[int]:
        """The host's ids of the box's processes now."""
        return self._watch.processes() if self._watch is not None else []

    def usage(self) -> BoxUsage:
        """A reading now; the last one once the box is closed."""
        if self._watch is not None and self._exit is None:
            self._used = self._watch.usage()
        return self._used

    async def kill(self) -> None:
        """SIGKILL to the first process, and so to all of them. Idempotent."""
        if self._exit is None:
            self._kill()
            await self._child.collect(END_SECONDS)

    async def freeze(self) -> None:
        """Stop every task in place."""
        self._hold(True)

    async def thaw(self) -> None:
        """Undo `freeze`."""
        self._hold(False)

    async def close(self) -> BoxExit:
        """Kill what is left, collect the exit, remove the control group."""
        if self._exit is not None:
            return self._exit
        if not self._ending():
            self._kill()
        status = await self._child.collect(LAST_SECONDS)
        if status is None:
            self._kill()
            status = await self._child.collect(END_SECONDS)
        self.usage()
        self._exit = classify(
            self._first_status(status),
            killed=self._killed,
            oom_kills=self._watch.oom_kills if self._watch is not None else 0,
        )
        self.channel.close()
        os.close(self._info)
        if self._init is not None:
            self._init.close()
        self._child.close()
        if self.on_close is not None:
            self.on_close()
        await self._leave_group()
        return self._exit

    def _ending(self) -> bool:
        """Whether the box has hung up: then it is most likely ending by itself, and how is worth knowing."""
        with suppress(BlockingIOError):
            try:
                return not self.channel.recv(1, socket.MSG_PEEK)
            except ConnectionError:
                return True
        return False

    def _kill(self) -> None:
        self._killed = True
        if self._init is None:
            self._learn_init()
        if self._init is not None:
            self._init.send(signal.SIGKILL)
        else:
            self._child.handle.send(signal.SIGKILL)
        if self._group is not None:
            self._group.kill()

    def _hold(self, frozen: bool) -> None:
        if self._group is not None and self._group.freeze(frozen):
            return
        for pid in self._watch.processes() if self._watch is not None else ():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP if frozen else signal.SIGCONT)

    def _learn_init(self) -> None:
        """The host's id of the box's first process, which bubblewrap says before it starts it."""
        try:
            said = json.loads(os.read(self._info, 4096) or b"{}")
        except (BlockingIOError, ValueError):
            return
        pid = said.get("child-pid") if isinstance(said, dict) else None
        if isinstance(pid, int):
            with suppress(ProcessLookupError):
                self._init = Handle(pid)
                self._watch = Watch(pid, self._group, single=self._group is None)

    def _first_status(self, status: int | None) -> int | None:
        """The first process's own status: from the kernel where it keeps it, else as bubblewrap passes it on."""
        kept = self._init.status() if self._init is not None else None
        if kept is not None:
            return exit_status(kept)
        if status is None or status <= SIGNAL_BASE:
            return status
        return SIGNAL_BASE - status if status - SIGNAL_BASE in signal.valid_signals() else status

    async def _leave_group(self) -> None:
        if self._group is None:
            return
        async with asyncio.timeout(END_SECONDS):
            while not self._group.remove():
                await asyncio.sleep(LEAVE_SECONDS)


async def _readable(channel: socket.socket, seconds: float) -> bool:
    """Whether the socket had something to read, or its end, in time."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def settle() -> None:
        if not done.done():
            done.set_result(None)

    loop.add_reader(channel.fileno(), settle)
    try:
        async with asyncio.timeout(seconds):
            await done
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(channel.fileno())
    return True
