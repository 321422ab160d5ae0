"""The session: several snippets under one contract and one budget."""

from collections.abc import Mapping
from types import TracebackType
from typing import Protocol, Self

from harness.contract.effective import Effective, Terms
from harness.contract.policy import Policy
from harness.core.ending import Ending, Outcome, ReasonCode
from harness.core.errors import StoreError
from harness.core.ports import RunRow
from harness.registry.registry import Registry
from harness.report import RunResult
from harness.run.corridor import Corridor
from harness.run.endings import unrecorded
from harness.run.lineage import Continues
from harness.run.loop import Propose, drive
from harness.run.observation import Observation
from harness.run.opening import SameRun
from harness.run.place import require_backend
from harness.run.prices import Charged
from harness.run.progress import Progress
from harness.run.returning import reopen, resumable
from harness.run.state import Parts
from harness.run.stored import stored_result

__all__ = ["Host", "Session"]


class Host(Protocol):
    """What a session asks of the harness that it belongs to."""

    policy: Policy
    registry: Registry

    async def parts(self) -> Parts:
        """The real parts."""

    @property
    def lent(self) -> bool:
        """Whether the backend was handed over."""


class Session:
    """Several snippets under one contract. Leaving it without `finish()` cancels the run."""

    def __init__(self, host: Host, terms: Terms, key: str, snippet: str = "") -> None:
        self._host = host
        self._terms = terms
        self._key = key
        self._snippet = snippet
        self._corridor: Corridor | None = None
        self._stored: RunResult | None = None
        self._cancelled = ""
        """Who cancelled it before it was opened."""
        self.is_retry = False
        """True where the caller's key names an earlier submission: this session is that run."""

    @property
    def id(self) -> str:
        """The run's id."""
        return self._stored.run if self._stored is not None else self._live().id

    @property
    def stubs(self) -> str:
        """The text of the stubs, as the box finds them."""
        return self._live().stubs.source

    def check(self, snippet: str) -> None:
        """Check a snippet against the language policy. Raises SnippetRefused; nothing runs and nothing is spent."""
        self._live().check(snippet)

    async def run(
        self, snippet: str, *, continues: Continues | str = Continues.AUTO, fresh_reads: bool = False
    ) -> Observation:
        """Run one snippet in a fresh box. Raises SnippetRefused before anything starts.

        After a failure it is a repair, whose calls of before are answered from the journal, unless `continues="new"`.
        With `fresh_reads` the reads among them are made again; effects never are.
        """
        return await self._live().iterate(snippet, Continues(continues), fresh_reads)

    def progress(self) -> Progress:
        """The run as it stands now, for whoever watches."""
        return self._live().progress()

    async def loop(self, propose: Propose) -> RunResult:
        """Ask `propose` for snippets until the contract ends the run; the result."""
        return self._stored or await drive(self._live(), propose)

    def charge(self, model: str, usage: Mapping[str, int]) -> Charged:
        """Book the agent's own use of a model, `usage` as `{"input_tokens": 900, "output_tokens": 80}`.

        Raises ChargeRefused for a model that is unknown, or that the contract does not name. A charge beyond a limit
        ends the run.
        """
        return self._live().charge(model, usage)

    async def finish(self) -> RunResult:
        """Judge the last proposal, deliver where it is accepted, close the record."""
        return self._stored or await self._live().finish()

    def cancel(self, detail: str) -> None:
        """Stop the run in order: the box goes, the record says who cancelled it. `finish()` gives the result."""
        if self._corridor is not None:
            self._corridor.cancel(detail)
        elif self._stored is None:
            self._cancelled = detail

    def _live(self) -> Corridor:
        if self._corridor is None:
            raise RuntimeError("a session is used inside `async with`, and ends with its run")
        return self._corridor

    async def __aenter__(self) -> Self:
        parts = await self._host.parts()
        effective: Effective = self._terms.effective
        if not self._host.lent:
            require_backend(effective, parts.backend.name)
        try:
            self._opened(Corridor(parts, self._terms, key=self._key, snippet=self._snippet))
        except SameRun as same:
            await self._retry(parts, same.row)
        return self

    async def _retry(self, parts: Parts, row: RunRow) -> None:
        """The run of this key: its stored result, or the run itself where it can go on."""
        self.is_retry = True
        if row.status == "ended" or (row.status == "paused" and row.id not in resumable(parts.store)):
            self._stored = stored_result(row.ending)
            return
        corridor = self._opened(reopen(parts, self._host.policy, self._host.registry.contracts(), row.id))
        await corridor.resume()

    def _opened(self, corridor: Corridor) -> Corridor:
        self._corridor = corridor
        if self._cancelled:
            corridor.cancel(self._cancelled)
        return corridor

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._corridor is None:
            return
        detail = f"{kind.__name__} in the caller" if kind is not None else "the session was left without `finish()`"
        ending = Ending(Outcome.UNRESOLVED, ReasonCode.CANCELLED, detail)
        await self._corridor.finish(unrecorded(error) if isinstance(error, StoreError) else ending)
