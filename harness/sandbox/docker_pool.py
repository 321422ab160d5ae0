"""Containers made ahead of time: started, confined, warmed, verified, and waiting for their one run.

A host that runs one snippet makes one container and no more. From the second start on the shelf of a profile grows with
demand, is filled again behind the runs, and is given back when nobody uses it.
"""

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field, fields, replace

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.docker import DockerBackend
from harness.sandbox.docker_box import DockerBox
from harness.sandbox.image_inputs import Image
from harness.sandbox.spec import SandboxSpec

__all__ = ["DockerPool", "PoolLimits"]

HOST_ONLY = frozenset({"wall_seconds", "start_seconds"})
"""Fields of a spec that no container knows: boxes that differ in nothing else are the same."""
REST_SECONDS = 0.02
"""A warm run takes 2 ms: making the next container, 150 ms of processor, begins after it."""
BUSY_SECONDS = 0.2
"""So long the next container waits for runs to end; then it is made beside them."""


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """How many containers wait. A waiting one costs 8 MB and no processor."""

    most: int = 8
    """Of one profile: an engine on two cores makes 12 a second, eight cover a burst while it does."""
    profiles: int = 4
    """With containers waiting; the one that was used longest ago is emptied for a fifth."""
    making: int = 2
    """At once: beyond two, lives a second hardly grow (11.2 to 12.6), and the runs beside them suffer."""
    idle_seconds: float = 300.0
    """A profile that nobody used for so long gives its containers back."""


@dataclass(slots=True)
class _Shelf:
    """The waiting containers of one profile."""

    target: int = 0
    uses: int = 0
    used_at: float = 0.0
    boxes: deque[DockerBox] = field(default_factory=deque)
    filling: "asyncio.Task[None] | None" = None


