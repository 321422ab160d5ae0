"""The sources of a host that are no Python: their tools for the registry, and the connections to close at the end."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from harness.contract.host import HostFile
from harness.contract.host_tools import ToolSource
from harness.contract.tool import ToolContract
from harness.core.errors import ContractRefused, Fault, Place, RegistryRefused
from harness.registry.nearest import did_you_mean
from harness.registry.registry import Tool
from harness.toolsets.build import build_contract
from harness.toolsets.definition import Definition
from harness.toolsets.mcp_box import Private
from harness.toolsets.mcp_source import McpServer
from harness.toolsets.openapi_source import OpenApi
from harness.toolsets.overlay import Overlay, ToolWords, load_overlay
from harness.toolsets.pins import pins_path, read_pins
from harness.toolsets.secrets import Secrets

__all__ = ["Source", "Toolsets", "build_tools"]


class Source(Protocol):
    """A place where tools live."""

    async def definitions(self) -> dict[str, Definition]:
        """What it defines now. Raises SourceUnavailable."""

    def tool(self, definition: Definition, words: ToolWords, contract: ToolContract) -> Tool:
        """The tool of an admitted definition."""

    @property
    def tail(self) -> str:
        """What it wrote last, for people."""

    async def close(self) -> None:
        """End what was started."""


class Toolsets:
    """The sources of one host."""

    def __init__(self, host: HostFile, folder: Path) -> None:
        self.folder = folder
        self._secrets = Secrets(host.secrets, folder)
        files = tuple(folder / each.file for each in host.secrets.values() if each.file)
        self._private = Private(folder / host.store, files)
        self._sources: dict[str, Source] = {}

    def source(self, said: ToolSource) -> Source:
        """The source that an entry of the host file names; one object for each."""
        if said.name not in self._sources:
            self._sources[said.name] = self._make(said)
        return self._sources[said.name]

    def tools(self, said: ToolSource, place: Place) -> list[Tool]:
        """The admitted tools of an entry of the host file. Starts nothing.

        Raises RegistryRefused or ContractRefused with every fault.
        """
        path = self.folder / said.overlay_file
        overlay, pins = load_overlay(path), read_pins(pins_path(path))
        if pins is None:
            hint = (
                f"`harness tools scan {said.name}`, read `{said.overlay_file}`, then `harness tools admit {said.name}`"
            )
            raise RegistryRefused(
                [Fault("not_admitted", f"the tools of `{said.name}` are not admitted yet", hint, place)]
            )
        return build_tools(said, self.source(said), overlay, pins)

    async def close(self) -> None:
        """End everything that was started."""
        for source in self._sources.values():
            await source.close()

    def _make(self, said: ToolSource) -> Source:
        if said.mcp is not None:
            return McpServer(said.mcp, self.folder, self._secrets, self._private)
        assert said.openapi is not None, "an entry that is no Python names a server or a document"
        return OpenApi(said.openapi, self.folder, self._secrets)


def build_tools(said: ToolSource, source: Source, overlay: Overlay, pins: Mapping[str, Definition]) -> list[Tool]:
    """Every tool that is not skipped. Raises RegistryRefused with every fault."""
    other = said.mcp or said.openapi
    prefix = other.prefix if other is not None else ""
    faults = [
        Fault(
            "no_such_tool",
            f"the overlay names `{name}`, which is not admitted",
            did_you_mean(name, pins),
            overlay.at(name),
        )
        for name in overlay.tools
        if name not in pins
    ]
    tools: list[Tool] = []
    for name, definition in pins.items():
        words = overlay.tools.get(name, ToolWords())
        if words.skip:
            continue
        place = overlay.at(name)
        try:
            contract = build_contract(definition, words, prefix=prefix, source=f"{said.name}:{name}", place=place)
            tools.append(source.tool(definition, words, contract))
        except (RegistryRefused, ContractRefused) as refused:
            faults += refused.faults
    if faults:
        raise RegistryRefused(faults)
    return tools
