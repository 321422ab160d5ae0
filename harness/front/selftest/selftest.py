"""Runs every probe in live boxes of one backend and says of each: held, fell, or untried and why."""

import ast
import asyncio
import importlib.resources
import tempfile
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from harness.api import Harness
from harness.contract.host import HostFile, HostSandbox
from harness.core.call import Effect, Json
from harness.core.ending import ReasonCode
from harness.core.errors import EnvironmentUnavailable
from harness.core.ports import Backend
from harness.front.selftest.entries import CANARIES, ENTRIES
from harness.front.selftest.machine import LIMITS, facts, holders, listening, new_marker
from harness.front.selftest.probe import Finding, Group, Own, Status, crashed
from harness.front.selftest.table import CHANNEL, ENDS, SHARED
from harness.front.selftest.taking import Entry
from harness.registry.decorator import tool
from harness.registry.from_function import from_function
from harness.registry.registry import Registry
from harness.report import RunResult
from harness.sandbox.spec import SandboxSpec

__all__ = ["Selftest", "functions"]

TASKS = ("processes", "threads")
"""Probes that a runtime with a kernel of its own may not survive."""
GONE = (ReasonCode.BOX_LOST, ReasonCode.KILLED, ReasonCode.BUDGET_EXHAUSTED)
AT_ONCE = 4
"""Boxes at once: most of them wait for a limit."""
HOLD_SECONDS = 0.6
"""How long a probe's box stays while the host looks at it from outside."""
END_SECONDS = 2.0
"""Within it everything of a box must be gone after its run; a kill takes 1 to 40 ms."""


