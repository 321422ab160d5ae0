"""The selftest over every way of making boxes: nothing falls, and what cannot be tried says why."""

import asyncio
import json
from collections.abc import Callable

import pytest

from harness.core.ports import Backend
from harness.front.cli.entries import ENTRIES
from harness.front.cli.main import main
from harness.front.selftest.probe import Finding, Group, Status
from harness.front.selftest.selftest import Selftest
from harness.front.selftest.table import TRIES
from harness.sandbox.bubblewrap import BubblewrapBackend
from harness.sandbox.docker import DockerBackend
from harness.sandbox.docker_pool import DockerPool
from harness.sandbox.endpoint import find_endpoint
from harness.sandbox.engine import Engine
from harness.sandbox.isolation import WALLS
from harness.sandbox.pool import SlotPool

LEAST = 60
WAYS: dict[str, tuple[Callable[[], Backend], str, set[str]]] = {
    "cold": (BubblewrapBackend, "", set()),
    "cold-single": (lambda: BubblewrapBackend(groups=False), "", set()),
    "slot": (SlotPool, "", set()),
    "slot-single": (lambda: SlotPool(groups=False), "", set()),
    "docker": (DockerBackend, "", set()),
    "docker-pool": (DockerPool, "", set()),
    "runsc": (
        DockerBackend,
        "runsc",
        {
            "network.interfaces",
            "host.root-of-the-first-process",
            "host.sys",
            "host.devices",
            "host.other-folders",
            "exhaustion.double-fork",
        },
    ),
}
"""Name → how, the engine's runtime, and the probes that cannot be tried there."""


def battery(make: Callable[[], Backend], runtime: str = "", *only: str) -> list[Finding]:
    """Every probe over one backend."""

    async def body() -> list[Finding]:
        backend = make()
        try:
            return await Selftest(backend, runtime, entries=ENTRIES, only=only).run()
        finally:
            await backend.close()

    return asyncio.run(body())


def _param(name: str) -> object:
    mark = pytest.mark.docker if name.startswith(("docker", "runsc")) else pytest.mark.bubblewrap
    return pytest.param(*WAYS[name], id=name, marks=[mark, pytest.mark.slow])


@pytest.mark.parametrize(("make", "runtime", "untried"), [_param(name) for name in WAYS])
def test_nothing_falls(make: Callable[[], Backend], runtime: str, untried: set[str]) -> None:
    """A19, A20, A30, A31, A32, B03, B07, C27: at least 60 probes, each class among them, on every way."""
    if runtime and runtime not in (asyncio.run(Engine(find_endpoint()).get("/info")).get("Runtimes") or {}):
        pytest.skip(f"the engine has no runtime `{runtime}`")
    found = battery(make, runtime)
    lost = {each.name for each in found if each.status is Status.UNTRIED} - untried
    if lost:  # a box that a loaded machine lost before its probe answered is tried once more; what fell stays fallen
        again = {each.name: each for each in battery(make, runtime, Group.EXHAUSTION.value)}
        found = [again.get(each.name, each) if each.name in lost else each for each in found]
    assert {each.name: each.detail for each in found if each.status is Status.FELL} == {}
    assert {each.name for each in found if each.status is Status.UNTRIED} == untried
    assert len(found) >= LEAST
    assert len({each.name for each in found}) == len(found)
    assert {each.group for each in found} == set(Group)


@pytest.mark.bubblewrap
def test_the_command_prints_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    """`--json`: name, class, status and detail of each probe, and exit 0 where none fell."""
    with pytest.raises(SystemExit) as left:
        main(["selftest", "--backend", "bubblewrap", "--cold", "--only", "network", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert (left.value.code, document["backend"], document["held"]) == (0, "bubblewrap", True)
    assert {tuple(sorted(probe)) for probe in document["probes"]} == {("class", "detail", "name", "status")}
    assert {probe["class"] for probe in document["probes"]} == {"network"}


def test_every_wall_has_a_probe() -> None:
    """Each line of the isolation is tried under a name of its own."""
    assert {wall.name for wall in WALLS} == set(TRIES)


def test_without_an_engine_nothing_is_said_to_have_fallen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A37, E10: a machine that cannot make boxes gives no verdict on them."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    found = battery(DockerBackend, "", "network", "channel")
    assert {each.status for each in found} == {Status.UNTRIED}
