"""An MCP server as a source of tools: contracts from what was admitted, functions that call it when they are used."""

import importlib
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Protocol

from harness.contract.host_tools import McpSource
from harness.contract.tool import ToolContract
from harness.core.call import Json
from harness.registry.preview import preview_of
from harness.registry.registry import Tool
from harness.registry.values import to_wire
from harness.toolsets.build import wrapped
from harness.toolsets.definition import Definition
from harness.toolsets.errors import SourceUnavailable, source_errors
from harness.toolsets.mcp_box import Private
from harness.toolsets.mcp_results import Rule, value_of
from harness.toolsets.overlay import ToolWords
from harness.toolsets.secrets import Secrets

__all__ = ["McpServer"]


class _Connection(Protocol):
    """What is used of `harness.toolsets.mcp_connection.Connection`, which costs half a second to import."""

    tail: str

    async def definitions(self) -> dict[str, Definition]: ...
    async def call(self, name: str, arguments: Mapping[str, Json], pin: str) -> dict[str, Any]: ...
    async def close(self) -> None: ...


class McpServer:
    """One source of the host file."""

    def __init__(self, source: McpSource, folder: Path, secrets: Secrets, private: Private) -> None:
        self.source = source
        self._folder = folder
        self._secrets = secrets
        self._private = private
        self._made: _Connection | None = None

    async def definitions(self) -> dict[str, Definition]:
        """What the server lists now. Raises SourceUnavailable."""
        return await self._connection().definitions()

    def tool(self, definition: Definition, words: ToolWords, contract: ToolContract) -> Tool:
        """The tool of an admitted definition."""
        rule = Rule(
            structured=definition.output_schema is not None,
            wrapped=wrapped(definition, words),
            content=words.content,
        )
        return Tool(
            contract=contract,
            function=self._function(definition, rule),
            is_async=True,
            decode=dict,
            encode=to_wire,
            error_types=source_errors({name: said.rule for name, said in words.errors.items()}),
            preview=preview_of(words.preview),
        )

    def _function(self, definition: Definition, rule: Rule) -> Callable[..., Coroutine[Any, Any, Json]]:
        name, pin = definition.name, definition.digest

        async def call(**arguments: Json) -> Json:
            return value_of(await self._connection().call(name, arguments, pin), rule, name)

        return call

    @property
    def tail(self) -> str:
        """What the process wrote last beside the protocol; empty where nothing was started."""
        return self._made.tail if self._made is not None else ""

    async def close(self) -> None:
        """End what was started."""
        if self._made is not None:
            await self._made.close()

    def _connection(self) -> _Connection:
        if self._made is None:
            try:
                module = importlib.import_module("harness.toolsets.mcp_connection")
            except ModuleNotFoundError as error:
                hint = "pip install 'execution-harness[mcp]'"
                raise SourceUnavailable("MCP sources need the package `mcp`", hint=hint) from error
            made: _Connection = module.Connection(self.source, self._folder, self._secrets, self._private)
            self._made = made
        return self._made
