"""The embedded backend as it is used: slots forked ahead of time, each for one run; cold boxes where no zygote works.

Taking a ready slot is the fast path; the shelf of its profile is filled again behind it, one slot at a time.
"""

import asyncio
import time
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from pathlib import Path

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.bubblewrap import BubblewrapBackend, Ground
from harness.sandbox.local_box import LocalBox
from harness.sandbox.spec import SandboxSpec
from harness.sandbox.zygote import RUNNER, SlotBox, Zygote

__all__ = ["PoolSizes", "SlotPool"]

ASIDE_SECONDS = 0.004
"""A refill steps aside for so long while half a shelf is left: the run that took a slot goes first. A fork takes 4 ms,
of which this process is busy for one."""


@dataclass(frozen=True, slots=True)
class PoolSizes:
    """How many slots wait. A waiting slot costs 4 MB, as a run does, and no processor."""

    ready: int = 2
    """Slots of each profile that wait from the first use on; 0 forks on demand only."""
    most: int = 16
    """A shelf that was found empty is doubled up to this: 200 runs a second take one every 5 ms, which is what a
    fork takes, and 16 cover a burst."""
    profiles: int = 8
    """Profiles with slots waiting; the one that was used longest ago is emptied for a ninth."""
    idle_seconds: float = 300.0
    """A profile that nobody used for so long gives its slots back."""


@dataclass(slots=True)
class _Shelf:
    """The waiting slots of one profile."""

    target: int
    slots: deque[SlotBox] = field(default_factory=deque)
    used_at: float = 0.0
    filling: "asyncio.Task[None] | None" = None


