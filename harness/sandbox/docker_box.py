"""One container as a box: found through the kernel's word for its peer, read, frozen and killed from the host.

What the engine has to say is asked for only where the host cannot see for itself.
"""

import asyncio
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import EnvironmentUnavailable
from harness.core.ports import BoxExit, BoxUsage, ExitKind
from harness.sandbox.box_exit import classify
from harness.sandbox.cgroup import Located, locate
from harness.sandbox.cgroup_files import Group, Group1, Group2
from harness.sandbox.confinement import require_confined
from harness.sandbox.engine import Engine, EngineRefused
from harness.sandbox.process import Handle
from harness.sandbox.readback import limit_faults
from harness.sandbox.rendezvous import Peer, Rendezvous
from harness.sandbox.spec import SandboxSpec
from harness.sandbox.watch import Watch

__all__ = ["DockerBox", "Seen", "has_swap", "see"]

STACKED_FILTERS = 2
"""The engine's and the box's own."""
END_SECONDS = 10.0
"""From SIGKILL to the end of a tree: 2 ms here; the bound is for a machine that swaps."""
SIGNAL_BASE = 128
"""The engine says a signal as a shell does."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the host can see of a container's first process."""

    handle: Handle
    located: Located
    """Its control groups."""
    group: Group
    watch: Watch


class DockerBox:
    """One container; see `harness.core.ports.Box`."""

    def __init__(self, engine: Engine, container: str, spec: SandboxSpec, meeting: Rendezvous) -> None:
        """`container`: its name or id, whether or not it exists yet."""
        self.id = container
        self.channel: socket.socket | None = None
        self.seen: Seen | None = None
        self._engine = engine
        self._spec = spec
        self._meeting = meeting
        self._killed = False
        self._exit: BoxExit | None = None
        self._closing = asyncio.Lock()
        self._used = BoxUsage(None, None, None)
        self.starting: asyncio.Task[None] | None = None
        """The engine's answer to the start, which comes after the box's first word."""
        self.on_close: Callable[[], object] | None = None

    async def verify(self) -> None:
        """Every task is confined and every limit holds, as the kernel says. Raises EnvironmentUnavailable."""
        if self.seen is None:
            raise EnvironmentUnavailable(
                "the box cannot be seen from this host, so its confinement cannot be verified",
                hint="run the harness on the engine's machine, outside containers or with the host's process ids",
            )
        require_confined(self.seen.watch.processes(), STACKED_FILTERS)
        faults = limit_faults(self.seen.located, self._spec, swap=has_swap())
        if faults:
            raise EnvironmentUnavailable(
                f"a limit of the box does not hold: {faults[0]}", hint="nothing was run in it; run `harness doctor`"
            )

    def usage(self) -> BoxUsage:
        """A reading now: some µs; the last one once the box has ended."""
        if self.seen is not None and self._exit is None:
            now = self.seen.watch.usage()
            self._used = BoxUsage(
                self._used.cpu_seconds if now.cpu_seconds is None else now.cpu_seconds,
                self._used.memory_mb if now.memory_mb is None else now.memory_mb,
                self._used.pids if now.pids is None else now.pids,
            )
        return self._used

    async def kill(self) -> None:
        """SIGKILL to the first process by the host's own hand, else through the engine. Idempotent."""
        if self._exit is not None:
            return
        if self.seen is not None:
            self.usage()
            if await self.seen.handle.ended(0):
                return
            self._killed = True
            with suppress(PermissionError):
                self.seen.handle.send(signal.SIGKILL)
                self.seen.group.freeze(False)
                if await self.seen.handle.ended(END_SECONDS):
                    return
        self._killed = True
        with suppress(EngineRefused):
            await self._engine.post(f"/containers/{self.id}/kill", query={"signal": "KILL"})

    async def freeze(self) -> None:
        """Stop every task in place."""
        if self.seen is None or not self.seen.group.freeze(True):
            with suppress(EngineRefused):
                await self._engine.post(f"/containers/{self.id}/pause")

    async def thaw(self) -> None:
        """Undo `freeze`."""
        if self.seen is None or not self.seen.group.freeze(False):
            with suppress(EngineRefused):
                await self._engine.post(f"/containers/{self.id}/unpause")

    async def close(self) -> BoxExit:
        """Kill what is left, read how it ended, remove the container and the socket's folder."""
        async with self._closing:
            if self._exit is None:
                await self.kill()
                if self.starting is not None:
                    await asyncio.wait([self.starting])
                ended = await self._ending()
                await self.remove()
                self._exit = ended
            return self._exit

    async def remove(self) -> None:
        """Remove every trace, whatever state the container is in, or if it never came to be."""
        with suppress(EngineRefused):
            await self._engine.request("DELETE", f"/containers/{self.id}", query={"force": "1", "v": "1"})
        self._meeting.close()
        if self.channel is not None:
            self.channel.close()
        if self.seen is not None:
            self.seen.handle.close()
            self.seen.group.remove()
        if self.on_close is not None:
            self.on_close()

    async def _ending(self) -> BoxExit:
        try:
            status, out_of_memory = await self.final_state()
        except EngineRefused as refused:
            if refused.status == 404:
                return BoxExit(ExitKind.KILLED_BY_OTHERS, "the container was removed from outside")
            raise
        oom_kills = max(self.seen.watch.oom_kills if self.seen is not None else 0, int(out_of_memory))
        return classify(status, killed=self._killed, oom_kills=oom_kills)

    async def final_state(self) -> tuple[int | None, bool]:
        """Exit status (negative for a signal; None where it has not ended) and whether memory ran out."""
        async with asyncio.timeout(END_SECONDS):
            while True:
                state = (await self._engine.get(f"/containers/{self.id}/json"))["State"]
                if not state["Running"] and state["Status"] != "created":
                    break
                if self.seen is None and not self._killed:
                    return None, False
                await asyncio.sleep(0.002)
        code = int(state["ExitCode"])
        numbered = code - SIGNAL_BASE if code - SIGNAL_BASE in signal.valid_signals() else 0
        return (-numbered if numbered > 0 else code), bool(state["OOMKilled"])


def see(container: str, peer: Peer) -> Seen | None:
    """The process behind a connection, where it is in the container's own control group.

    None where this host cannot see it. Raises EnvironmentUnavailable where it is another process.
    """
    if peer.pid == 0:
        return None
    try:
        handle = Handle(peer.pid)
    except ProcessLookupError:
        return None
    try:
        membership = Path(f"/proc/{peer.pid}/cgroup").read_text()
        mounts = Path("/proc/self/mountinfo").read_text()
    except OSError:
        handle.close()
        return None
    if container not in membership:
        handle.close()
        raise EnvironmentUnavailable(
            "another process than the box connected to its socket", hint="see who else can enter the folder of sockets"
        )
    located = locate(mounts, membership)
    group: Group
    if "memory" in located.version1 and "pids" in located.version1:
        group = Group1(located.version1)
    elif located.version2 is not None:
        group = Group2(located.version2)
    else:
        handle.close()
        return None
    return Seen(handle, located, group, Watch(peer.pid, group))


def has_swap() -> bool:
    """Whether this machine has swap on; assumed where it cannot be read."""
    try:
        return len(Path("/proc/swaps").read_text().splitlines()) > 1
    except OSError:
        return True
