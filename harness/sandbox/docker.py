"""The backend of record: each box is a container of a Docker engine, started cold, used once, removed."""

import asyncio
import os
import secrets
import socket
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.docker_args import LABEL, OWNER_LABEL, create_body, walls_of
from harness.sandbox.docker_box import DockerBox, has_swap, see
from harness.sandbox.endpoint import Endpoint, find_endpoint
from harness.sandbox.engine import Engine, EngineRefused
from harness.sandbox.engine_info import EngineFacts, read_info, shortfalls
from harness.sandbox.image_inputs import Image, find_image
from harness.sandbox.owner import this_owner
from harness.sandbox.rendezvous import Rendezvous, peer_of, run_folder, sweep_run_folder
from harness.sandbox.spec import SandboxSpec
from harness.sandbox.sweep import sweep_containers

__all__ = ["DockerBackend"]

POLL_SECONDS = 0.1
"""Between two looks at whether a container that has not spoken yet still lives; most have spoken by the first."""
RUN_ON_ENGINE = "HARNESS_RUN_DIR_ON_ENGINE"
"""Where the folder of HARNESS_RUN_DIR lies on the engine's machine, when the harness itself runs in a container."""


class DockerBackend:
    """Makes boxes with a Docker engine."""

    name = "docker"

    def __init__(self, endpoint: Endpoint | None = None, *, folder: Path | None = None) -> None:
        """`endpoint`: the engine, found as the docker command does by default. `folder`: of the sockets."""
        self.endpoint = endpoint if endpoint is not None else find_endpoint()
        self.engine = Engine(self.endpoint)
        self._folder = folder
        self._facts: EngineFacts | None = None
        self._images: dict[str, Image] = {}
        self._runtimes: set[str] = set()
        self._live: dict[str, DockerBox] = {}
        self._preparing = asyncio.Lock()

    async def start(self, spec: SandboxSpec) -> DockerBox:
        """A box that has confined itself. Raises EnvironmentUnavailable."""
        image = await self.image(spec)
        try:
            return await self._start(spec, image)
        except EngineRefused as refused:
            if refused.status != 404 or "image" not in refused.message.lower():
                raise _explained(refused, spec) from refused
        # The image went away since it was found: find or build it again, once.
        self._images.clear()
        return await self._start(spec, await self.image(spec))

    async def close(self) -> None:
        """Remove the boxes that are left."""
        for box in list(self._live.values()):
            await box.close()

    async def image(self, spec: SandboxSpec) -> Image:
        """The image for a spec, looked for once and built where it is missing. Raises EnvironmentUnavailable."""
        async with self._preparing:
            if self._facts is None or spec.runtime not in self._runtimes:
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
        self._facts = read_info(info)
        self._runtimes.add(runtime)
        if self._folder is None:
            self._folder = run_folder()
        sweep_run_folder(self._folder)
        await sweep_containers(self.engine)

    async def _start(self, spec: SandboxSpec, image: Image) -> DockerBox:
        assert self._folder is not None
        meeting = Rendezvous(self._folder)
        box = DockerBox(self.engine, f"execution-harness-{secrets.token_hex(8)}", spec, meeting)
        self._live[box.id] = box
        box.on_close = lambda: self._live.pop(box.id, None)
        try:
            body = create_body(spec, image, walls_of(landlock=False), _labels(), self._seen_by_engine(meeting.folder))
            created = await self.engine.post("/containers/create", body, query={"name": box.id})
            box.starting = asyncio.create_task(self._run(box.id))
            async with asyncio.timeout(spec.start_seconds):
                await self._meet(box, meeting, str(created["Id"]))
        except TimeoutError:
            await asyncio.shield(box.remove())
            raise EnvironmentUnavailable(
                f"the box did not start within {spec.start_seconds:g} s", hint="see what the machine is busy with"
            ) from None
        except BaseException:
            await asyncio.shield(self._abandon(box))
            raise
        return box

    async def _run(self, container: str) -> None:
        await self.engine.post(f"/containers/{container}/start")

    async def _meet(self, box: DockerBox, meeting: Rendezvous, container: str) -> None:
        """Take the box's one connection, and wait for its first byte, leaving it unread."""
        loop = asyncio.get_running_loop()
        assert box.starting is not None
        accepting = asyncio.create_task(loop.sock_accept(meeting.listener))
        try:
            while not accepting.done():
                waiting = [accepting] if box.starting.done() else [accepting, box.starting]
                await asyncio.wait(waiting, timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                if box.starting.done():
                    box.starting.result()
                    if not accepting.done():
                        await self._still_runs(box)
            channel, _ = accepting.result()
        finally:
            accepting.cancel()
            with suppress(asyncio.CancelledError):
                await accepting
        meeting.shut()
        box.channel = channel
        box.seen = see(container, peer_of(channel))
        await _first_byte(channel)

    async def _still_runs(self, box: DockerBox) -> None:
        status, out_of_memory = await box.final_state()
        if status is not None:
            why = "for want of memory" if out_of_memory else f"with status {status}"
            raise EnvironmentUnavailable(f"the box ended before it said a word, {why}", hint="run `harness doctor`")

    async def _abandon(self, box: DockerBox) -> None:
        if box.starting is not None:
            box.starting.cancel()
            with suppress(asyncio.CancelledError, EnvironmentUnavailable):
                await box.starting
        with suppress(EnvironmentUnavailable):
            await box.remove()

    def _seen_by_engine(self, folder: Path) -> str:
        """The path of a socket's folder on the engine's machine."""
        elsewhere = os.environ.get(RUN_ON_ENGINE)
        return str(Path(elsewhere, folder.name)) if elsewhere else str(folder)


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
    if "bind source path does not exist" in said or "bind mount" in said.lower():
        return EnvironmentUnavailable(
            f"the engine does not see this host's files: {said}",
            hint="the harness runs in a container, or the engine in a machine of its own: mount one folder into both, "
            f"and name it with HARNESS_RUN_DIR here and {RUN_ON_ENGINE} there",
        )
    if "no space left" in said:
        return EnvironmentUnavailable(
            f"the engine's disk is full: {said}", hint="free some: `docker system df`, `docker system prune`"
        )
    if spec.runtime and spec.runtime in said:
        return EnvironmentUnavailable(
            f"the runtime `{spec.runtime}` does not start a box: {said}", hint="see the engine's log"
        )
    return EnvironmentUnavailable(f"the engine does not make the box: {said}", hint="run `harness doctor`")


async def _first_byte(channel: socket.socket) -> None:
    """Wait until the box has said something, or is gone. Raises EnvironmentUnavailable where it is."""
    loop = asyncio.get_running_loop()
    said: asyncio.Future[None] = loop.create_future()
    channel.setblocking(False)
    loop.add_reader(channel.fileno(), _settle, said)
    try:
        await said
    finally:
        loop.remove_reader(channel.fileno())
    try:
        alive: Any = channel.recv(1, socket.MSG_PEEK)
    except OSError:
        alive = b""
    if not alive:
        raise EnvironmentUnavailable("the box ended before it said a word", hint="run `harness doctor`")


def _settle(said: asyncio.Future[None]) -> None:
    if not said.done():
        said.set_result(None)
