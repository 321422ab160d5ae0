"""The backend of record: each box is a container of a Docker engine, started cold, used once, removed.

How the frames travel is chosen by a real start: over a Unix socket that is mounted into the box, else over the engine's
attached stream.
"""

import asyncio
import os
import secrets
from contextlib import suppress
from enum import StrEnum
from importlib import import_module
from pathlib import Path

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.docker_args import LABEL, OWNER_LABEL, create_body
from harness.sandbox.docker_box import DockerBox
from harness.sandbox.endpoint import Endpoint, find_endpoint
from harness.sandbox.engine import Engine, EngineRefused
from harness.sandbox.engine_info import EngineFacts, read_info, shortfalls
from harness.sandbox.image_inputs import Image, find_image
from harness.sandbox.kernel import has_swap, landlock_version
from harness.sandbox.owner import this_owner
from harness.sandbox.rendezvous import Rendezvous, run_folder, sweep_run_folder
from harness.sandbox.spec import SandboxSpec
from harness.sandbox.stream import Stream
from harness.sandbox.sweep import sweep_containers
from harness.sandbox.undertaker import Undertaker

__all__ = ["Carrier", "DockerBackend"]

RUN_ON_ENGINE = "HARNESS_RUN_DIR_ON_ENGINE"
"""Where the folder of HARNESS_RUN_DIR lies on the engine's machine, when the harness itself runs in a container."""
CLOSE_SECONDS = 10.0
"""For the removal of what has ended, when a backend is closed; what is left then is swept by the next start."""
UNDO_SECONDS = 1.0
"""For a start that was given up: it takes 0.1 s, and the engine does not remove what it is just making."""
SELINUX = (
    "; SELinux is on, which keeps a container from a socket of this process: nothing is relabelled; "
    "for the faster socket allow `container_t` to `connectto` this process's domain in a policy module of yours"
)


class Carrier(StrEnum):
    """How the frames of a box travel."""

    SOCKET = "socket"
    """A Unix socket, mounted into the box."""
    STREAM = "stream"
    """The engine's attached stream: remote engines, Docker Desktop, runtimes and policies that close the socket."""


