"""Containers for probes: the engine that DOCKER_HOST names, and an image whose runner executes what a test sends."""

import asyncio
import io
import os
import tarfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import docker
import pytest

from harness.core.errors import EnvironmentUnavailable
from harness.core.ports import Box
from harness.sandbox.docker import DockerBackend
from harness.sandbox.endpoint import Endpoint, find_endpoint
from harness.sandbox.engine import Engine
from harness.sandbox.image import build_image
from harness.sandbox.spec import SandboxSpec
from tests.sandbox.boxes import PROBE, ask

PROBE_TAG = f"execution-harness-probe:{os.getpid()}"


@pytest.fixture(scope="session")
def endpoint() -> Endpoint:
    """An engine that answers. Without one: a failure where CI says that everything must run, else a skip."""
    try:
        found = find_endpoint()
        asyncio.run(Engine(found).get("/version"))
    except EnvironmentUnavailable as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no engine: {error}")
        pytest.skip(f"no engine: {error.message}")
    return found


@pytest.fixture(scope="session")
def client(endpoint: Endpoint) -> Iterator[docker.DockerClient]:
    """The engine, seen with the engine's own client."""
    client = docker.DockerClient(base_url=endpoint.url)
    yield client
    client.close()


@pytest.fixture(scope="session")
def probe_image(endpoint: Endpoint, client: docker.DockerClient) -> Iterator[str]:
    """Name of the box's image with the probes' runner in place of the real one."""
    built = build_image(endpoint)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(PROBE, arcname="boot.py", filter=_plain)
        recipe = f"FROM {built.id}\nUSER 0\nCOPY boot.py /opt/box/boot.py\n".encode()
        member = tarfile.TarInfo("Dockerfile")
        member.size = len(recipe)
        archive.addfile(member, io.BytesIO(recipe))
    packed.seek(0)
    client.images.build(fileobj=packed, custom_context=True, tag=PROBE_TAG, rm=True, network_mode="none")
    yield PROBE_TAG
    client.images.remove(PROBE_TAG, force=True)


@asynccontextmanager
async def container_of(endpoint: Endpoint, spec: SandboxSpec) -> AsyncIterator[Any]:
    """A verified box that has said hello."""
    backend = DockerBackend(endpoint)
    box = await backend.start(spec)
    try:
        await box.verify()
        assert box.channel.recv(1) == b"h"
        yield box
    finally:
        await box.close()
        await backend.close()


def probe_in(endpoint: Endpoint, spec: SandboxSpec, text: str) -> dict[str, Any] | None:
    """One box, one probe, its answer."""

    async def body() -> dict[str, Any] | None:
        async with container_of(endpoint, spec) as box:
            probed: Box = box
            return await ask(probed, text)

    return asyncio.run(body())


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.mode = 0o644
    return member
