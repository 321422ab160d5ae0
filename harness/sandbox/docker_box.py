"""One container as a box: found through the kernel's word for its first process, read, frozen and killed from the host.

What the engine has to say is asked for only where the host cannot see for itself.
"""

import asyncio
import select
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from harness.core.errors import EnvironmentUnavailable
from harness.core.ports import BoxExit, BoxUsage, ExitKind
from harness.sandbox.attest import asked_limits, faults_inside, read_stats, runtime_faults, statuses_inside
from harness.sandbox.box_exit import classify
from harness.sandbox.confinement import require_confined
from harness.sandbox.docker_args import held_spec
from harness.sandbox.docker_seen import Seen, see
from harness.sandbox.engine import Engine, EngineRefused
from harness.sandbox.kernel import has_swap
from harness.sandbox.local_box import readable
from harness.sandbox.readback import limit_faults
from harness.sandbox.rendezvous import Rendezvous, peer_of
from harness.sandbox.spec import SandboxSpec
from harness.sandbox.stream import Stream
from harness.sandbox.undertaker import Undertaker

__all__ = ["DockerBox"]

Number = TypeVar("Number", int, float)
STACKED_FILTERS = 2
"""The engine's and the box's own."""
END_SECONDS = 10.0
"""From SIGKILL to the end of a tree: 2 ms here; the bound is for a machine that swaps."""
LAST_SECONDS = 0.2
"""For a box that has hung up to end by itself: an exit takes 1 to 20 ms. Then it is killed."""
LATE_SECONDS = 0.3
"""The engine hears of a lack of memory beside the exit, not with it."""
SIGNAL_BASE = 128
"""The engine says a signal as a shell does."""
POLL_SECONDS = 0.1
"""Between two looks at whether a container that has not spoken yet still lives; most have spoken by the first."""
STATS_SECONDS = 0.5
"""Between two questions to the engine about the use of a box that this host cannot see: each costs it some ms."""


