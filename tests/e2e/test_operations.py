"""What goes wrong around a host: killed, engine away, image missing, disk full, clock moved; the next run works."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.api import Harness
from harness.core.clock import SystemClock
from harness.core.errors import EnvironmentUnavailable, StoreError
from harness.front.selftest.machine import holders, new_marker
from harness.ledger.audit import verify
from harness.sandbox.docker_args import LABEL, OWNER_LABEL
from harness.sandbox.endpoint import find_endpoint
from harness.sandbox.engine import Engine
from tests.e2e.host import HOST_FILE, Host, contract, ended

ACCEPTED = ("accepted", "contract_passed", 0)
ROOT = Path(__file__).resolve().parents[2]
HOLD = "import os, select\nheld = open('/tmp/{0}', 'w')\nselect.select([], [], [], 600)"


def until(true: Callable[[], object], seconds: float = 30.0) -> bool:
    """Whether it became true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(0.1)
    return False


def other_host(folder: Path, backend: str, marker: str) -> "subprocess.Popen[bytes]":
    """Another process that runs a snippet which holds a file of that name open for ten minutes."""
    program = f"""
    from pathlib import Path
    from tests.e2e.host import Host
    Host.at(Path({str(folder)!r}), setting={backend!r}).run({HOLD.format(marker)!r}, budget={{"wall_seconds": 600}})
    """
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], cwd=ROOT)


def containers(pid: int) -> int:
    """Containers whose owner is that process."""
    engine = Engine(find_endpoint())
    listed = asyncio.run(engine.get("/containers/json", {"all": "1", "filters": json.dumps({"label": [LABEL]})}))
    return sum(each["Labels"][OWNER_LABEL].split(":")[3] == str(pid) for each in listed)


def groups(pid: int) -> list[str]:
    """Control groups whose owner is that process; others may come and go meanwhile."""
    found = [name for _, names, _ in os.walk("/sys/fs/cgroup") for name in names]
    return [name for name in found if name.startswith("execution-harness-") and f".{pid}." in name]


@pytest.mark.bubblewrap
def test_a_killed_host_takes_its_bubblewrap_boxes_along(tmp_path: Path) -> None:
    """E06, B03: no process outlives it, and the next start removes its control groups, and nobody else's."""
    marker, alive = new_marker(), new_marker()
    folders = [tmp_path / "killed", tmp_path / "living", tmp_path / "next"]
    for folder in folders:
        folder.mkdir()
    killed, living = other_host(folders[0], "bubblewrap", marker), other_host(folders[1], "bubblewrap", alive)
    try:
        assert until(lambda: holders(marker) and holders(alive))
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert until(lambda: not holders(marker), 5)
        assert ended(Host.at(folders[2], setting="bubblewrap").run("return {}")) == ACCEPTED
        assert (groups(killed.pid), bool(holders(alive))) == ([], True)
    finally:
        for process in (killed, living):
            process.kill()
            process.wait()
    assert until(lambda: not holders(alive), 5)


@pytest.mark.docker
def test_the_next_start_sweeps_a_killed_hosts_containers(tmp_path: Path) -> None:
    """E06, E18: those of the proven dead alone; a living host keeps its own."""
    folders = [tmp_path / "killed", tmp_path / "living", tmp_path / "next"]
    for folder in folders:
        folder.mkdir()
    killed, living = (other_host(folder, "docker", new_marker()) for folder in folders[:2])
    try:
        assert until(lambda: containers(killed.pid) and containers(living.pid), 60)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert ended(Host.at(folders[2], setting="docker").run("return {}")) == ACCEPTED
        assert (containers(killed.pid), containers(living.pid)) == (0, 1)
    finally:
        for process in (killed, living):
            process.kill()
            process.wait()
    Host.at(folders[2], setting="docker").run("return {}")
    assert until(lambda: containers(living.pid) == 0)


def refused(folder: Path, host_file: str) -> tuple[str, bool]:
    """What a docker host says that cannot start, and whether it says a way out."""
    host = Host.at(folder, setting="docker")
    (folder / "harness.yaml").write_text(host_file)
    with pytest.raises(EnvironmentUnavailable) as error:
        host.harness().run_sync(contract(), "return {}")
    return error.value.message, bool(error.value.hint)


