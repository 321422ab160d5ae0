"""Containers made ahead: each used once, tested when taken, made again behind, given back when idle, swept."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from harness.core.errors import EnvironmentUnavailable
from harness.core.ports import ExitKind
from harness.sandbox.docker import Carrier, DockerBackend
from harness.sandbox.docker_args import OWNER_LABEL
from harness.sandbox.docker_pool import DockerPool, PoolLimits
from harness.sandbox.endpoint import Endpoint
from harness.sandbox.image import build_image
from harness.sandbox.owner import this_owner
from harness.sandbox.spec import SandboxSpec
from harness.sandbox.sweep import sweep_containers
from tests.sandbox.boxes import ask, run

pytestmark = pytest.mark.docker
ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
"""Seconds for what takes some ms on a machine at rest."""


@pytest.fixture(scope="module")
def spec(probe_image: str) -> SandboxSpec:
    """A small box of the probes' image."""
    return SandboxSpec(memory_mb=96, disk_mb=16, pids=24, open_files=64, image=probe_image)


@pytest.fixture(autouse=True)
def _nothing_is_left(client: docker.DockerClient) -> Iterator[None]:
    """E18: whatever a test does, no container of this process is there afterwards."""
    yield
    label = f"{OWNER_LABEL}={this_owner()}"

    def left() -> list[list[str]]:
        return [item["Names"] for item in client.api.containers(all=True, filters={"label": label})]

    deadline = time.monotonic() + PATIENCE  # a loaded engine removes behind the test's back
    while left() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left() == []


@asynccontextmanager
async def pool_of(endpoint: Endpoint, limits: PoolLimits | None = None) -> AsyncIterator[DockerPool]:
    pool = DockerPool(DockerBackend(endpoint), limits)
    try:
        yield pool
    finally:
        await pool.close()


async def until(what: Any, seconds: float = PATIENCE) -> bool:
    """Whether it became true in time."""
    async with asyncio.timeout(seconds):
        while not what():
            await asyncio.sleep(0.02)
    return True


def test_all_is_removed_without_a_loop(endpoint: Endpoint, spec: SandboxSpec, client: docker.DockerClient) -> None:
    """As from a signal's handler: no container afterwards, whether it is in use or waits."""

    async def body() -> tuple[int, int]:
        async with pool_of(endpoint) as pool:
            await pool.warm(spec, 1)
            await pool.start(spec)
            await pool.cold.start(spec)
            filters = {"label": f"{OWNER_LABEL}={this_owner()}"}
            before = len(client.api.containers(all=True, filters=filters))
            pool.kill_now()
            return before, len(client.api.containers(all=True, filters=filters))

    before, after = run(body)
    assert (before >= 2, after) == (True, 0)


