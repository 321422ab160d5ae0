"""A box that has said its last word goes beside what follows, and is gone when the run has ended."""

import asyncio
from pathlib import Path
from typing import Any

from harness import Harness
from harness.core.ports import BoxExit
from harness.registry.registry import Registry
from harness.testing import ScriptBackend
from harness.testing.script_box import ScriptBox
from tests.run.making import document, ended, playing, returning


class SlowToGo(ScriptBackend):
    """Boxes that go only once `when()` holds."""

    def __init__(self, when: Any, script: Any) -> None:
        super().__init__(playing(script))
        self.when = when
        self.gone = 0

    async def start(self, spec: Any) -> ScriptBox:
        box = await super().start(spec)
        close = box.close

        async def close_late() -> BoxExit:
            while not self.when():
                await asyncio.sleep(0.001)
            self.gone += 1
            return await close()

        box.close = close_late  # type: ignore[method-assign]
        return box


def test_a_result_is_delivered_while_its_box_goes(tmp_path: Path) -> None:
    """Its box waits for the file to be there; the run waits for its box, as its last act."""
    backend = SlowToGo(lambda: list(tmp_path.glob("results/*.json")), returning(10))
    host = Harness(Registry(), folder=tmp_path, backend=backend)
    result = host.run_sync(document(), "return 10\n")
    assert (ended(result), backend.gone) == (("accepted", "contract_passed"), 1)


def test_a_box_that_has_not_ended_by_itself_is_gone_before_it_is_judged(tmp_path: Path) -> None:
    """How it went says why: so that comes first, and nothing is delivered."""

    def hangs_up(box: Any) -> None:
        raise OSError

    backend = SlowToGo(lambda: True, hangs_up)
    result = Harness(Registry(), folder=tmp_path, backend=backend).run_sync(document(), "return 10\n")
    assert (ended(result), backend.gone) == (("rejected", "box_lost"), 1)


def test_boxes_of_one_session_are_all_gone_at_its_end(tmp_path: Path) -> None:
    """The next snippet does not wait for the box of the one before."""

    async def two() -> int:
        host = Harness(Registry(), folder=tmp_path, backend=backend)
        async with host, host.session(document()) as session:
            await session.run("return 1\n")
            await session.run("return 2\n")
            await session.finish()
            return backend.gone

    backend = SlowToGo(lambda: backend.started == 2, returning(1))
    assert asyncio.run(two()) == 2