class Selftest:
    """One battery over one backend. `runtime`: the engine's, empty for its default."""

    def __init__(
        self,
        backend: Backend,
        runtime: str = "",
        *,
        entries: Mapping[str, Entry] = ENTRIES,
        only: Iterable[str] = (),
    ) -> None:
        """`entries`: the ways in that the canaries take. `only`: beginnings of the names of probes; none means all."""
        self._entries = entries
        self._backend = backend
        self._runtime = runtime
        self._only = tuple(only)
        self._counted: list[str] = []
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> list[Finding]:
        """Every probe, in the order of their names' groups."""
        with tempfile.TemporaryDirectory(prefix="harness-selftest-") as folder, listening() as port:
            host = HostFile(sandbox=HostSandbox(runtime=self._runtime)) if self._runtime else HostFile()
            harness = Harness(self._registry(), folder=Path(folder), host=host, backend=self._backend)
            self._facts = facts(self._runtime, port)
            async with harness:
                self._harness = harness
                found = await asyncio.gather(*self._work())
        return [each for findings in found for each in findings]

    def _work(self) -> list[Coroutine[Any, Any, list[Finding]]]:
        work = [self._shared(file) for file in SHARED]
        work += [
            self._own("ends", Group.EXHAUSTION, own) for own in ENDS if self._wanted(Group.EXHAUSTION, own.function)
        ]
        work += [
            self._own("channel", Group.CHANNEL, own) for own in CHANNEL if self._wanted(Group.CHANNEL, own.function)
        ]
        for group, name, probe in (
            (Group.EXHAUSTION, "double_fork", self._double_fork),
            (Group.HOST, "neighbours", self._neighbours),
            (Group.HOST, "one_run", self._one_run),
            (Group.EXHAUSTION, "limits_read_back", self._read_back),
        ):
            if self._wanted(group, name):
                work.append(self._guarded(group, name, probe))
        for canary, snippet in CANARIES.items():
            for entry in self._entries:
                if self._wanted(Group.LANGUAGE, f"{canary}.{entry}"):
                    work.append(self._canary(canary, entry, snippet))
        return work

    def _wanted(self, group: Group, function: str) -> bool:
        return not self._only or _name(group, function).startswith(self._only)

    def _registry(self) -> Registry:
        registry = Registry()

        @tool(effect=Effect.READ)
        def selftest_echo(text: str) -> str:
            """Give a text back."""
            return text

        @tool(effect=Effect.READ)
        def selftest_count() -> int:
            """Note that it was called."""
            self._counted.append("count")
            return len(self._counted)

        @tool(effect=Effect.READ)
        def selftest_unlisted() -> int:
            """Be no part of any contract; note that it was called."""
            self._counted.append("unlisted")
            return len(self._counted)

        @tool(effect=Effect.READ)
        async def selftest_hold() -> int:
            """Hold the snippet while the host looks."""
            await asyncio.sleep(HOLD_SECONDS)
            return 1

        for function in (selftest_echo, selftest_count, selftest_unlisted, selftest_hold):
            registry.add(from_function(function))
        return registry

    # --- runs ----------------------------------------------------------------------------------------------

    async def _run(self, text: str, inputs: dict[str, Json], limits: dict[str, int | float] | None = None) -> RunResult:
        """Raises EnvironmentUnavailable also where the box could not be made once the run had begun."""
        async with self._turn:
            result = await self._harness.run(self._contract("plain", limits or {}), text, {"facts": inputs})
        if result.reason is ReasonCode.ENVIRONMENT_UNAVAILABLE:
            raise EnvironmentUnavailable(result.ending.detail)
        return result

    def _contract(self, language: str, limits: dict[str, int | float]) -> dict[str, Any]:
        return {
            "contract": "selftest",
            "version": 1,
            "inputs": {"type": "object", "properties": {"facts": {"type": "object"}}},
            "output": {"schema": {"type": "object"}},
            "budget": {
                "tokens": 0, "cost_usd": "0", "wall_seconds": 30, "retries": 0, "iterations": 1, "cpu_seconds": 20,
                "output_bytes": 1_000_000, **LIMITS, **limits,
            },
            "permissions": {"tools": [{"tool": name} for name in ("selftest_echo", "selftest_count", "selftest_hold")]},
            "completion": {"success": "true"},
            "destination": [{"to": "file:results/${run.id}.json"}],
            "sandbox": {"language": language},
        }  # fmt: skip

    async def _shared(self, file: str) -> list[Finding]:
        """The probes of one file in one box; where that ends, each in a box of its own."""
        group = Group(file)
        names = [name for name in functions(file) if self._wanted(group, name)]
        if not names:
            return []
        answers = await self._ask(file, names)
        if len(answers) < len(names):
            for name in names:
                if name not in answers:
                    answers |= await self._ask(file, [name])
        return [_finding(group, file, name, answers.get(name)) for name in names]

    async def _ask(self, file: str, names: list[str]) -> dict[str, tuple[str, str]]:
        text = f"{_text('common')}\n{_text(file)}\nreturn answer([{', '.join(names)}], inputs['facts'])\n"
        try:
            result = await self._run(text, self._facts)
        except EnvironmentUnavailable as error:
            return dict.fromkeys(names, ("untried", error.message))
        if not isinstance(result.result, dict):
            if len(names) > 1:
                return {}
            why = f"Its box ended: {result.reason.value}: {result.ending.detail}"
            # A runtime whose own threads count under the engine's limit ends there with all that is in it.
            met = bool(self._runtime) and names[0] in TASKS and result.reason in GONE
            return {names[0]: ("held" if met else "untried", why)}
        return {name: (str(each[0]), str(each[1])) for name, each in result.result.items() if isinstance(each, list)}

    async def _own(self, file: str, group: Group, own: Own) -> list[Finding]:
        name, what = _name(group, own.function), functions(file)[own.function]
        before = len(self._counted)
        try:
            result = await self._run(_call(file, own.function), self._facts, dict(own.limits))
        except EnvironmentUnavailable as error:
            return [crashed(name, group, error.message)]
        through = _through(own, result)
        if own.function.startswith(("late", "unlisted")) and len(self._counted) > before:
            through = f"{self._counted[-1]} was executed"
        if through:
            return [Finding(name, group, Status.FELL, f"{what} {through}")]
        return [Finding(name, group, Status.HELD, what)]

    async def _guarded(
        self, group: Group, function: str, probe: Callable[[], Coroutine[Any, Any, tuple[Status, str]]]
    ) -> list[Finding]:
        try:
            status, detail = await probe()
        except EnvironmentUnavailable as error:
            status, detail = Status.UNTRIED, error.message
        return [Finding(_name(group, function), group, status, detail)]

    # --- what only the host can see ------------------------------------------------------------------------

    async def _double_fork(self) -> tuple[Status, str]:
        """A process in a session of its own is seen from outside while its run lives, and gone with it."""
        what = functions("ends")["double_fork"]
        marker = new_marker()
        run = asyncio.ensure_future(self._run(_call("ends", "double_fork"), {**self._facts, "marker": marker}))
        seen: list[int] = []
        while not run.done():
            seen = seen or await asyncio.to_thread(holders, marker)
            await asyncio.sleep(0.02)
        result = run.result()
        if result.result == {"alone": True}:
            return Status.HELD, f"{what} The box is one process: it cannot fork."
        if not seen:
            return Status.UNTRIED, f"{what} This user cannot see the box's processes, or the runtime has its own."
        deadline = asyncio.get_running_loop().time() + END_SECONDS
        while left := await asyncio.to_thread(holders, marker):
            if asyncio.get_running_loop().time() > deadline:
                return Status.FELL, f"{what} Process {left[0]} outlived its run."
            await asyncio.sleep(0.05)
        return Status.HELD, what

    async def _neighbours(self) -> tuple[Status, str]:
        """Two boxes live at once, and neither finds the other's processes, files or memory."""
        what = "Find another box's processes, files and memory while both live."
        stay = (
            "import os\nopen('/tmp/neighbour', 'w').close()\nfrom tools import selftest_hold\n"
            "selftest_hold()\nreturn {'pid': os.getpid()}"
        )
        look = (
            "import os\nfrom tools import selftest_echo\nseen = []\n"
            "for pid in range(1, 32768):\n"
            "    try:\n        os.kill(pid, 0)\n"
            "    except ProcessLookupError:\n        continue\n"
            "    except OSError:\n        pass\n"
            "    if pid not in (1, os.getpid(), os.getppid()):\n        seen.append(pid)\n"
            "return {'seen': seen[:5], 'file': os.path.exists('/tmp/neighbour')}"
        )
        first, second = await asyncio.gather(self._run(stay, {}), self._run(look, {}))
        if not isinstance(first.result, dict) or not isinstance(second.result, dict):
            return Status.UNTRIED, f"{what} A box ended: {first.ending.detail}{second.ending.detail}"
        if second.result != {"seen": [], "file": False}:
            return Status.FELL, f"{what} It found {second.result}."
        return Status.HELD, what

    async def _one_run(self) -> tuple[Status, str]:
        """What a run changes in its interpreter and its work folder is gone for the next one (A22)."""
        what = "Leave a changed module and a file for the next run."
        leave = "import json\njson.dumps = lambda *a, **k: 'evil'\nopen('/tmp/left', 'w').close()\nreturn {}"
        look = "import json, os\nreturn {'module': json.dumps(1), 'file': os.path.exists('/tmp/left')}"
        await self._run(leave, {})
        second = await self._run(look, {})
        if second.result != {"module": "1", "file": False}:
            return Status.FELL, f"{what} The next run found {second.result}."
        return Status.HELD, what

    async def _read_back(self) -> tuple[Status, str]:
        """The limits of a live box as the host's kernel has them, by its first process's id (B07)."""
        what = "Start a box whose confinement or limits are not what was asked for: memory, swap, processes, processor."
        box = await self._backend.start(SandboxSpec.from_limits(LIMITS, runtime=self._runtime))
        try:
            await box.verify()
        except EnvironmentUnavailable as error:
            return Status.FELL, f"{what} {error.message}"
        finally:
            await box.close()
        return Status.HELD, what

    async def _canary(self, canary: str, entry: str, snippet: str) -> list[Finding]:
        async def probe() -> tuple[Status, str]:
            async with self._turn:
                through = await self._entries[entry](self._harness, self._contract("restricted", {}), snippet)
            what = f"Pass `{snippet.splitlines()[-1][:60]}` through {entry}."
            return (Status.FELL, f"{what} {through}") if through else (Status.HELD, what)

        return await self._guarded(Group.LANGUAGE, f"{canary}.{entry}", probe)