class SlotPool:
    """A backend; see `harness.core.ports.Backend`."""

    name = "bubblewrap"

    def __init__(
        self, *, tree: Path | None = None, groups: bool = True, sizes: PoolSizes | None = None, runner: str = RUNNER
    ) -> None:
        """`tree`, `groups`: as for `BubblewrapBackend`. `runner`: the module in the box that serves a slot."""
        self._sizes = sizes or PoolSizes()
        self._runner = runner
        self._ground = Ground(tree, groups=groups)
        self._cold = BubblewrapBackend(tree=tree, groups=groups)
        self._zygote: Zygote | None = None
        self.no_zygote = ""
        """Why boxes are started cold here; empty where they are forked."""
        self._shelves: OrderedDict[SandboxSpec, _Shelf] = OrderedDict()
        self._live: set[LocalBox] = set()
        self._starting = asyncio.Lock()
        self._idle: tuple[asyncio.AbstractEventLoop, asyncio.TimerHandle] | None = None
        self._retiring: asyncio.Task[None] | None = None

    async def start(self, spec: SandboxSpec) -> LocalBox:
        """A box that has confined itself: a waiting one, else a new one. Raises EnvironmentUnavailable."""
        if not await self._has_zygote(spec):
            return await self._cold.start(spec)
        shelf = self._shelf(spec)
        box = await self._take(shelf)
        if box is None:
            if shelf.used_at:
                shelf.target = min(self._sizes.most, shelf.target * 2)
            box = await self._make(spec)
        shelf.used_at = time.monotonic()
        self._fill(spec, shelf)
        self._watch_idle()
        return box

    async def warm(self, spec: SandboxSpec, slots: int = 0) -> int:
        """Wait until a profile's slots are ready; how many. `slots`: at least so many from now on."""
        if not await self._has_zygote(spec):
            return 0
        shelf = self._shelf(spec)
        shelf.target = max(shelf.target, slots)
        shelf.used_at = time.monotonic()
        self._fill(spec, shelf)
        self._watch_idle()
        if shelf.filling is not None:
            await asyncio.wait([shelf.filling])
        return len(shelf.slots)

    async def close(self) -> None:
        """End every box, waiting or live, and the zygote."""
        if self._idle is not None:
            self._idle[1].cancel()
        for spec in list(self._shelves):
            await self._empty(spec)
        for box in list(self._live):
            await box.close()
        await self._cold.close()
        if self._zygote is not None:
            await self._zygote.close()
            self._zygote = None

    def kill_now(self) -> None:
        """See `harness.core.ports.Backend`."""
        self._cold.kill_now()
        if self._zygote is not None:
            self._zygote.kill_now()

    async def _has_zygote(self, spec: SandboxSpec) -> bool:
        """Whether there is a live zygote, started now where there is none; a machine without says so once."""
        if self._zygote is not None and self._zygote.alive:
            return True
        async with self._starting:
            if self.no_zygote or (self._zygote is not None and self._zygote.alive):
                return not self.no_zygote
            await self._ground.prepare()
            if self._zygote is not None:
                await self._drop_zygote()
            zygote = Zygote(self._ground.program.path, self._ground.tree, self._runner)
            try:
                await zygote.until_ready(spec.start_seconds)
                first = await self._first(zygote, spec)
            except EnvironmentUnavailable as refused:
                await zygote.close()
                self.no_zygote = refused.message
                return False
            self._zygote = zygote
            if first is not None:
                self._shelf(spec).slots.append(first)
            return True

    async def _first(self, zygote: Zygote, spec: SandboxSpec) -> SlotBox | None:
        """A first slot; None where this profile has none but the usual one does, so that the zygote is not to blame.

        Raises EnvironmentUnavailable where it is.
        """
        try:
            return await zygote.slot(spec, self._ground.group(spec))
        except EnvironmentUnavailable:
            usual = SandboxSpec()
            if spec == usual:
                raise
            box = await zygote.slot(usual, self._ground.group(usual))
            await box.close()
            return None

    async def _drop_zygote(self) -> None:
        """Its slots died with it."""
        assert self._zygote is not None
        for shelf in self._shelves.values():
            while shelf.slots:
                await shelf.slots.popleft().close()
        await self._zygote.close()
        self._zygote = None

    def _shelf(self, spec: SandboxSpec) -> _Shelf:
        shelf = self._shelves.get(spec)
        if shelf is None:
            shelf = self._shelves[spec] = _Shelf(self._sizes.ready)
        self._shelves.move_to_end(spec)
        return shelf

    async def _take(self, shelf: _Shelf) -> SlotBox | None:
        """A waiting slot that still lives; the others are put away."""
        while shelf.slots:
            box = shelf.slots.popleft()
            if box.waiting:
                self._lend(box)
                return box
            await box.close()
        return None

    async def _make(self, spec: SandboxSpec) -> SlotBox:
        box = await self._fork(spec)
        self._lend(box)
        return box

    async def _fork(self, spec: SandboxSpec) -> SlotBox:
        if self._zygote is None:
            raise EnvironmentUnavailable("the pool is closed")
        return await self._zygote.slot(spec, self._ground.group(spec))

    def _lend(self, box: SlotBox) -> None:
        self._live.add(box)
        box.on_close = lambda: self._live.discard(box)

    def _fill(self, spec: SandboxSpec, shelf: _Shelf) -> None:
        """Bring a shelf to its number in the background, and put away what nobody uses."""
        loop = asyncio.get_running_loop()
        if shelf.filling is not None and not shelf.filling.done() and shelf.filling.get_loop() is loop:
            return
        if len(shelf.slots) < shelf.target or len(self._shelves) > self._sizes.profiles:
            shelf.filling = loop.create_task(self._refill(spec, shelf), name="refill of box slots")

    async def _refill(self, spec: SandboxSpec, shelf: _Shelf) -> None:
        try:
            while len(shelf.slots) < shelf.target and self._shelves.get(spec) is shelf:
                if len(shelf.slots) * 2 >= shelf.target:
                    await asyncio.sleep(ASIDE_SECONDS)
                shelf.slots.append(await self._fork(spec))
            for surplus in list(self._shelves)[: max(0, len(self._shelves) - self._sizes.profiles)]:
                await self._empty(surplus)
        except EnvironmentUnavailable:
            return  # the next start meets the same failure, and says it to somebody

    def _watch_idle(self) -> None:
        """Look for profiles that nobody uses, on the loop that runs now."""
        loop = asyncio.get_running_loop()
        if self._idle is None or self._idle[0] is not loop:
            self._idle = (loop, loop.call_later(self._sizes.idle_seconds, self._retire))

    def _retire(self) -> None:
        self._idle = None
        before = time.monotonic() - self._sizes.idle_seconds
        idle = [spec for spec, shelf in self._shelves.items() if shelf.used_at <= before]
        self._retiring = asyncio.get_running_loop().create_task(self._empty_all(idle), name="idle box slots")
        if len(idle) < len(self._shelves):
            self._watch_idle()

    async def _empty_all(self, specs: list[SandboxSpec]) -> None:
        for spec in specs:
            await self._empty(spec)

    async def _empty(self, spec: SandboxSpec) -> None:
        shelf = self._shelves.pop(spec, None)
        if shelf is None:
            return
        if shelf.filling is not None and shelf.filling is not asyncio.current_task() and not shelf.filling.done():
            shelf.filling.cancel()
            if shelf.filling.get_loop() is asyncio.get_running_loop():
                await asyncio.wait([shelf.filling])
        while shelf.slots:
            await shelf.slots.popleft().close()