class DockerPool:
    """A backend; see `harness.core.ports.Backend`."""

    name = "docker"

    def __init__(self, cold: DockerBackend | None = None, limits: PoolLimits | None = None) -> None:
        """`cold`: who makes the containers; closed with the pool."""
        self.cold = cold if cold is not None else DockerBackend()
        self._limits = limits if limits is not None else PoolLimits()
        self._shelves: dict[SandboxSpec, _Shelf] = {}
        self._lent: set[str] = set()
        self._expiry: asyncio.TimerHandle | None = None

    async def image(self, spec: SandboxSpec) -> Image:
        """The image for a spec; see `DockerBackend.image`. Raises EnvironmentUnavailable."""
        return await self.cold.image(spec)

    async def start(self, spec: SandboxSpec) -> DockerBox:
        """A box that has confined itself: a waiting one, else a new one. Raises EnvironmentUnavailable."""
        profile = _profile(spec)
        shelf = self._shelves.setdefault(profile, _Shelf())
        box = await self._take(shelf)
        if box is None:
            if shelf.uses:
                shelf.target = min(self._limits.most, max(1, shelf.target * 2))
            box = await self.cold.start(replace(profile, start_seconds=spec.start_seconds))
        shelf.uses += 1
        shelf.used_at = time.monotonic()
        self._lend(box)
        self._fill(profile, shelf, REST_SECONDS)
        return box

    async def warm(self, spec: SandboxSpec, boxes: int) -> int:
        """Have at least so many waiting from now on, and wait for them; how many there are."""
        profile = _profile(spec)
        shelf = self._shelves.setdefault(profile, _Shelf())
        shelf.target = max(shelf.target, min(boxes, self._limits.most))
        shelf.used_at = time.monotonic()
        self._fill(profile, shelf, 0.0)
        if shelf.filling is not None:
            await asyncio.wait([shelf.filling])
        return len(shelf.boxes)

    def waiting(self, spec: SandboxSpec) -> int:
        """Containers on the shelf of a profile, whether or not they still live."""
        shelf = self._shelves.get(_profile(spec))
        return len(shelf.boxes) if shelf is not None else 0

    async def close(self) -> None:
        """Remove every container, waiting or lent."""
        if self._expiry is not None:
            self._expiry.cancel()
        for profile in list(self._shelves):
            await self._empty(profile)
        await self.cold.close()

    def kill_now(self) -> None:
        """See `harness.core.ports.Backend`."""
        self.cold.kill_now()

    async def _take(self, shelf: _Shelf) -> DockerBox | None:
        """A waiting container that still lives; the others are put away."""
        while shelf.boxes:
            box = shelf.boxes.popleft()
            if box.waiting:
                return box
            await box.close()
        return None

    def _lend(self, box: DockerBox) -> None:
        forget = box.on_close
        self._lent.add(box.id)

        def returned() -> None:
            self._lent.discard(box.id)
            if forget is not None:
                forget()

        box.on_close = returned

    def _fill(self, profile: SandboxSpec, shelf: _Shelf, rest: float) -> None:
        loop = asyncio.get_running_loop()
        busy = shelf.filling is not None and not shelf.filling.done() and shelf.filling.get_loop() is loop
        if not busy and len(shelf.boxes) < shelf.target:
            shelf.filling = loop.create_task(self._refill(profile, shelf, rest), name="refill of containers")
        self._expire_later(loop)

    async def _refill(self, profile: SandboxSpec, shelf: _Shelf, rest: float) -> None:
        """Bring a shelf to its number, some at once. What fails here is met, and said, by the next start."""
        await self._calm(rest)
        while self._shelves.get(profile) is shelf and (missing := shelf.target - len(shelf.boxes)) > 0:
            making = [self._make(profile, shelf) for _ in range(min(missing, self._limits.making))]
            if not all(await asyncio.gather(*making)):
                return

    async def _calm(self, rest: float) -> None:
        """Let the run that emptied the shelf end first."""
        if not rest:
            return
        deadline = time.monotonic() + BUSY_SECONDS
        await asyncio.sleep(rest)
        while self._lent and time.monotonic() < deadline:
            await asyncio.sleep(rest)

    async def _make(self, profile: SandboxSpec, shelf: _Shelf) -> bool:
        try:
            box = await self.cold.start(profile)
        except EnvironmentUnavailable:
            return False
        try:
            await box.settled()
            await box.verify()
        except EnvironmentUnavailable:
            await box.close()
            return False
        except BaseException:
            await asyncio.shield(box.close())
            raise
        if self._shelves.get(profile) is not shelf:
            await box.close()
            return False
        shelf.boxes.append(box)
        return True

    def _expire_later(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look at the shelves again when the oldest may have been idle for long enough."""
        if self._expiry is not None:
            self._expiry.cancel()
        self._expiry = loop.call_later(self._limits.idle_seconds, self._expire, loop)

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.create_task(self._put_away(), name="removal of idle containers")

    async def _put_away(self) -> None:
        """Empty the shelves that nobody uses, and those that are too many."""
        now = time.monotonic()
        by_use = sorted(self._shelves, key=lambda profile: self._shelves[profile].used_at)
        surplus = len(by_use) - self._limits.profiles
        for place, profile in enumerate(by_use):
            if place < surplus or now - self._shelves[profile].used_at >= self._limits.idle_seconds:
                await self._empty(profile)
        if self._shelves:
            self._expire_later(asyncio.get_running_loop())

    async def _empty(self, profile: SandboxSpec) -> None:
        shelf = self._shelves.pop(profile, None)
        if shelf is None:
            return
        if shelf.filling is not None and not shelf.filling.done():
            shelf.filling.cancel()
            if shelf.filling.get_loop() is asyncio.get_running_loop():
                await asyncio.wait([shelf.filling])
        while shelf.boxes:
            await shelf.boxes.popleft().close()


def _profile(spec: SandboxSpec) -> SandboxSpec:
    """What two specs have in common whose containers are the same."""
    default = SandboxSpec()
    return replace(spec, **{item.name: getattr(default, item.name) for item in fields(spec) if item.name in HOST_ONLY})