def _through(own: Own, result: RunResult) -> str:
    """What got through; empty where the run ended as it must."""
    said = " ".join((result.ending.detail, *(str(value) for _, value in result.ending.data)))
    ended = f"The run ended as {result.reason.value}: {result.ending.detail or result.result}"
    if result.reason not in own.reasons or own.reasons[result.reason] not in said:
        return ended
    if result.reason is ReasonCode.CONTRACT_PASSED and result.result not in own.values:
        return ended
    return ""


def _finding(group: Group, file: str, name: str, answer: tuple[str, str] | None) -> Finding:
    what = functions(file)[name]
    if answer is None:
        return crashed(_name(group, name), group, f"{what} The box gave no answer.")
    status, detail = answer
    known = Status(status) if status in set(Status) else Status.FELL
    return Finding(_name(group, name), group, known, f"{what} {detail}".strip())


def _name(group: Group, function: str) -> str:
    return f"{group.value}.{function.replace('_', '-')}"


def _call(file: str, function: str) -> str:
    return f"{_text('common')}\n{_text(file)}\nreturn {function}(Probing(inputs['facts']))\n"


@cache
def _text(file: str) -> str:
    return importlib.resources.files("harness.front.selftest.box").joinpath(f"snippet_{file}.py").read_text("utf-8")


@cache
def functions(file: str) -> dict[str, str]:
    """The probes of a file under `box/`: name → what it tries, in the file's own words."""
    nodes = [node for node in ast.parse(_text(file)).body if isinstance(node, ast.FunctionDef)]
    return {node.name: (ast.get_docstring(node) or "").split("\n\n")[0].replace("\n", " ")
            for node in nodes if not node.name.startswith("_")}  # fmt: skip