class DockerBackend:
    """Makes boxes with a Docker engine."""

    name = "docker"

    def __init__(
        self, endpoint: Endpoint | None = None, *, folder: Path | None = None, carrier: Carrier | None = None
    ) -> None:
        """`endpoint`: the engine, found as the docker command does by default. `folder`: of the sockets.

        `carrier`: how frames travel; None tries.
        """
        self.endpoint = endpoint if endpoint is not None else find_endpoint()
        self.engine = Engine(self.endpoint)
        self._undertaker = Undertaker(self.endpoint, self.engine.tls)
        self.note = ""
        """One sentence where the frames had to take the second way, and why."""
        self.facts: EngineFacts | None = None
        """What the engine says of itself, once it was asked."""
        self._folder = folder
        self._images: dict[str, Image] = {}
        self._runtimes: set[str] = set()
        self._wanted_carrier = carrier
        self._carriers: dict[str, Carrier] = {}
        self._live: dict[str, DockerBox] = {}
        self._preparing = asyncio.Lock()
        self._trying = asyncio.Lock()

    async def start(self, spec: SandboxSpec) -> DockerBox:
        """A box that has confined itself. Raises EnvironmentUnavailable."""
        image = await self.image(spec)
        carrier = self._wanted_carrier or self._carriers.get(spec.runtime)
        if carrier is None:
            async with self._trying:
                carrier = self._carriers.get(spec.runtime)
                if carrier is None:
                    return await self._try(spec, image)
        return await self._make(spec, image, carrier)

    async def close(self) -> None:
        """Remove the boxes that are left."""
        for box in list(self._live.values()):
            await box.close()
        await asyncio.to_thread(self._undertaker.wait, CLOSE_SECONDS)

    def kill_now(self) -> None:
        """See `harness.core.ports.Backend`."""
        for box in list(self._live.values()):
            box.give_up()
        self._undertaker.wait(CLOSE_SECONDS)

    async def image(self, spec: SandboxSpec) -> Image:
        """The image for a spec, looked for once and built where it is missing. Raises EnvironmentUnavailable."""
        async with self._preparing:
            if self.facts is None or spec.runtime not in self._runtimes:
                await self._check(spec.runtime)
            if spec.image not in self._images:
                found = await find_image(self.engine, spec.image)
                if found is None:
                    found = await asyncio.to_thread(_build, self.endpoint, spec.image)
                self._images[spec.image] = found
            return self._images[spec.image]

    async def _check(self, runtime: str) -> None:
        """The engine holds what a box needs; what dead hosts left is swept."""
        info = await self.engine.get("/info")
        lacking = shortfalls(info, runtime=runtime, swap=not self.endpoint.socket or has_swap())
        if lacking:
            raise EnvironmentUnavailable(lacking[0].message, hint=lacking[0].hint)
        self.facts = read_info(info)
        self._runtimes.add(runtime)
        if self._folder is None:
            self._folder = run_folder()
        sweep_run_folder(self._folder)
        await sweep_containers(self.engine)

    async def _try(self, spec: SandboxSpec, image: Image) -> DockerBox:
        """The first box under a runtime: over a socket, and where that fails, over the attached stream."""
        try:
            box = await self._make(spec, image, Carrier.SOCKET)
            self._carriers[spec.runtime] = Carrier.SOCKET
        except EnvironmentUnavailable as closed:
            try:
                box = await self._make(spec, image, Carrier.STREAM)
            except EnvironmentUnavailable as failed:
                raise failed from closed
            self._carriers[spec.runtime] = Carrier.STREAM
            self.note = f"frames go over the engine's attached stream, for with a socket {closed.message}"
            if self.facts is not None and self.facts.selinux:
                self.note += SELINUX
        return box

    async def _make(self, spec: SandboxSpec, image: Image, carrier: Carrier) -> DockerBox:
        try:
            return await self._start(spec, image, carrier)
        except EngineRefused as refused:
            if refused.status != 404 or "image" not in refused.message.lower():
                raise _explained(refused, spec) from refused
        # The image went away since it was found: find or build it again, once.
        self._images.clear()
        return await self._start(spec, await self.image(spec), carrier)

    async def _start(self, spec: SandboxSpec, image: Image, carrier: Carrier) -> DockerBox:
        assert self._folder is not None
        box = DockerBox(self.engine, self._undertaker, f"execution-harness-{secrets.token_hex(8)}", spec)
        self._live[box.id] = box
        box.on_close = lambda: self._live.pop(box.id, None)
        try:
            async with asyncio.timeout(spec.start_seconds):
                if carrier is Carrier.SOCKET:
                    box.meeting = Rendezvous(self._folder)
                folder = self._seen_by_engine(box.meeting.folder) if box.meeting is not None else ""
                body = create_body(spec, image, _labels(), folder, landlock=self._landlock(spec))
                box.creating = asyncio.create_task(self.engine.post("/containers/create", body, query={"name": box.id}))
                box.container = str((await asyncio.shield(box.creating))["Id"])
                if carrier is Carrier.STREAM:
                    box.stream = await Stream.attach(self.engine, box.id)
                box.starting = asyncio.create_task(self._run(box.id))
                await box.until_ready()
        except TimeoutError:
            await asyncio.shield(_abandon(box))
            raise EnvironmentUnavailable(
                f"the box did not start within {spec.start_seconds:g} s", hint="see what the machine is busy with"
            ) from None
        except BaseException:
            await asyncio.shield(_abandon(box))
            raise
        return box

    async def _run(self, container: str) -> None:
        await self.engine.post(f"/containers/{container}/start")

    def _landlock(self, spec: SandboxSpec) -> bool:
        """Whether a box without Landlock must not start: under this host's own kernel, where that has it."""
        ours = self.facts is not None and self.facts.kernel == os.uname().release and not spec.runtime
        return ours and landlock_version() > 0

    def _seen_by_engine(self, folder: Path) -> str:
        """The path of a socket's folder on the engine's machine."""
        elsewhere = os.environ.get(RUN_ON_ENGINE)
        return str(Path(elsewhere, folder.name)) if elsewhere else str(folder)


async def _abandon(box: DockerBox) -> None:
    """Take back what an unfinished start has made; an engine that is still at it is let finish first."""
    for request in (box.creating, box.starting):
        if request is not None:
            await asyncio.wait([request], timeout=UNDO_SECONDS)
            request.cancel()
            with suppress(asyncio.CancelledError, EnvironmentUnavailable):
                await request
    with suppress(EnvironmentUnavailable):
        await box.remove()


def _build(endpoint: Endpoint, base: str) -> Image:
    # Imported here: docker-py takes 0.1 s, and only a start without an image needs it.
    built: Image = import_module("harness.sandbox.image").build_image(endpoint, base=base)
    return built


def _labels() -> dict[str, str]:
    owner = this_owner()
    return {LABEL: owner.machine, OWNER_LABEL: str(owner)}


def _explained(refused: EngineRefused, spec: SandboxSpec) -> EnvironmentUnavailable:
    """The engine's own words, with the way out where it is known."""
    said = refused.message
    if "bind source path does not exist" in said or "mounts denied" in said.lower():
        return EnvironmentUnavailable(
            f"the engine does not see this host's files: {said}",
            hint="the harness runs in a container, or the engine in a machine of its own: mount one folder into both, "
            f"and name it with HARNESS_RUN_DIR here and {RUN_ON_ENGINE} there",
        )
    if "no space left" in said:
        return EnvironmentUnavailable(
            f"the engine's disk is full: {said}", hint="free some: `docker system df`, `docker system prune`"
        )
    if spec.runtime and (spec.runtime in said or "OCI runtime" in said):
        return EnvironmentUnavailable(
            f"the runtime `{spec.runtime}` does not start a box: {said}", hint="see the engine's log"
        )
    return EnvironmentUnavailable(f"the engine does not make the box: {said}", hint="run `harness doctor`")