class DockerBox:
    """One container; see `harness.core.ports.Box`."""

    channel: socket.socket

    def __init__(self, engine: Engine, undertaker: Undertaker, container: str, spec: SandboxSpec) -> None:
        """`container`: its name, whether or not it exists yet."""
        self.id = container
        self.container = ""
        """The engine's own id, once it is made: control groups are named after it."""
        self.seen: Seen | None = None
        self.meeting: Rendezvous | None = None
        self.stream: Stream | None = None
        self.creating: asyncio.Task[Any] | None = None
        """The engine's answer to the request for the container."""
        self.starting: asyncio.Task[None] | None = None
        """The engine's answer to the start, which may come after the box's first word."""
        self.on_close: Callable[[], object] | None = None
        self._engine = engine
        self._undertaker = undertaker
        self._spec = spec
        self._killed = False
        self._unasked = False
        """Whoever kills it does not ask how it ended; the engine's word on that takes 20 ms."""
        self._verified = False
        self._exit: BoxExit | None = None
        self._closing = asyncio.Lock()
        self._used = BoxUsage(None, None, None)
        self._asking: asyncio.Task[None] | None = None

    async def until_ready(self) -> None:
        """Wait for the first byte of the box, leaving it unread. Raises EnvironmentUnavailable where it ends first."""
        if self.meeting is not None:
            listener = self.meeting.listener
            await self._before_the_end(readable(listener, None))
            self.channel, _ = listener.accept()
            self.meeting.shut()
            self.channel.setblocking(False)
            self.seen = see(self.container, peer_of(self.channel).pid, ours=True)
        else:
            assert self.stream is not None
            self.channel = self.stream.channel
        if self._spec.runtime or self.meeting is None:
            await self._see_first_process()
        if self.seen is None:
            self._asking = asyncio.create_task(self._ask())
        await self._before_the_end(readable(self.channel, self._spec.start_seconds))
        try:
            alive = bool(self.channel.recv(1, socket.MSG_PEEK))
        except OSError:
            alive = False
        if not alive:
            raise self._ended_early(*await self.final_state())

    @property
    def waiting(self) -> bool:
        """Whether it still waits for its run: it lives, its end of the channel is open, its streams are this loop's."""
        if self.stream is not None and not self.stream.usable:
            return False
        hung_up = select.poll()
        hung_up.register(self.channel.fileno(), select.POLLRDHUP)
        return not hung_up.poll(0) and (self.seen is None or self.seen.handle.alive())

    async def settled(self) -> None:
        """Wait for the engine's own answer to the start. Raises EnvironmentUnavailable."""
        if self.starting is not None:
            await self.starting

    async def verify(self) -> None:
        """Every task is confined and every limit holds, as the kernel says; looked at once.

        Raises EnvironmentUnavailable.
        """
        if self._verified:
            return
        if self.seen is not None and not self._spec.runtime:
            require_confined(self.seen.watch.processes(), STACKED_FILTERS)
        else:
            await self._verify_inside()
        held = held_spec(self._spec)
        if self.seen is not None:
            faults = limit_faults(self.seen.located, held, swap=has_swap())
        else:
            faults = asked_limits(await self._inspected(), held)
        if faults:
            raise EnvironmentUnavailable(
                f"a limit of the box does not hold: {faults[0]}", hint="nothing was run in it; run `harness doctor`"
            )
        self._verified = True

    def usage(self) -> BoxUsage:
        """A reading now: some µs; the last one once the box has ended."""
        if self.seen is not None and self._exit is None:
            self._note(self.seen.watch.usage())
        return self._used

    async def kill(self) -> None:
        """SIGKILL to the first process by the host's own hand, else through the engine. Idempotent."""
        self._unasked = True
        await self._kill()

    async def _kill(self) -> None:
        if self._exit is None and not await self._kill_here():
            with suppress(EnvironmentUnavailable):
                await self._engine.post(f"/containers/{self.id}/kill", query={"signal": "KILL"})
                self._killed = True

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
        """Kill what is left and learn how it ended; the container is removed behind the caller's back."""
        async with self._closing:
            if self._exit is None:
                self._exit = await self._end()
                await self._let_go()
                self._undertaker.bury(self.id)
            return self._exit

    async def remove(self) -> None:
        """Remove every trace, whatever state the container is in, or if it never came to be."""
        await self._let_go()
        try:
            await self._engine.request("DELETE", f"/containers/{self.id}", query={"force": "1", "v": "1"})
        except EngineRefused as refused:
            if refused.status != 404:
                self._undertaker.bury(self.id)

    def give_up(self) -> None:
        """Have every trace removed, without an event loop; whoever asks waits for the undertaker."""
        if self.meeting is not None:
            self.meeting.close()
        self._undertaker.bury(self.id)

    async def _let_go(self) -> None:
        """Close every descriptor, and take the socket's folder away."""
        if self._asking is not None:
            self._asking.cancel()
        if self.meeting is not None:
            self.meeting.close()
        if self.stream is not None:
            await self.stream.close()
            self.stream.channel.close()
        elif hasattr(self, "channel"):
            self.channel.close()
        if self.seen is not None:
            self.seen.close()
        if self.on_close is not None:
            self.on_close()

    async def final_state(self) -> tuple[int | None, bool]:
        """Exit status (negative for a signal; None where it has not ended) and whether memory ran out."""
        state = (await self._inspected())["State"]
        if state["Running"] or state["Status"] == "created":
            return None, False
        code = int(state["ExitCode"])
        number = code - SIGNAL_BASE
        return (-number if number > 0 and number in signal.valid_signals() else code), bool(state["OOMKilled"])

    async def _see_first_process(self) -> None:
        """By the engine's word: who is at the socket is not the box's first process, or there is no socket."""
        assert self.starting is not None
        await self.starting
        if self.seen is not None:
            self.seen.close()
        self.seen = see(self.container, int((await self._inspected())["State"]["Pid"]), ours=False)

    async def _kill_here(self) -> bool:
        """Whether it has ended, by this host's hand or before; False where only the engine can end it."""
        if self.seen is None:
            return False
        self.usage()
        if not self.seen.handle.alive():
            return True
        with suppress(PermissionError):
            self._killed = self.seen.handle.send(signal.SIGKILL)
            if self._spec.runtime:
                self.seen.group.kill()
            self.seen.group.freeze(False)
            return await self.seen.handle.ended(END_SECONDS)
        return False

    async def _end(self) -> BoxExit:
        """Kill it unless it is ending by itself; how it ended, by the engine's word where it was not by our hand."""
        self.usage()
        if self.seen is not None and self._hung_up():
            await self.seen.handle.ended(LAST_SECONDS)
        await self._kill()
        if self.starting is not None and not self.starting.done():
            await asyncio.wait([self.starting])
        oom_kills = self.seen.watch.oom_kills if self.seen is not None else 0
        if (self._killed or self._unasked) and self.seen is not None:
            return classify(-signal.SIGKILL, killed=True, oom_kills=oom_kills)
        try:
            status, out_of_memory = await self._told_ending()
        except EngineRefused as refused:
            if refused.status == 404:
                return BoxExit(ExitKind.KILLED_BY_OTHERS, "the container was removed from outside")
            status, out_of_memory = None, False
        except EnvironmentUnavailable:  # the engine is down: the box with it
            status, out_of_memory = None, False
        return classify(status, killed=self._killed, oom_kills=max(oom_kills, int(out_of_memory)))

    async def _told_ending(self) -> tuple[int | None, bool]:
        """The engine's word; where a kill is unexplained, that on memory may come later. Raises EngineRefused."""
        with suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                while (final := await self.final_state())[0] is None:
                    await asyncio.sleep(0.002)
                if final == (-signal.SIGKILL, False) and not self._killed:
                    await asyncio.sleep(LATE_SECONDS)
                    final = await self.final_state()
                return final
        return None, False

    def _hung_up(self) -> bool:
        """Whether the box has closed its end: then it is most likely ending by itself, and how is worth knowing."""
        try:
            return not self.channel.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    async def _before_the_end(self, wanted: Any) -> Any:
        """What `wanted` comes to; EnvironmentUnavailable where the container ends, or does not start, before it."""
        assert self.starting is not None
        waiting = asyncio.ensure_future(wanted)
        try:
            while not waiting.done():
                both = [waiting] if self.starting.done() else [waiting, self.starting]
                done, _ = await asyncio.wait(both, timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                if self.starting.done():
                    self.starting.result()
                if self.starting.done() and not done:
                    status, out_of_memory = await self.final_state()
                    if status is not None:
                        raise self._ended_early(status, out_of_memory)
            return waiting.result()
        finally:
            waiting.cancel()
            with suppress(asyncio.CancelledError, OSError):
                await waiting

    def _ended_early(self, status: int | None, out_of_memory: bool) -> EnvironmentUnavailable:
        why = "for want of memory" if out_of_memory else f"with status {status}"
        words = self.stream.words().strip().splitlines() if self.stream is not None else []
        said = f": `{words[-1]}`" if words else ""
        return EnvironmentUnavailable(
            f"the box ended before it said a word, {why}{said}", hint="nothing was run in it; run `harness doctor`"
        )

    async def _verify_inside(self) -> None:
        """By what a second process in the box reads; the walls of a runtime's own processes by what the host reads."""
        own_kernel = bool(self._spec.runtime)
        statuses = await statuses_inside(self._engine, self.id)
        faults = [fault for status in statuses for fault in faults_inside(status, own_kernel=own_kernel)]
        if self.seen is not None:
            faults += runtime_faults(self.seen.watch.processes())
        if faults or not statuses:
            raise EnvironmentUnavailable(
                f"a box is not confined: {faults[0] if faults else 'its tasks cannot be read'}",
                hint="nothing was run in it; run `harness doctor`",
            )

    async def _ask(self) -> None:
        """Ask the engine for the use of a box that this host cannot see, for as long as it lives."""
        query = {"stream": "0", "one-shot": "1"}
        while True:
            await asyncio.sleep(STATS_SECONDS)
            with suppress(EnvironmentUnavailable):
                self._note(read_stats(await self._engine.get(f"/containers/{self.id}/stats", query) or {}))

    def _note(self, now: BoxUsage) -> None:
        before = self._used
        self._used = BoxUsage(
            _higher(before.cpu_seconds, now.cpu_seconds),
            _higher(before.memory_mb, now.memory_mb),
            None if self._spec.runtime else _higher(before.pids, now.pids),
        )

    async def _inspected(self) -> dict[str, Any]:
        found: dict[str, Any] = await self._engine.get(f"/containers/{self.id}/json")
        return found


def _higher(before: Number | None, now: Number | None) -> Number | None:
    return before if now is None else now if before is None else max(before, now)
