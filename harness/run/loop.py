"""The loop: an agent proposes a snippet, sees what came of it, proposes the next, until the contract ends it.

It ends by contract, never by the agent's word; `budget.iterations` ends it where nothing else does.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from harness.core.call import Json
from harness.report import RunResult
from harness.run.corridor import Corridor
from harness.run.observation import Observation
from harness.run.prices import Charged

__all__ = ["Propose", "Turn", "drive"]


@dataclass(frozen=True, slots=True)
class Turn:
    """What an agent is given when it is asked for a snippet."""

    number: int
    """1 for the first proposal."""
    goal: str
    """As the contract has it."""
    stubs: str
    """Text of the stubs, as the box finds them under `tools`."""
    inputs: Mapping[str, Json]
    output_schema: Json
    observations: Sequence[Observation]
    """What came of the earlier proposals, oldest first."""
    charge: Callable[[str, Mapping[str, int]], Charged]
    """`charge(model, usage)`: book the agent's own use of a model. Raises ChargeRefused."""

    @property
    def last(self) -> Observation | None:
        """What came of the last proposal; None before the first."""
        return self.observations[-1] if self.observations else None


Propose = Callable[[Turn], str | Awaitable[str | None] | None]
"""A function that gives the next snippet, or None where it has none; it may be asynchronous."""


async def drive(corridor: Corridor, propose: Propose) -> RunResult:
    """Ask for snippets and run them until the contract ends the run. Whatever `propose` raises goes through."""
    observations: list[Observation] = []
    while not corridor.is_over():
        answer = propose(_turn(corridor, observations))
        snippet = await answer if inspect.isawaitable(answer) else answer
        if snippet is None:
            break
        observations.append(await corridor.attempt(snippet))
    return await corridor.finish()


def _turn(corridor: Corridor, observations: Sequence[Observation]) -> Turn:
    contract = corridor.terms.effective.contract
    return Turn(
        number=len(observations) + 1,
        goal=contract.goal,
        stubs=corridor.stubs.source,
        inputs=corridor.terms.inputs,
        output_schema=contract.output.schema_,
        observations=tuple(observations),
        charge=corridor.charge,
    )
