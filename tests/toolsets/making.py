"""Hosts with sources for tests: written, scanned, admitted, and called as the executor calls them."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml

from harness.contract.host import HostFile, load_host
from harness.core.ports import Outcome
from harness.executor.execute import Deadline, Executor
from harness.registry.registry import Registry, Tool
from harness.registry.source import load_sources
from harness.toolsets.load import Toolsets
from harness.toolsets.pins import pins_path, write_pins
from tests.executor.making import make_call

T = TypeVar("T")
HERE = Path(__file__).parent
NODE = HERE.parents[1] / ".ci/npm/node_modules/.bin"


def fake(mode: str, state: Path | None = None, **more: Any) -> dict[str, Any]:
    """The entry of a host file for the misbehaving server."""
    command = [sys.executable, "-I", "-S", str(HERE / "fake_server.py"), mode, *([str(state)] if state else [])]
    return {"mcp": {"name": "fake", "command": command, "start_seconds": 10, **more}}


def python_server(name: str) -> str:
    """The command of a server that is installed beside this Python."""
    return str(Path(sys.executable).with_name(name))


class Place:
    """A folder with a host file."""

    def __init__(self, folder: Path, *sources: Mapping[str, Any], **more: Any) -> None:
        self.folder = folder
        (folder / "harness.yaml").write_text(json.dumps({"tools": list(sources), **more}))
        self.host: HostFile = load_host(folder / "harness.yaml")

    def overlay(self, name: str, **tools: Any) -> None:
        """Write the overlay of a source."""
        (self.folder / f"{name}.tools.yaml").write_text(yaml.safe_dump({"tools": tools}))

    def admit(self) -> "Place":
        """Pin every source as it is now."""

        async def whole(toolsets: Toolsets) -> None:
            for said in self.host.tools:
                if not said.python:
                    definitions = await toolsets.source(said).definitions()
                    write_pins(pins_path(self.folder / said.overlay_file), definitions)

        self.using(whole)
        return self

    def using(self, work: Callable[[Toolsets], Awaitable[T]]) -> T:
        """Run `work` with the sources, and close them."""

        async def whole() -> T:
            toolsets = Toolsets(self.host, self.folder)
            try:
                return await work(toolsets)
            finally:
                await toolsets.close()

        return asyncio.run(whole())

    def registry(self, toolsets: Toolsets) -> Registry:
        """The sealed registry."""
        return load_sources(self.host, self.folder, toolsets.tools)

    def call(self, *calls: tuple[str, dict[str, Any]], timeout_s: float = 20.0) -> list[Outcome]:
        """The outcome of each call, one after the other, over one connection."""

        async def whole(toolsets: Toolsets) -> list[Outcome]:
            registry = self.registry(toolsets)
            executor = Executor()
            try:
                return [await run(executor, _known(registry, name), given, timeout_s) for name, given in calls]
            finally:
                executor.close()

        return self.using(whole)


async def run(executor: Executor, tool: Tool, arguments: dict[str, Any], timeout_s: float = 20.0) -> Outcome:
    """One call, as the corridor makes it."""
    begun = executor.begin(tool, make_call(tool, **arguments), Deadline(timeout_s), lambda: None)
    return begun if isinstance(begun, Outcome) else await begun


def _known(registry: Registry, name: str) -> Tool:
    tool = registry.get(name)
    assert tool is not None, name
    return tool
