"""The driver: submits a run, decides its bundles, resumes it, until it has ended; in any process, after any crash."""

import asyncio
import json
from pathlib import Path

from harness.api import Harness
from harness.approvals.decision import decision_document, sign
from harness.contract.policy import ApprovalByEffect
from harness.contract.principal import Principal
from harness.core.bundle import Bundle, BundleState
from harness.registry.from_function import from_function
from harness.registry.registry import Registry
from harness.report import RunResult
from harness.testing import BoxSide, ScriptBackend
from tests.approvals.making import key_of, policy
from tests.crash.world import NUMBERS, Case, World, tools
from tests.run.making import document, playing

ROUNDS = 12
"""More than any crash needs until its run has ended."""


def script(case: Case):
    """The snippet of a case: a read, the effects, a result. Threads come in another order in every attempt."""

    def play(box: BoxSide) -> None:
        box.call("look")
        if case.shape == "one":
            groups = [[("0", number)] for number in NUMBERS]
        else:
            groups = [[(f"0.{number}", number) for number in NUMBERS]]
        if case.shape == "threads" and box.start["attempt"] % 2 == 0:
            groups = [list(reversed(groups[0]))]
        for group in groups:
            numbers = [box.send_call(case.tool, _arguments(case, number), task) for task, number in group]
            box.send({"t": "idle", "waiting": numbers})
            if any(box.receive() is None for _ in numbers):
                return
        box.result(10)

    return playing(play)


def _arguments(case: Case, number: int) -> dict[str, object]:
    return {"number": number, "operation": f"operation-{number}"} if case.kind == "key" else {"number": number}


def contract(case: Case) -> dict[str, object]:
    """The contract of a case."""
    grant = {"tool": case.tool, "approval": case.approval}
    return document(tools=["look", grant], budget={"calls": 60, "wall_seconds": 4})


def open_harness(case: Case, folder: Path) -> Harness:
    """A harness over the world; destructive calls ask only where the case says so."""
    World.folder = folder
    registry = Registry()
    for each in tools():
        registry.add(from_function(each))
    return Harness(
        registry,
        folder=folder,
        policy=policy("bob", approval=ApprovalByEffect(destructive="none")),
        principal=Principal("alice", {}, "python"),
        backend=ScriptBackend(script(case)),
    )


async def drive(case: Case, folder: Path) -> RunResult:
    """Submit again and again under one key, decide what is asked, until the run has ended."""
    async with open_harness(case, folder) as harness:
        for _ in range(ROUNDS):
            result = await harness.run(contract(case), "return 10", key="the one")
            if result.reason.value != "paused":
                return result
            for bundle in harness.approvals:
                if bundle.state is BundleState.OPEN:
                    harness.decide(_decision(bundle))
        raise AssertionError(f"the run has not ended after {ROUNDS} rounds")


def _decision(bundle: Bundle) -> bytes:
    """An approver says yes to every call, and the truth about what happened."""
    acted = World.acted()
    truth = {ask.call: bundle.kind != "outcome" or _number(ask.document) in acted for ask in bundle.asks}
    return sign(decision_document(bundle, "bob", truth), key_of("bob"))


def _number(ask: bytes) -> int:
    number: int = json.loads(ask)["arguments"]["number"]
    return number


def run_to_end(case: Case, folder: Path) -> RunResult:
    """`drive` in a loop of its own."""
    return asyncio.run(drive(case, folder))
