"""What the tests of waiting are made of: tools that ask, an approver, and scripts that make calls at once."""

import asyncio
import functools
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from harness.api import Harness
from harness.approvals.decision import decision_document, sign
from harness.contract.principal import Principal
from harness.core.bundle import Bundle
from harness.core.clock import Clock
from harness.registry.from_function import from_function
from harness.registry.registry import Registry
from harness.testing import BoxSide, ScriptBackend
from tests.approvals.making import key_of, policy
from tests.run.making import document, playing


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an asynchronous test in a loop of its own."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


def gated(tools: Sequence[str], **changes: Any) -> dict[str, Any]:
    """A contract whose every call needs a person."""
    return document(tools=[{"tool": tool, "approval": "always"} for tool in tools], **changes)


def waiting_harness(
    folder: Path,
    tools: Sequence[Callable[..., Any]],
    script: Callable[[BoxSide], None],
    clock: Clock | None = None,
    **rules: Any,
) -> Harness:
    """A harness whose policy knows the approvers bob, who answers for `oncall`, and carol; alice asks."""
    known = policy("bob", "carol", **rules)
    bob = known.approvers[0].model_copy(update={"answers_for": ("oncall",)})
    registry = Registry()
    for each in tools:
        registry.add(from_function(each))
    return Harness(
        registry,
        folder=folder,
        policy=known.model_copy(update={"approvers": (bob, known.approvers[1])}),
        principal=Principal("alice", {}, "python"),
        backend=ScriptBackend(playing(script)),
        clock=clock,
    )


def signed(bundle: Bundle, approve: bool | dict[str, bool] = True, by: str = "bob") -> bytes:
    """Somebody's decision over a bundle."""
    yes = approve if isinstance(approve, dict) else {ask.call: approve for ask in bundle.asks}
    return sign(decision_document(bundle, by, yes), key_of(by))


def at_once(box: BoxSide, calls: Sequence[tuple[str, str, dict[str, Any]]]) -> dict[int, Any]:
    """Make calls from tasks of their own, say idle, and take the answers as they come: by number of the call."""
    numbers = [box.send_call(tool, args, task) for task, tool, args in calls]
    box.send({"t": "idle", "waiting": numbers})
    answers: dict[int, Any] = {}
    while len(answers) < len(numbers):
        answer = box.receive()
        if answer is None:
            break
        answers[answer["id"]] = answer
    return answers