def test_a_host_with_one_run_makes_one_container(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """Nothing is made ahead before there is a second run."""

    async def body() -> list[int]:
        async with pool_of(endpoint) as pool:
            counts = []
            for _ in range(2):
                box = await pool.start(spec)
                await box.close()
                await asyncio.sleep(0.4)
                counts.append(pool.waiting(spec))
            return counts

    assert run(body) == [0, 1]


def test_a_waiting_box_serves_one_run_and_another_takes_its_place(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """A22, A34: every start gets a box of its own, verified, in which nothing has run."""

    async def body() -> tuple[int, int, list[Any], int]:
        async with pool_of(endpoint) as pool:
            ready = await pool.warm(spec, 2)
            names, found = set(), []
            for _ in range(3):
                box = await pool.start(spec)
                await box.verify()
                assert box.channel.recv(1) == b"h"
                names.add(box.id)
                found.append(
                    await ask(box, "import json, os\nfound['had'] = [hasattr(json, 'mark'), os.listdir('/tmp')]\n"
                              "json.mark = 1\nopen('/tmp/left', 'w').close()")
                )  # fmt: skip
                await box.close()
            await until(lambda: pool.waiting(spec) == 2)
            return ready, len(names), found, pool.waiting(spec)

    assert run(body) == (2, 3, [{"had": [False, []]}] * 3, 2)


def test_a_waiting_box_is_taken_at_once(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """No engine on the path of a warm start: under 10 ms, where a cold one takes 90 (best of three)."""

    async def body() -> float:
        async with pool_of(endpoint) as pool:
            await pool.warm(spec, 3)
            took = []
            for _ in range(3):
                began = time.perf_counter()
                box = await pool.start(spec)
                await box.verify()
                took.append(time.perf_counter() - began)
                await box.close()
            return min(took)

    assert run(body) < 0.010


def test_specs_that_differ_for_the_host_alone_share_a_shelf(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """A container knows no wall clock; memory is another container."""

    async def body() -> tuple[int, int]:
        async with pool_of(endpoint) as pool:
            await pool.warm(spec, 1)
            return pool.waiting(replace(spec, wall_seconds=5.0)), pool.waiting(replace(spec, memory_mb=128))

    assert run(body) == (1, 0)


def test_a_container_that_somebody_removed_is_not_given_out(
    endpoint: Endpoint, spec: SandboxSpec, client: docker.DockerClient
) -> None:
    """E08: `docker rm -f` on a waiting one: the next run works, and the shelf is filled to its number again."""

    async def body() -> tuple[bytes, int]:
        async with pool_of(endpoint) as pool:
            await pool.warm(spec, 2)
            for box in next(iter(pool._shelves.values())).boxes:
                await asyncio.to_thread(client.containers.get(box.id).remove, force=True)
            box = await pool.start(spec)
            said = box.channel.recv(1)
            await box.close()
            await until(lambda: pool.waiting(spec) == 2)
            return said, pool.waiting(spec)

    assert run(body) == (b"h", 2)


def test_idle_containers_are_given_back(endpoint: Endpoint, spec: SandboxSpec, client: docker.DockerClient) -> None:
    """E08: without any further start, and though they were looked at meanwhile."""
    mine = {"label": f"{OWNER_LABEL}={this_owner()}"}

    async def body() -> None:
        async with pool_of(endpoint, PoolLimits(idle_seconds=0.5)) as pool:
            await pool.warm(spec, 2)
            async with asyncio.timeout(30):
                while await asyncio.to_thread(client.api.containers, all=True, filters=mine):
                    await asyncio.sleep(0.05)
            assert pool.waiting(spec) == 0

    run(body)


def test_profiles_that_are_too_many_are_emptied(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """The one that was used longest ago goes first."""

    async def body() -> list[int]:
        async with pool_of(endpoint, PoolLimits(profiles=1)) as pool:
            older, newer = spec, replace(spec, memory_mb=128)
            await pool.warm(older, 1)
            await pool.warm(newer, 1)
            await pool._put_away()
            return [pool.waiting(older), pool.waiting(newer)]

    assert run(body) == [0, 1]


def test_many_at_once_are_all_served(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """A burst beyond the shelf gets cold boxes; nobody gets another's."""

    async def body() -> tuple[int, list[Any]]:
        async with pool_of(endpoint) as pool:
            await pool.warm(spec, 2)

            async def one(number: int) -> tuple[str, Any]:
                box = await pool.start(spec)
                assert box.channel.recv(1) == b"h"
                found = await ask(box, f"found['n'] = {number}")
                await box.close()
                return box.id, found

            done = await asyncio.gather(*(one(number) for number in range(6)))
            return len({name for name, _ in done}), [found for _, found in done]

    assert run(body) == (6, [{"n": number} for number in range(6)])


def test_a_box_over_the_stream_is_not_given_to_another_loop(endpoint: Endpoint, spec: SandboxSpec) -> None:
    """Its bytes move in the loop that made it; another loop gets a new box, and the old one is put away."""
    pool = DockerPool(DockerBackend(endpoint, carrier=Carrier.STREAM))

    async def first() -> int:
        return await pool.warm(spec, 1)

    async def second() -> tuple[bytes, ExitKind]:
        try:
            box = await pool.start(spec)
            said = box.channel.recv(1)
            return said, (await box.close()).kind
        finally:
            await pool.close()

    assert asyncio.run(first()) == 1
    assert asyncio.run(second()) == (b"h", ExitKind.KILLED_BY_US)


def test_a_killed_host_leaves_nothing_for_long(
    endpoint: Endpoint, spec: SandboxSpec, client: docker.DockerClient
) -> None:
    """E06: kill -9 in the middle; the next start removes its containers and sockets, and touches nothing that lives."""
    script = f"""
import asyncio, json, sys, time
from harness.sandbox.docker_pool import DockerPool
from harness.sandbox.spec import SandboxSpec
async def main():
    pool = DockerPool()
    spec = SandboxSpec(memory_mb=96, disk_mb=16, pids=24, open_files=64, image={spec.image!r})
    await pool.warm(spec, 1)
    box = await pool.start(spec)
    print(json.dumps([box.id, str(box.meeting.folder)]), flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""
    host = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "DOCKER_HOST": endpoint.url},
    )
    assert host.stdout is not None
    name, folder = json.loads(host.stdout.readline())
    host.send_signal(signal.SIGKILL)
    host.wait()
    host.stdout.close()

    async def body() -> None:
        async with pool_of(endpoint) as pool:
            box = await pool.start(spec)
            await sweep_containers(pool.cold.engine)
            assert box.waiting

    run(body)
    with pytest.raises(docker.errors.NotFound):
        client.containers.get(name)
    assert not Path(folder).exists()


@pytest.mark.slow
@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("dockerd"), reason="starting an engine needs root and dockerd"
)
def test_an_engine_that_is_started_again_is_survived(short_tmp: str) -> None:
    """E08: waiting containers die with their engine; down, the sentence says so; up again, the next run works."""
    folder = Path(short_tmp)
    own = Endpoint(f"unix://{folder}/docker.sock", "DOCKER_HOST")

    def engine(verb: str) -> None:
        subprocess.run(["bash", ".ci/engine.sh", verb, short_tmp], cwd=ROOT, check=True, capture_output=True)

    async def body() -> tuple[str, bytes, int]:
        spec = SandboxSpec(memory_mb=96, disk_mb=16)
        pool = DockerPool(DockerBackend(own))
        try:
            await pool.warm(spec, 2)
            await asyncio.to_thread(engine, "stop")
            with pytest.raises(EnvironmentUnavailable) as refused:
                await pool.start(spec)
            await asyncio.to_thread(engine, "start")
            box = await pool.start(spec)
            said = box.channel.recv(1)
            await box.close()
            await until(lambda: pool.waiting(spec) == 2)
            await asyncio.to_thread(pool.cold._undertaker.wait, PATIENCE)
            return refused.value.message, said, len(await pool.cold.engine.get("/containers/json", {"all": "1"}))
        finally:
            await pool.close()

    engine("start")
    try:
        build_image(own, from_host=True)
        message, said, left = run(body)
        after = run(lambda: DockerBackend(own).engine.get("/containers/json", {"all": "1"}))
    finally:
        engine("stop")
    assert message == f"no Docker engine: there is no socket at `{own.url}` (DOCKER_HOST)"
    assert said != b""
    assert (left, after) == (2, [])
