"""The Python API: a harness over one host, runs, and sessions. The one place that chooses the real parts."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from harness.approvals.announce import Webhook
from harness.approvals.herald import Herald
from harness.contract.effective import Effective, Terms, bind
from harness.contract.host import HostFile, load_host
from harness.contract.host_secrets import announce_faults, announce_hosts
from harness.contract.kept import Bindings
from harness.contract.load import load_contract, load_policy
from harness.contract.model import Contract
from harness.contract.policy import BUILT_IN, Policy
from harness.contract.principal import Principal
from harness.core.bundle import Bundle
from harness.core.call import Json
from harness.core.clock import Clock, SystemClock
from harness.core.errors import ContractRefused, EnvironmentUnavailable, NotAvailable, StoreError, StoreUnavailable
from harness.core.ports import Backend, RunRow
from harness.executor.execute import Executor
from harness.ledger.keys import load_or_create
from harness.ledger.sqlite import SqliteStore
from harness.output.deliver import Deliverer
from harness.registry.catalog import stubs
from harness.registry.registry import Registry
from harness.registry.source import load_sources
from harness.report import RunResult
from harness.run.cancelling import cancel_run
from harness.run.children import with_children
from harness.run.corridor import Corridor
from harness.run.ids import new_run_id
from harness.run.loop import Propose
from harness.run.principal import operating_system_user
from harness.run.returning import DecisionOutcome, decidable, decide, found, reopen, resumable
from harness.run.session import Session
from harness.run.state import Parts
from harness.sandbox.backends import Choice, choose
from harness.sandbox.spec import SandboxSpec
from harness.toolsets.load import Toolsets
from harness.toolsets.secrets import Secrets

__all__ = ["Harness", "Session"]

T = TypeVar("T")
ContractSource = Contract | Path | str | Mapping[str, Any]


class Harness:
    """A host: its tools, its policy, its store, and a way of making boxes.

    Use it as an asynchronous context manager, or call `close()`; the `_sync` methods do so by themselves.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        folder: Path | str = ".",
        host: HostFile | None = None,
        policy: Policy = BUILT_IN,
        principal: Principal | None = None,
        backend: Backend | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`folder` is what `file:` destinations and the store are relative to.

        A `backend` that is handed over stays the caller's to close; otherwise one is chosen when first needed.
        Raises ContractRefused where the host's webhook holds a secret that the policy does not let stand there.
        """
        registry.seal()
        self.registry = registry
        self.policy = policy
        self.folder = Path(folder)
        self.host = host or HostFile()
        faults = list(announce_faults(self.host, policy))
        if faults:
            raise ContractRefused(faults)
        self.principal = principal or operating_system_user(policy)
        self._clock = clock or SystemClock()
        self._backend = backend
        self._lent = backend is not None
        self.toolsets = Toolsets(self.host, self.folder)
        self._above: list[Path] = []
        self._store: SqliteStore | None = None
        self._parts: Parts | None = None
        self._bindings = Bindings()

    @classmethod
    def from_file(
        cls, path: Path | str = "harness.yaml", *, policy: Path | str | None = None, backend: str = ""
    ) -> Self:
        """A harness as a host file describes it. Raises ContractRefused or RegistryRefused with every fault."""
        host = load_host(Path(path))
        folder = Path(path).resolve().parent
        where = Path(policy) if policy is not None else folder / host.policy if host.policy else None
        toolsets = Toolsets(host, folder)
        harness = cls(
            load_sources(host, folder, toolsets.tools),
            folder=folder,
            host=host,
            policy=load_policy(where) if where is not None else BUILT_IN,
        )
        harness._backend_setting = backend or host.sandbox.backend.value
        harness.toolsets = toolsets
        return harness

    _backend_setting: str = "auto"

    # --- contracts -----------------------------------------------------------------------------------------

    def contract(self, source: ContractSource) -> Contract:
        """Load a contract against this host's tools. Raises ContractRefused with every fault."""
        loaded = source if isinstance(source, Contract) else load_contract(source, tools=self.registry.contracts())
        return with_children(self, loaded, self._above)

    def bind(self, source: ContractSource) -> Effective:
        """A contract under this host's policy and principal.

        Raises ContractRefused with every fault, NotAvailable where it says what this version does not execute.
        """
        effective = self.effective(source)
        if effective.unavailable:
            raise NotAvailable(effective.unavailable)
        return effective

    def effective(self, source: ContractSource) -> Effective:
        """As `bind`, for reading only: what this version does not execute stands in `unavailable`."""
        return self._bindings.effective(source, self.policy, self.principal, self._bind)

    def _bind(self, source: ContractSource) -> Effective:
        return bind(self.contract(source), self.policy, self.principal, self.registry.contracts())

    def terms(self, source: ContractSource, inputs: Mapping[str, Json] | None = None) -> Terms:
        """A contract bound for one new run."""
        return self.bind(source).for_run(new_run_id(), dict(inputs or {}))

    def stubs(self, source: ContractSource, inputs: Mapping[str, Json] | None = None) -> str:
        """The text of the stubs that a box finds under a contract, as a model should see it."""
        terms = self.terms(source, inputs)
        return stubs(terms.grants, terms.effective.contract.permissions.search_above).source

    # --- runs ----------------------------------------------------------------------------------------------

    async def run(
        self, contract: ContractSource, snippet: str, inputs: Mapping[str, Json] | None = None, *, key: str = ""
    ) -> RunResult:
        """Run one snippet under a contract, to its end.

        `key` is the caller's own name for this submission: a second one with it is the same run.
        Raises Refused before anything starts, EnvironmentUnavailable where no box can be had.
        """
        async with self.session(contract, inputs, key=key, snippet=snippet) as session:
            if not session.is_retry:
                session.check(snippet)
                await session.run(snippet)
            return await session.finish()

    def run_sync(
        self, contract: ContractSource, snippet: str, inputs: Mapping[str, Json] | None = None, *, key: str = ""
    ) -> RunResult:
        """`run` for code without an event loop; closes the harness when it is done."""
        return self._alone(self.run(contract, snippet, inputs, key=key))

    def session(
        self, contract: ContractSource, inputs: Mapping[str, Json] | None = None, *, key: str = "", snippet: str = ""
    ) -> Session:
        """Several snippets under one contract and one budget: `async with harness.session(contract) as session`.

        `key`: the caller's own name for it; `snippet`: of a session of one snippet, so that a crash loses nothing.
        """
        return Session(self, self.terms(contract, inputs), key, snippet)

    async def loop(
        self, contract: ContractSource, propose: Propose, inputs: Mapping[str, Json] | None = None, *, key: str = ""
    ) -> RunResult:
        """Ask `propose(turn)` for snippets and run them until the contract ends the run.

        It ends on success, on a stop condition, on a limit, and after `budget.iterations` whatever happens; `propose`
        may be asynchronous, and gives None where it has nothing more. Raises what `propose` raises: the run is then
        recorded as cancelled.
        """
        async with self.session(contract, inputs, key=key) as session:
            return await session.loop(propose)

    def loop_sync(
        self, contract: ContractSource, propose: Propose, inputs: Mapping[str, Json] | None = None, *, key: str = ""
    ) -> RunResult:
        """`loop` for code without an event loop; closes the harness when it is done."""
        return self._alone(self.loop(contract, propose, inputs, key=key))

    # --- coming back ---------------------------------------------------------------------------------------

    @property
    def approvals(self) -> Sequence[Bundle]:
        """Every bundle of the store, oldest first; what is past its time is closed first. Raises StoreError."""
        store = self.store()
        store.expire()
        return store.list_bundles()

    def approval(self, reference: str) -> Bundle:
        """One bundle by its public reference. Raises StoreError where there is none."""
        return decidable(self.store(), reference)

    def decide(self, document: bytes, source: str = "python") -> DecisionOutcome:
        """Take a signed decision, once, by whoever comes first. A document that is none changes nothing."""
        return decide(self.store(), self.policy, document, source)

    async def resume(self, run: str, *, force: bool = False) -> RunResult:
        """Go on with a run that was paused, or whose host died, to its end or its next pause.

        `force`: its last host is gone for good, and cannot be asked. Raises StoreError where the run has ended, lives,
        or another process was faster; ContractRefused where today's policy does not allow it: nothing has changed then.
        """
        corridor = await self.reopen(run, force=force)
        await corridor.resume()
        return await corridor.finish()

    async def reopen(self, run: str, *, force: bool = False) -> Corridor:
        """As `resume`, only opened: what is left is its `resume()` and `finish()`."""
        return reopen(await self.parts(), self.policy, self.registry.contracts(), run, force=force)

    async def resume_decided(self) -> list[RunResult]:
        """Resume each paused run that waits for nobody, unless another host was faster. Raises StoreUnavailable."""
        results: list[RunResult] = []
        for run in resumable(self.store()):
            try:
                results.append(await self.resume(run))
            except StoreUnavailable:
                raise
            except StoreError:  # another host was faster
                continue
        return results

    def cancel(self, run: str) -> RunResult:
        """End a run, wherever it lives: nothing of it is dispatched any more, and its box goes within a second.

        An effect that is under way is UNKNOWN from then on. Raises StoreError where it has ended.
        """
        return cancel_run(self.store(), run, self.principal.name, self._clock.now())

    def recorded(self, run: str) -> RunRow:
        """The row of a run. Raises StoreError where there is none."""
        return found(self.store(), run)

    def _alone(self, work: Coroutine[Any, Any, T]) -> T:
        async def whole() -> T:
            async with self:
                return await work

        return asyncio.run(whole())

    @property
    def lent(self) -> bool:
        """Whether the backend was handed over: then nothing chooses one, and nothing asks whether it may be."""
        return self._lent

    # --- parts ---------------------------------------------------------------------------------------------

    async def parts(self) -> Parts:
        """The real parts, made when first needed. Raises EnvironmentUnavailable, StoreError."""
        if self._parts is None:
            store = self.store()
            backend = self._backend or await self._choose()
            self._parts = Parts(
                backend=backend,
                store=store,
                executor=Executor(clock=self._clock, secrets=Secrets(self.host.secrets, self.folder).known()),
                registry=self.registry,
                deliverer=Deliverer(self.folder, self._clock),
                clock=self._clock,
                secret=self._secret(),
                results=str(self.folder),
                runtime=self.host.sandbox.runtime,
                image=self.host.sandbox.image,
                herald=self._herald(),
            )
        return self._parts

    def _herald(self) -> Herald:
        url = self.host.announce
        if not url:
            return Herald()
        fill = Secrets(self.host.secrets, self.folder).fill
        return Herald(Webhook(url, self.policy.private_hosts, announce_hosts(self.host, self.policy), fill))

    async def _choose(self) -> Backend:
        """A backend that works here and that the policy allows. Raises EnvironmentUnavailable."""
        sandbox = self.host.sandbox
        spec = SandboxSpec(runtime=sandbox.runtime, image=sandbox.image)
        backend = await choose(Choice(self._backend_setting), spec)
        if backend.name not in {allowed.value for allowed in self.policy.backends}:
            await backend.close()
            raise EnvironmentUnavailable(
                f"the policy does not allow the backend `{backend.name}`", hint="allow it, or make another one work"
            )
        return backend

    def store(self) -> SqliteStore:
        """The store, opened when first needed. Raises StoreError."""
        if self._store is None:
            folder = self.folder / self.host.store
            self._store = SqliteStore(folder / "journal.db", clock=self._clock)
        return self._store

    def _secret(self) -> bytes:
        """The host's secret for seeds, made once beside the store, readable by its owner alone."""
        return load_or_create(self.folder / self.host.store / "seed.key")

    async def close(self) -> None:
        """Let go of everything: boxes, threads, store."""
        parts, self._parts = self._parts, None
        if parts is not None:
            if not self._lent:
                await parts.backend.close()
            parts.executor.close()
            if parts.herald.telling:
                await asyncio.to_thread(parts.herald.wait)
        await self.toolsets.close()
        if self._store is not None:
            self._store.close()
            self._store = None

    def kill_now(self) -> None:
        """End every box without an event loop, from a signal's handler: the process ends in the next moment."""
        if self._parts is not None:
            self._parts.backend.kill_now()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