def test_an_engine_that_is_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E10, A37: DOCKER_HOST leads nowhere: a sentence, and no other kind of box instead."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    said, hint = refused(tmp_path, HOST_FILE)
    assert (said, hint) == ("no Docker engine: there is no socket at `unix:///nowhere/docker.sock` (DOCKER_HOST)", True)


def test_a_context_that_there_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E10: DOCKER_CONTEXT names none: the sentence names it."""
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("DOCKER_CONTEXT", "elsewhere")
    said, hint = refused(tmp_path, HOST_FILE)
    assert ("`elsewhere`" in said, hint) == (True, True)


@pytest.mark.docker
def test_an_image_that_is_missing(tmp_path: Path) -> None:
    """E10: the stated image is neither here nor to be had: a sentence that names it, and the next run works."""
    said, hint = refused(tmp_path, HOST_FILE + "sandbox: {backend: docker, image: 'nowhere.invalid/box:1'}\n")
    assert ("nowhere.invalid/box:1" in said, hint) == (True, True)
    assert ended(Host.at(tmp_path, setting="docker").run("return {}")) == ACCEPTED


@pytest.mark.bubblewrap
def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """The record has no room: the run does not go on without it; with room again it works."""
    host = Host.at(tmp_path, setting="bubblewrap")
    store = tmp_path / ".harness"
    store.mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", store], check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount")
    try:
        with pytest.raises(StoreError) as error:
            host.run("return {}")
    finally:
        subprocess.run(["umount", store], check=True)
    assert ("full" in error.value.message, bool(error.value.hint)) == (True, True)
    assert ended(host.run("return {}")) == ACCEPTED


class Jumping(SystemClock):
    """A wall clock that is set back by an hour, and forth by a day, while a run goes on."""

    def __init__(self) -> None:
        self._asked = 0

    def now(self) -> float:
        self._asked += 1
        return super().now() + (-3_600.0 if self._asked % 3 == 1 else 86_400.0 if self._asked % 3 == 2 else 0.0)


@pytest.mark.bubblewrap
def test_a_clock_that_is_moved(tmp_path: Path) -> None:
    """Limits follow a clock that does not move, and the record stays whole."""
    host = Host.at(tmp_path, setting="bubblewrap")
    harness = host.harness()
    harness = Harness(harness.registry, folder=tmp_path, clock=Jumping())
    harness._backend_setting = "bubblewrap"
    text = "import time\nfrom tools import echo\ntime.sleep(0.2)\nreturn {'said': echo('x')}"
    result = harness.run_sync(contract(budget={"wall_seconds": 5}), text)
    assert (ended(result), result.result) == (ACCEPTED, {"said": "x"})
    assert verify(tmp_path / ".harness" / "journal.db") == []


@pytest.fixture
def own_engine(short_tmp: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """An engine of this test's own: a function that starts or stops it."""
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip("no engine of one's own without root and dockerd")

    def order(word: str) -> None:
        subprocess.run(["bash", ROOT / ".ci/engine.sh", word, short_tmp], check=True, stdout=subprocess.DEVNULL)

    monkeypatch.setenv("DOCKER_HOST", f"unix://{short_tmp}/docker.sock")
    order("start")
    yield order
    order("stop")


@pytest.mark.slow
def test_an_engine_that_is_restarted(tmp_path: Path, own_engine: Callable[[str], None]) -> None:
    """E08, E10: while it is away a run says so, exit 7; once it is back the same host goes on, with its pool."""
    host = Host.at(tmp_path, setting="docker")

    async def body() -> list[tuple[str, str, int]]:
        async with host.harness() as harness:
            before = await harness.run(contract(), "return {}")
            warm = await harness.run(contract(), "return {}")
            await asyncio.to_thread(own_engine, "stop")
            away = await harness.run(contract(), "return {}")
            await asyncio.to_thread(own_engine, "start")
            after = await harness.run(contract(), "return {}")
            return [ended(each) for each in (before, warm, away, after)]

    assert asyncio.run(body()) == [
        ACCEPTED,
        ACCEPTED,
        ("rejected", "environment_unavailable", 7),
        ACCEPTED,
    ]
