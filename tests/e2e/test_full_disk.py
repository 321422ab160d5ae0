"""A store that cannot be written, on every route: exit 7, the environment's reason, a way out, and nothing is lost."""

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import EnvironmentUnavailable, StoreUnavailable
from harness.ledger.audit import verify
from harness.registry.decorator import tool
from harness.testing import BoxSide
from tests.e2e.test_approvals import acts, host, ran, submit
from tests.e2e.test_signals import WHO, message
from tests.run.making import document, ended
from tests.run.waiting import waiting_harness

__all__ = ["host"]  # the fixture of a host with gated tools

ONE = 'from tools import write\n[write("a")]\n'


class Disk:
    """The disk of a store, which can be filled."""

    def __init__(self, folder: Path) -> None:
        self._filler = folder / "filler"

    def fill(self) -> None:
        """Leave no byte."""
        with contextlib.suppress(OSError), self._filler.open("wb", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass

    def free(self) -> None:
        """Make room again."""
        self._filler.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A real one of 2 MB below `.harness`."""
    store = tmp_path / ".harness"
    store.mkdir(mode=0o700)
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", store], check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount")
    yield Disk(store)
    subprocess.run(["umount", store], check=True)


def refusal(answer: tuple[int, Any]) -> tuple[int, str, bool]:
    """Exit status, code, and whether the sentence and the way out speak of the disk."""
    status, said = answer
    (fault,) = said["faults"]
    return status, fault["code"], is_of_the_disk(fault["message"] + fault["hint"])


def is_of_the_disk(said: str) -> bool:
    """SQLite says `full` where its log does not grow, and an error of the disk where what lies beside it does not."""
    return ("disk is full" in said and "make room" in said) or ("disk i/o error" in said and "free space" in said)


FULL = (7, "environment_unavailable", True)


@pytest.mark.bubblewrap
def test_every_command_says_so_and_goes_on_with_room(host: Path, disk: Disk) -> None:
    """`run`, `resume`, `cancel`, `approvals`: exit 7 each; a paused run is what it was, and happens once."""
    _, paused = submit(host, ONE)
    (bundle,) = ran(host, "approvals", "list")[1]
    decide = ("approvals", "decide", bundle["reference"], "--all", "--key", "boss")
    disk.fill()
    assert refusal(submit(host, ONE)) == FULL
    assert refusal(ran(host, *decide)) == FULL
    assert refusal(ran(host, "resume", paused["run"], "--backend", "bubblewrap")) == FULL
    assert refusal(ran(host, "resume", "--backend", "bubblewrap")) == FULL
    assert refusal(ran(host, "cancel", paused["run"])) == FULL
    disk.free()
    assert ran(host, *decide)[0] == 0
    status, result = ran(host, "resume", paused["run"], "--backend", "bubblewrap")
    assert (status, result["result"], acts(host)) == (0, ["a"], ["a"])
    assert ran(host, "audit", "verify")[0] == 0


@pytest.mark.bubblewrap
def test_an_mcp_client_hears_it(host: Path, disk: Disk) -> None:
    """As a refusal that says that nothing is wrong with the snippet; the server stays up and answers the next."""
    pytest.importorskip("mcp")
    submit(host, ONE)  # the store is made
    disk.fill()
    said = (
        message(1, "initialize", **WHO)
        + b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n'
        + message(2, "tools/call", name="harness_run_things", arguments={"snippet": ONE})
    )
    words = [sys.executable, "-m", "harness.front.cli.main", "mcp", "contract.json", "--backend", "bubblewrap"]
    with subprocess.Popen(words, cwd=host, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(said)
        server.stdin.flush()
        server.stdout.readline()
        first = json.loads(server.stdout.readline())["result"]
        disk.free()
        server.stdin.write(message(3, "tools/call", name="harness_run_things", arguments={"snippet": ONE}))
        server.stdin.flush()
        second = json.loads(server.stdout.readline())["result"]["structuredContent"]
        server.stdin.close()
        server.wait(60)
    assert first["isError"]
    answer = first["structuredContent"]
    assert (answer["status"], is_of_the_disk(answer["detail"])) == ("refused", True)
    assert "nothing is wrong with the snippet" in answer["next"]
    assert second["reason"] == "paused"


@pytest.mark.parametrize("room", [True, False], ids=["room-at-the-end", "no-room"])
def test_a_disk_that_fills_up_during_a_run(tmp_path: Path, disk: Disk, room: bool) -> None:
    """The effect that could not be written down is not made. With room the ending is recorded, exit 7; without, the run
    is left as by a killed host."""
    acted: list[int] = []

    @tool(effect="read", timeout_s=5)
    def fill() -> int:
        """Fill the disk."""
        disk.fill()
        return 1

    @tool(effect="write", timeout_s=5, preview="act")
    def act() -> int:
        """Act."""
        acted.append(1)
        return 1

    def script(box: BoxSide) -> None:
        if box.start["attempt"] == 1:
            box.call("fill")
        answer = box.call("act")
        if answer is None and room:
            disk.free()
        elif answer is not None:
            box.result(10)

    async def body() -> None:
        contract = document(tools=["fill", "act"])
        async with waiting_harness(tmp_path, [fill, act], script) as harness:
            if room:
                result = await harness.run(contract, "return 10")
                assert (ended(result), result.exit_code) == (("rejected", "environment_unavailable"), 7)
                assert harness.recorded(result.run).status == "ended"
                return
            with pytest.raises(StoreUnavailable, match="full") as error:
                await harness.run(contract, "return 10")
            assert isinstance(error.value, EnvironmentUnavailable)
            disk.free()

    asyncio.run(body())
    assert acted == []
    assert verify(tmp_path / ".harness" / "journal.db") == []
