"""A container that has said its last word: the host ends it by its own hand, and asks the engine nothing."""

import pytest

from harness.core.ports import BoxExit, ExitKind
from harness.sandbox.docker_box import DockerBox
from harness.sandbox.endpoint import Endpoint
from harness.sandbox.spec import SandboxSpec
from tests.sandbox.boxes import ask, run
from tests.sandbox.engines import container_of

pytestmark = pytest.mark.docker


def test_whoever_kills_it_does_not_wait_for_the_engines_word(
    endpoint: Endpoint, probe_image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it had ended by itself before the kill: how is nobody's question any more."""
    spec = SandboxSpec(memory_mb=96, disk_mb=16, image=probe_image)

    async def body() -> BoxExit:
        async with container_of(endpoint, spec) as box:
            assert await ask(box, "import os; os._exit(3)") is None
            assert await box.seen.handle.ended(5)

            async def asked(self: DockerBox) -> tuple[int | None, bool]:
                raise AssertionError("the engine was asked")

            monkeypatch.setattr(DockerBox, "final_state", asked)
            await box.kill()
            ended: BoxExit = await box.close()
            return ended

    assert run(body) == BoxExit(ExitKind.KILLED_BY_US, "killed by the harness")
