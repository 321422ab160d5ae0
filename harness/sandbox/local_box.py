"""A box whose first process this host made itself: seen, measured, frozen and killed by that process's id.

How the process came to be, and who collects its end, is the backends' part.
"""

import asyncio
import os
import signal
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from harness.core.errors import EnvironmentUnavailable
from harness.core.ports import BoxExit, BoxUsage
from harness.sandbox.box_exit import classify
from harness.sandbox.cgroup import locate
from harness.sandbox.cgroup_files import Group
from harness.sandbox.confinement import own_filters, require_confined
from harness.sandbox.kernel import has_swap
from harness.sandbox.kernel_files import read_text
from harness.sandbox.leftover import leave
from harness.sandbox.process import Handle
from harness.sandbox.readback import limit_faults
from harness.sandbox.spec import SandboxSpec
from harness.sandbox.watch import Watch

__all__ = ["END_SECONDS", "LocalBox", "kill_now", "readable"]

STACKED_FILTERS = 2
"""The outer one and the inner one."""
END_SECONDS = 5.0
"""From SIGKILL to the end of a tree: 1 ms here; the bound is for a machine that swaps."""
LAST_SECONDS = 0.2
"""For a box that has hung up to end by itself: an exit takes 1 to 20 ms. Then it is killed."""
LEAVE_SECONDS = 0.005
"""Between two tries to remove a control group that a dying tree still leaves."""


class LocalBox:
    """One box; see `harness.core.ports.Box`. The first process is the first of a pid namespace: all end with it."""

    def __init__(self, name: str, channel: socket.socket, spec: SandboxSpec, group: Group | None) -> None:
        self.id = name
        self.spec = spec
        self.channel = channel
        self.on_close: Callable[[], object] | None = None
        self._group = group
        self._first: Handle | None = None
        self._watch: Watch | None = None
        self._killed = False
        self._verified = False
        self._exit: BoxExit | None = None
        self._closing = asyncio.Lock()
        self._used = BoxUsage(None, None, None)

    def found(self, pid: int, *, entered: bool) -> None:
        """The first process is known by its id. Raises ProcessLookupError where it is gone."""
        self._first = Handle(pid)
        self._watch = Watch(pid, self._group, single=self._group is None, entered=entered and self._group is not None)
        if self._killed:
            self._first.send(signal.SIGKILL)

    @property
    def first_pid(self) -> int:
        """The host's id of the first process; 0 before it is known."""
        return self._first.pid if self._first is not None else 0

    def processes(self) -> list[int]:
        """The host's ids of the box's processes now."""
        return self._watch.processes() if self._watch is not None else []

    async def verify(self) -> None:
        """Every task is confined and every limit holds, as the kernel says; looked at before the first byte of a run.

        Once: nothing that is not ours has run before, and the box cannot loosen anything afterwards.

        Raises EnvironmentUnavailable.
        """
        if self._verified:
            return
        pids = self.processes()
        if self._first is None or self._first.pid not in pids:
            raise EnvironmentUnavailable("the box is not in its control group, so its limits do not hold")
        require_confined(pids, own_filters() + STACKED_FILTERS)
        if self._group is not None:
            self._require_limits(self._first.pid)
        self._verified = True

    def _require_limits(self, pid: int) -> None:
        try:
            membership = read_text(f"/proc/{pid}/cgroup")
        except OSError:
            membership = ""
        located = locate(read_text("/proc/self/mountinfo"), membership)
        faults = limit_faults(located, self.spec, swap=has_swap())
        if faults:
            raise EnvironmentUnavailable(
                f"a limit of the box does not hold: {faults[0]}", hint="nothing was run in it; run `harness doctor`"
            )

    def usage(self) -> BoxUsage:
        """A reading now; the last one once the box is closed."""
        if self._watch is not None and self._exit is None:
            self._used = self._watch.usage()
        return self._used

    async def kill(self) -> None:
        """SIGKILL to the first process, and so to all of them. Idempotent."""
        if self._exit is None:
            self.send_kill()
            await self._collect(END_SECONDS)

    async def freeze(self) -> None:
        """Stop every task in place."""
        self._hold(True)

    async def thaw(self) -> None:
        """Undo `freeze`."""
        self._hold(False)

    async def close(self) -> BoxExit:
        """Kill what is left, collect the exit, remove the control group."""
        async with self._closing:
            if self._exit is None:
                self._exit = await self._end()
                self._let_go()
                if self._group is not None:
                    await _removed(self._group)
            return self._exit

    async def _end(self) -> BoxExit:
        if not self._ending():
            self.send_kill()
        ended, status = await self._collect(LAST_SECONDS)
        if not ended:
            self.send_kill()
            ended, status = await self._collect(END_SECONDS)
        self.usage()
        return classify(status, killed=self._killed, oom_kills=self._watch.oom_kills if self._watch is not None else 0)

    def _ending(self) -> bool:
        """Whether the box has hung up: then it is most likely ending by itself, and how is worth knowing."""
        try:
            return not self.channel.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def gone(self) -> bool:
        """Whether nothing is left of a box that was killed; its control group is taken away as soon as it can be."""
        return self._group is None or self._group.remove()

    def send_kill(self) -> None:
        """SIGKILL to the first process and to all of the group, without waiting for their end."""
        self._killed = True
        if self._first is not None:
            self._first.send(signal.SIGKILL)
        if self._group is not None:
            self._group.kill()

    def _hold(self, frozen: bool) -> None:
        if self._group is not None and self._group.freeze(frozen):
            return
        for pid in filter(None, self.processes()):  # 0, a process of another pid namespace, would be ourselves
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP if frozen else signal.SIGCONT)

    async def _collect(self, seconds: float) -> tuple[bool, int | None]:
        """Whether the box ended in time, and its first process's exit status (negative: the signal)."""
        raise NotImplementedError

    def _let_go(self) -> None:
        """Close every descriptor."""
        self.channel.close()
        if self._first is not None:
            self._first.close()
        if self.on_close is not None:
            self.on_close()


def kill_now(boxes: Iterable[LocalBox]) -> None:
    """End boxes without an event loop, their control groups too, in the time that a closing box has."""
    left = list(boxes)
    for box in left:
        box.send_kill()
    deadline = time.monotonic() + END_SECONDS
    while (left := [box for box in left if not box.gone()]) and time.monotonic() < deadline:
        time.sleep(LEAVE_SECONDS)


async def _removed(group: Group) -> None:
    """Remove a group that a dying tree may still be leaving; what does not go in time is tried again later."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + END_SECONDS
    removed = False
    try:
        while not (removed := group.remove()) and loop.time() < deadline:
            await asyncio.sleep(LEAVE_SECONDS)
    finally:
        group.close()
        if not removed:
            leave(group)


async def readable(channel: socket.socket, seconds: float | None) -> bool:
    """Whether the socket had something to read, a connection or its end, in time; None waits on."""
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
