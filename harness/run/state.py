"""The state of one run while it lives: the terms that bind it, the counters, and the parts that it was handed."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from harness.approvals.herald import Herald
from harness.contract.effective import Effective, Grant, Terms
from harness.core.budget import Amount, Budget, Dimension
from harness.core.bundle import Ledger
from harness.core.call import Call, Json
from harness.core.canonical import canonical
from harness.core.clock import Clock
from harness.core.ports import Backend, Box, BoxExit
from harness.core.state import State
from harness.enforcement.facts import Compiled
from harness.executor.execute import Executor
from harness.ledger.journal import Journal
from harness.output.deliver import Deliverer
from harness.registry.registry import Registry
from harness.run.asks import Asks
from harness.run.entries import Where

__all__ = ["Parts", "RunState"]


@dataclass(frozen=True, slots=True)
class Parts:
    """The real parts, chosen in one place (`harness.api`) and handed to the corridor."""

    backend: Backend
    store: Ledger
    executor: Executor
    registry: Registry
    deliverer: Deliverer
    clock: Clock
    secret: bytes
    """Host secret from which seeds are derived; never leaves the host."""
    results: str
    """Folder that `file:` destinations are relative to."""
    herald: Herald = field(default_factory=Herald)
    """Tells people that bundles wait."""
    runtime: str = ""
    """The engine's runtime for boxes; empty takes its default."""
    image: str = ""
    """The boxes' image; empty takes the harness's own."""


class RunState:
    """What the desk, the watch and the corridor share about one run."""

    def __init__(self, parts: Parts, terms: Terms, *, lineage: str, attempt: int = 1) -> None:
        self.parts = parts
        self.terms = terms
        self.effective: Effective = terms.effective
        self.id = terms.run
        self.lineage = lineage
        self.attempt = attempt
        self.clock = parts.clock
        self.registry = parts.registry
        self.executor = parts.executor
        self.compiled = Compiled(terms)
        self.budget = Budget(self.effective.limits)
        self.journal = Journal(parts.store, terms.run, attempt, self.snapshot)
        self.holder = self.effective.principal.holder
        self.asks = Asks(parts.store, terms.run, self.effective.policy.max_read_age)
        self.proven_ended = True
        """Whether the process of the former attempt is proven ended: then a look-up's `did not happen` counts."""
        self.flying: dict[tuple[str, str], str] = {}
        """Calls with a key that are dispatched and not ended, by (tool, key)."""
        self.unknown: dict[tuple[str, str], str] = {}
        """Calls whose ending is not known, by (lineage, content)."""
        self.questions: list[dict[str, Json]] = []
        """What people were asked and have answered, as the report shows it."""
        self.charges: list[dict[str, Json]] = []
        """The agent's own uses of models, as the report shows them."""
        self._leaving: set[asyncio.Future[BoxExit]] = set()
        self._wall_started = 0.0
        self._wall_used = 0.0

    def restore(self, used: Mapping[str, Amount]) -> None:
        """Go on from the counters of an earlier attempt."""
        self.budget.restore(used)
        self._wall_used = float(used.get(Dimension.WALL_SECONDS, 0))

    def snapshot(self) -> dict[str, Amount]:
        """The counters as they go with every journal line, the execution clock as it stands: what a kill leaves."""
        if self._wall_started:
            self.budget.observe(Dimension.WALL_SECONDS, round(self.wall_used(), 6))
        return self.budget.snapshot()

    @cached_property
    def data_classes(self) -> frozenset[str]:
        """Classes of labelled fields that this contract may see unmasked."""
        return frozenset(self.effective.contract.permissions.data_classes)

    def where(self, iteration: int) -> Where:
        """The coordinates of a journal line."""
        return Where(self.id, self.lineage, iteration, self.attempt)

    def grant(self, tool: str) -> Grant:
        """The grant of a tool that was already found to be listed."""
        return self.terms.grants[tool]

    def in_flight(self, call: Call) -> None:
        """Note a dispatched call, so that an equal one joins it."""
        if call.key:
            self.flying[call.tool, call.key] = call.id

    def landed(self, call: Call) -> None:
        """Forget a call that has ended; remember one whose ending is not known."""
        if call.key:
            self.flying.pop((call.tool, call.key), None)
        if call.state is State.UNKNOWN:
            self.unknown[call.lineage, call.content] = call.id

    def arguments_json(self, call: Call) -> bytes:
        """The arguments as the journal keeps them."""
        return canonical(call.arguments)

    def leave(self, box: Box) -> None:
        """Let a box that has said its last word go, beside what follows: how it exits tells nothing any more."""
        self._leaving.add(asyncio.ensure_future(_killed(box)))

    async def left(self) -> None:
        """Wait until every box is gone: nothing of a run outlives it."""
        if self._leaving:
            await asyncio.wait(self._leaving)

    # --- the execution clock: it runs while a box lives, and stops while none does ---------------------------

    def start_wall(self) -> None:
        """Start, or go on with, the execution clock."""
        if not self._wall_started:
            self._wall_started = self.clock.monotonic()

    def stop_wall(self) -> None:
        """Stop the execution clock and book what it showed."""
        if self._wall_started:
            self._wall_used += self.clock.monotonic() - self._wall_started
            self._wall_started = 0.0
            self.budget.observe(Dimension.WALL_SECONDS, round(self._wall_used, 6))

    def wall_used(self) -> float:
        """Seconds on the execution clock."""
        running = self.clock.monotonic() - self._wall_started if self._wall_started else 0.0
        return self._wall_used + running

    def wall_left(self) -> float:
        """Seconds until the wall limit, not below zero."""
        limit = self.budget.limit(Dimension.WALL_SECONDS)
        return max(float(limit if limit is not None else 0) - self.wall_used(), 0.0)


async def _killed(box: Box) -> BoxExit:
    await box.kill()
    return await box.close()
