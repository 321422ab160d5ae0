"""Choosing a backend: what works is taken, what is passed over is said, and without one nothing runs."""

import asyncio
from pathlib import Path

import pytest

from harness.core.errors import EnvironmentUnavailable
from harness.core.ports import Backend
from harness.sandbox.backends import Choice, choose
from harness.sandbox.doctor import Finding, Status, examine, why_not
from harness.sandbox.endpoint import Endpoint
from harness.sandbox.spec import SandboxSpec

NO_ENGINE = "no Docker engine: there is no socket at `unix:///nowhere/docker.sock` (DOCKER_HOST)"


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without an engine."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")


@pytest.fixture
def no_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose bubblewrap makes no namespaces."""

    def closed() -> None:
        raise EnvironmentUnavailable(
            "no bubblewrap box here: `setting up uid map: Permission denied`", hint="open them"
        )

    for module in ("backends", "doctor"):
        monkeypatch.setattr(f"harness.sandbox.{module}.probe", closed)


def chosen(choice: Choice, spec: SandboxSpec | None = None) -> tuple[str, list[str]]:
    """Name of the backend, and what was said."""
    heard: list[str] = []

    async def body() -> Backend:
        return await choose(choice, spec, told=heard.append)

    return asyncio.run(body()).name, heard


@pytest.mark.docker
@pytest.mark.usefixtures("endpoint")
def test_a_running_engine_is_used() -> None:
    """AUTO takes the backend of record where it works."""
    name, heard = chosen(Choice.AUTO)
    assert name == "docker"
    assert [text for text in heard if "passed over" in text] == []


@pytest.mark.bubblewrap
@pytest.mark.usefixtures("no_engine")
def test_without_an_engine_bubblewrap_is_used_and_said() -> None:
    """AUTO says what it passed over, and why."""
    assert chosen(Choice.AUTO) == ("bubblewrap", [f"docker is passed over: {NO_ENGINE}"])


@pytest.mark.usefixtures("no_engine", "no_bubblewrap")
@pytest.mark.parametrize("choice", Choice)
def test_without_any_backend_nothing_runs(choice: Choice) -> None:
    """A37, E13: refused, never unsandboxed; the mend for each backend that was tried."""
    with pytest.raises(EnvironmentUnavailable) as refused:
        chosen(choice)
    said = str(refused.value)
    assert ("systemctl start docker" in said) is (choice is not Choice.BUBBLEWRAP)
    assert ("open them" in said) is (choice is not Choice.DOCKER)


@pytest.mark.usefixtures("no_engine")
def test_a_runtime_is_never_dropped_on_the_way_to_another_backend() -> None:
    """Who asks for gVisor does not get a box without it."""
    with pytest.raises(EnvironmentUnavailable) as refused:
        chosen(Choice.AUTO, SandboxSpec(runtime="runsc"))
    assert refused.value.message == NO_ENGINE
    with pytest.raises(EnvironmentUnavailable) as refused:
        chosen(Choice.BUBBLEWRAP, SandboxSpec(runtime="runsc"))
    assert refused.value.message == "`sandbox.runtime` means nothing to bubblewrap"


@pytest.mark.usefixtures("no_engine")
def test_a_missing_engine_is_a_sentence() -> None:
    """What the tests and the doctor say of it."""
    assert why_not("docker") == NO_ENGINE
    with pytest.raises(ValueError, match="'podman' is not a valid Choice"):
        why_not("podman")


def findings(*, live: bool) -> dict[str, Finding]:
    return {finding.name: finding for finding in asyncio.run(examine(live=live))}


@pytest.mark.usefixtures("no_engine", "no_bubblewrap")
def test_the_doctor_names_a_mend_for_everything_that_is_missing() -> None:
    """E13: what lacks is told with a way out; what works needs none."""
    found = findings(live=True)
    assert {name: found[name].status for name in ("docker", "bubblewrap")} == dict.fromkeys(
        ("docker", "bubblewrap"), Status.MISSING
    )
    assert [finding.name for finding in found.values() if (finding.status is Status.WORKS) == bool(finding.hint)] == []
    assert [name for name in found if "live" in name] == []


@pytest.mark.docker
def test_the_doctor_starts_a_box_and_reads_it_back(endpoint: Endpoint) -> None:
    """B07: a live box on the engine, confined as the kernel says."""
    found = findings(live=True)
    assert found["docker"].status is Status.WORKS
    assert endpoint.url in found["docker"].detail
    live = found["docker live box"]
    assert (live.status, live.detail) == (
        Status.WORKS,
        "started, confined as the kernel says, limits read back, removed",
    )


@pytest.mark.docker
def test_a_runtime_of_the_engine_is_reported(endpoint: Endpoint, tmp_path: Path) -> None:
    """gVisor is there, or what is missing is said."""
    gvisor = findings(live=False)["gvisor"]
    assert gvisor.status in (Status.WORKS, Status.OPTIONAL)
    assert ("runtime `runsc`" in gvisor.detail) is True
