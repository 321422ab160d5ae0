"""What two hosts do on one store at once: each is a process of its own, and waits for a line on its standard input."""

import asyncio
import contextlib
import os
import sys
from pathlib import Path
from typing import Any

from harness.api import Harness
from harness.core.bundle import BundleState
from harness.core.errors import StoreError
from harness.front.logs import configure
from harness.registry.decorator import tool
from harness.testing import BoxSide
from tests.run.making import document
from tests.run.waiting import gated, signed, waiting_harness

ROUNDS = 100
"""Times that each race is run: a race that one in twenty loses is then missed once in 170."""

INPUTS = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
ASKING = gated(["put"], inputs=INPUTS)
ACTING = document(tools=["put"], inputs=INPUTS)


def host(folder: Path) -> Harness:
    """One of the hosts of a folder; what its tool does stands in the folder's file `acts`, a line each time."""

    @tool(effect="write", preview="put {number}", timeout_s=5)
    def put(number: int) -> int:
        """Put a number down."""
        descriptor = os.open(folder / "acts", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(descriptor, f"{number}\n".encode())
        os.close(descriptor)
        return number

    return waiting_harness(folder, [put], script)


def script(box: BoxSide) -> None:
    """One effect, of the number that the run was given."""
    number = box.send_call("put", {"number": box.start["inputs"]["number"]})
    box.send({"t": "idle", "waiting": [number]})
    if box.receive() is not None:
        box.result(10)


async def decide_and_resume(folder: Path, by: str) -> None:
    """Bob approves, carol rejects; whoever it was, both go on with the run. Prints what was taken, and what ended."""
    async with host(folder) as harness:
        open_ = [bundle for bundle in harness.approvals if bundle.state is BundleState.OPEN]
        _ready()
        for bundle in open_:
            if harness.decide(signed(bundle, by == "bob", by)).taken:
                print("took", bundle.run)
            with contextlib.suppress(StoreError):
                result = await harness.resume(bundle.run)
                print(result.reason.value, bundle.run)


async def submit(folder: Path, _name: str) -> None:
    """Submit under the caller's keys; while the other runs it, ask again. Prints the run of each submission."""
    async with host(folder) as harness:
        _ready()
        for number in range(ROUNDS):
            print("run", await _submit(harness, number))


async def _submit(harness: Harness, number: int) -> Any:
    while True:
        with contextlib.suppress(StoreError):
            result = await harness.run(ACTING, "return 10", {"number": number}, key=f"key-{number}")
            if result.reason.value == "contract_passed":
                return result.run
        await asyncio.sleep(0.002)


def _ready() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    configure()  # the log goes to standard error, what a host says to standard output
    asyncio.run({"decide": decide_and_resume, "submit": submit}[sys.argv[1]](Path(sys.argv[2]), sys.argv[3]))
