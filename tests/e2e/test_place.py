"""Which box a run gets: what contract and host say of backend, runtime and image is held, or the run does not start."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.endpoint import find_endpoint
from harness.sandbox.engine import Engine
from tests.e2e.host import HOST_FILE, Host, contract


def with_sandbox(**settings: str) -> dict[str, Any]:
    """The host's contract with settings of its box."""
    document = contract()
    document["sandbox"].update(settings)
    return document


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"backend": "docker"}, "the contract runs on `docker`, and this host uses `bubblewrap`"),
        ({"runtime": "runsc"}, "`sandbox.runtime` of the contract means nothing to bubblewrap"),
    ],
    ids=["another-backend", "a-runtime"],
)
def test_what_this_host_cannot_do_does_not_start(tmp_path: Path, settings: dict[str, str], sentence: str) -> None:
    """B07: a stated wall that is not there refuses the run; it does not run without."""
    host = Host.at(tmp_path, setting="bubblewrap")
    policy = tmp_path / "policy.yaml"
    policy.write_text("policy: wide\nversion: 1\nruntimes: [runsc]\n")
    (tmp_path / "harness.yaml").write_text(HOST_FILE + "policy: policy.yaml\n")
    with pytest.raises(EnvironmentUnavailable) as refused:
        host.harness().run_sync(with_sandbox(**settings), "return {}")
    assert refused.value.message == sentence


@pytest.mark.docker
def test_gvisor_runs_the_whole_product(tmp_path: Path) -> None:
    """`sandbox.runtime: runsc` of the host file: calls, result and delivery, and the kernel inside is gVisor's."""
    info = asyncio.run(Engine(find_endpoint()).get("/info"))
    if "runsc" not in (info.get("Runtimes") or {}):
        pytest.skip("the engine has no runtime `runsc`")
    host = Host.at(tmp_path, setting="docker")
    (tmp_path / "harness.yaml").write_text(HOST_FILE + "sandbox: {backend: docker, runtime: runsc}\n")
    text = "import os\nfrom tools import echo\nreturn {'said': echo('x'), 'release': os.uname().release}"
    result = host.run(text, budget={"wall_seconds": 30})
    assert (result.exit_code, result.result) == (0, {"said": "x", "release": "4.4.0"})
    assert [each["status"] for each in result.deliveries] == ["delivered"]
