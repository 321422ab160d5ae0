"""The Python API: a harness over one host, runs, and sessions. The one place that chooses the real parts."""

import asyncio
import os
import pwd
import secrets
from collections.abc import Coroutine, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from harness.contract.effective import Effective, Terms, bind
from harness.contract.host import HostFile, load_host
from harness.contract.kept import Bindings
from harness.contract.load import load_contract, load_policy
from harness.contract.model import Contract
from harness.contract.policy import BUILT_IN, Policy
from harness.contract.principal import Principal
from harness.core.call import Json
from harness.core.clock import Clock, SystemClock
from harness.core.ending import Ending, Outcome, ReasonCode
from harness.core.errors import EnvironmentUnavailable, NotAvailable
from harness.core.ports import Backend
from harness.executor.execute import Executor
from harness.ledger.sqlite import SqliteStore
from harness.output.deliver import Deliverer
from harness.registry.catalog import stubs
from harness.registry.registry import Registry
from harness.registry.source import load_sources
from harness.report import RunResult
from harness.run.corridor import Corridor
from harness.run.ids import new_run_id
from harness.run.loop import Propose, drive
from harness.run.observation import Observation
from harness.run.place import require_backend
from harness.run.prices import Charged
from harness.run.state import Parts
from harness.sandbox.backends import Choice, choose
from harness.sandbox.spec import SandboxSpec
from harness.toolsets.load import Toolsets

__all__ = ["Harness", "Session", "operating_system_user"]

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
        """
        registry.seal()
        self.registry = registry
        self.policy = policy
        self.folder = Path(folder)
        self.host = host or HostFile()
        self.principal = principal or operating_system_user(policy)
        self._clock = clock or SystemClock()
        self._backend = backend
        self._lent = backend is not None
        self.toolsets = Toolsets(self.host, self.folder)
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
        if isinstance(source, Contract):
            return source
        return load_contract(source, tools=self.registry.contracts())

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
        return stubs(self.terms(source, inputs).grants).source

    # --- runs ----------------------------------------------------------------------------------------------

    async def run(
        self, contract: ContractSource, snippet: str, inputs: Mapping[str, Json] | None = None, *, key: str = ""
    ) -> RunResult:
        """Run one snippet under a contract, to its end.

        `key` is the caller's own name for this submission: a second one with it is the same run.
        Raises Refused before anything starts, EnvironmentUnavailable where no box can be had.
        """
        async with self.session(contract, inputs, key=key) as session:
            session.check(snippet)
            await session.run(snippet)
            return await session.finish()

    def run_sync(
        self, contract: ContractSource, snippet: str, inputs: Mapping[str, Json] | None = None, *, key: str = ""
    ) -> RunResult:
        """`run` for code without an event loop; closes the harness when it is done."""
        return self._alone(self.run(contract, snippet, inputs, key=key))

    def session(
        self, contract: ContractSource, inputs: Mapping[str, Json] | None = None, *, key: str = ""
    ) -> "Session":
        """Several snippets under one contract and one budget: `async with harness.session(contract) as session`."""
        return Session(self, self.terms(contract, inputs), key)

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
                executor=Executor(clock=self._clock),
                registry=self.registry,
                deliverer=Deliverer(self.folder, self._clock),
                clock=self._clock,
                secret=self._secret(),
                results=str(self.folder),
                runtime=self.host.sandbox.runtime,
                image=self.host.sandbox.image,
            )
        return self._parts

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
        path = self.folder / self.host.store / "seed.key"
        try:
            return path.read_bytes()
        except FileNotFoundError:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            secret = secrets.token_bytes(32)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secret)
            return secret

    async def close(self) -> None:
        """Let go of everything: boxes, threads, store."""
        parts, self._parts = self._parts, None
        if parts is not None:
            if not self._lent:
                await parts.backend.close()
            parts.executor.close()
        await self.toolsets.close()
        if self._store is not None:
            self._store.close()
            self._store = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Session:
    """Several snippets under one contract. Leaving it without `finish()` cancels the run."""

    def __init__(self, harness: Harness, terms: Terms, key: str) -> None:
        self._harness = harness
        self._terms = terms
        self._key = key
        self._corridor: Corridor | None = None

    @property
    def id(self) -> str:
        """The run's id."""
        return self._terms.run

    @property
    def stubs(self) -> str:
        """The text of the stubs, as the box finds them."""
        return self._live().stubs.source

    def check(self, snippet: str) -> None:
        """Check a snippet against the language policy. Raises SnippetRefused; nothing runs and nothing is spent."""
        self._live().check(snippet)

    async def run(self, snippet: str) -> Observation:
        """Run one snippet in a fresh box. Raises SnippetRefused before anything starts."""
        return await self._live().iterate(snippet)

    async def loop(self, propose: Propose) -> RunResult:
        """Ask `propose` for snippets until the contract ends the run; the result."""
        return await drive(self._live(), propose)

    def charge(self, model: str, usage: Mapping[str, int]) -> Charged:
        """Book the agent's own use of a model, `usage` as `{"input_tokens": 900, "output_tokens": 80}`.

        Raises ChargeRefused for a model that is unknown, or that the contract does not name. A charge beyond a limit
        ends the run.
        """
        return self._live().charge(model, usage)

    async def finish(self) -> RunResult:
        """Judge the last proposal, deliver where it is accepted, close the record."""
        return await self._live().finish()

    def cancel(self, detail: str) -> None:
        """Stop the run in order: the box goes, the record says who cancelled it. `finish()` gives the result."""
        self._live().cancel(detail)

    def _live(self) -> Corridor:
        if self._corridor is None:
            raise RuntimeError("a session is used inside `async with`")
        return self._corridor

    async def __aenter__(self) -> Self:
        parts = await self._harness.parts()
        if not self._harness.lent:
            require_backend(self._terms.effective, parts.backend.name)
        self._corridor = Corridor(parts, self._terms, caller_key=self._key)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        detail = f"{kind.__name__} in the caller" if kind is not None else "the session was left without `finish()`"
        await self._live().finish(Ending(Outcome.UNRESOLVED, ReasonCode.CANCELLED, detail))


def operating_system_user(policy: Policy) -> Principal:
    """The principal of the command line: the user of this process, with the claims that the policy gives it."""
    name = _user_name()
    return Principal(name, policy.claims.get(name, {}), "os")


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"
