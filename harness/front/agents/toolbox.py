"""Contracts as tools of any agent loop: their definitions in a provider's format, and one function that calls them."""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.api import Harness
from harness.contract.listing import listed_grants
from harness.contract.schema import compile_schema
from harness.core.errors import ContractRefused, Fault, HarnessError
from harness.front.mcp.answers import is_error, refused
from harness.front.mcp.offers import WAIT_SECONDS, Offer, offers_of
from harness.front.mcp.runs import Runs, Submission
from harness.registry.nearest import did_you_mean

__all__ = ["CODE_CALLER", "Toolbox"]

CODE_CALLER = "code_execution_20250825"
"""Anthropic's name for code that its own sandbox runs, as `allowed_callers` has it."""


class Toolbox:
    """The contracts of one harness, for one principal. Use it as an asynchronous context manager."""

    def __init__(self, harness: Harness, contracts: Iterable[Path | str], *, prefix: str = "harness_") -> None:
        """Raises ContractRefused where no contract is left that the principal may use."""
        self._resume = f"{prefix}resume"
        self.offers: Mapping[str, Offer] = offers_of(harness, [Path(each) for each in contracts], prefix)
        """By tool name."""
        if not self.offers:
            hint = "`harness check CONTRACT` says why"
            raise ContractRefused([Fault("no_contract", "no contract can be used here", hint)])
        self._runs = Runs(harness, self._resume)

    def anthropic(self) -> list[dict[str, Any]]:
        """The `tools` of Anthropic's messages: one for each contract, with an example of its input."""
        return [
            {
                "name": name,
                "description": offer.description,
                "input_schema": offer.input_schema,
                "input_examples": [_example(offer)],
            }
            for name, offer in self.offers.items()
        ]

    def anthropic_programmatic(self, name: str) -> list[dict[str, Any]]:
        """The granted tools of one contract as definitions that Anthropic's code execution may call by itself.

        Definitions alone: who answers such a call makes it through a run of the contract, which decides it.
        """
        return [
            {
                "name": _folded(tool),
                "description": grant.tool.description,
                "input_schema": grant.visible_schema,
                "allowed_callers": [CODE_CALLER],
            }
            for tool, grant in listed_grants(self.offers[name].effective).items()
        ]

    def openai(self) -> list[dict[str, Any]]:
        """The `tools` of OpenAI's chat completions."""
        return [
            {
                "type": "function",
                "function": {
                    "name": name,
                    "description": offer.description,
                    "parameters": offer.input_schema,
                    "strict": False,
                },
            }
            for name, offer in self.offers.items()
        ]

    def openai_responses(self) -> list[dict[str, Any]]:
        """The `tools` of OpenAI's responses: the same, flat."""
        return [{"type": "function", **each["function"]} for each in self.openai()]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to one use of a tool: the document that the MCP server gives. Never raises for it."""
        offer = self.offers.get(name)
        if offer is None:
            hint = did_you_mean(name, self.offers)
            return refused(ContractRefused([Fault("no_such_tool", f"there is no tool `{name[:100]}`", hint)]), hint)
        faults = compile_schema(offer.input_schema).faults(dict(arguments))
        if faults:
            error = HarnessError("; ".join(f"{each.path}: {each.message}" for each in faults))
            return refused(error, hint="mend the arguments")
        said = Submission(
            snippet=str(arguments["snippet"]),
            inputs=arguments.get("inputs", {}),
            key=str(arguments.get("key", "")),
            run=str(arguments.get("run", "")),
            finish=bool(arguments.get("finish", True)),
            wait_s=float(arguments.get("wait_seconds", WAIT_SECONDS)),
        )
        return await self._runs.submit(offer, said, _silent)

    async def resume(self, run: str, wait_s: float = WAIT_SECONDS) -> dict[str, Any]:
        """What became of a run; goes on with it where its decisions have come."""
        return await self._runs.resume(run, wait_s, _silent)

    @staticmethod
    def failed(answer: Mapping[str, Any]) -> bool:
        """Whether the model must see the answer as an error."""
        return is_error(answer)

    async def close(self) -> None:
        """End every run, and the harness."""
        await self._runs.close()

    async def __aenter__(self) -> "Toolbox":
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(self.close())


def _example(offer: Offer) -> dict[str, Any]:
    """An input that fits, whatever the contract: it looks, and calls nothing."""
    inputs = offer.input_schema["properties"]["inputs"]
    made = {"snippet": "return {'tools': 'look first'}"}
    return {**made, "inputs": {}} if "inputs" in offer.input_schema["required"] and not inputs.get("required") else made


def _folded(name: str) -> str:
    return "".join(each if each.isalnum() or each in "_-" else "_" for each in name)[:64]


async def _silent(_: float, __: str) -> None:
    """Progress that nobody asked for."""
