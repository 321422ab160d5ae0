"""`harness tools scan | admit | test`: what a source offers, what of it is admitted, and one call to try it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import click

from harness.api import Harness
from harness.contract.host import HostFile, load_host
from harness.contract.host_tools import ToolSource
from harness.core.call import Effect
from harness.core.errors import ContractRefused, Fault
from harness.front.cli.options import host_option, json_option, print_json
from harness.front.cli.terminal import json_text, say
from harness.registry.nearest import did_you_mean
from harness.toolsets.definition import Definition
from harness.toolsets.errors import SourceUnavailable
from harness.toolsets.load import Toolsets, build_tools
from harness.toolsets.overlay import load_overlay
from harness.toolsets.pins import differences, pins_path, read_pins, write_pins
from harness.toolsets.scan import first_contract, first_overlay
from harness.toolsets.trial import try_tool

__all__ = ["admit", "scan", "test"]


@click.command()
@click.argument("source")
@host_option
def scan(source: str, host_file: Path) -> int:
    """Ask SOURCE for its tools, and write a first overlay and a first contract to edit. Nothing is admitted by it."""
    said, folder, definitions = _asked(source, host_file)
    overlay, contract = folder / said.overlay_file, folder / f"{said.name}.contract.yaml"
    for path, text in (
        (overlay, first_overlay(said, definitions)),
        (contract, first_contract(said, definitions)),
    ):
        if path.exists():
            say(f"kept {path.name}, which is there already")
        else:
            path.write_text(text, "utf-8")
            say(f"wrote {path.name}")
    for line in differences(read_pins(pins_path(overlay)), definitions):
        say(line)
    say(f"next: read {overlay.name}, then `harness tools admit {said.name}`")
    return 0


@click.command()
@click.argument("source")
@click.option("--yes", is_flag=True, help="Do not ask.")
@host_option
def admit(source: str, yes: bool, host_file: Path) -> int:
    """Pin the tools of SOURCE as it defines them now; shows what is different from what was admitted before."""
    said, folder, definitions = _asked(source, host_file)
    path = folder / said.overlay_file
    overlay, pins = load_overlay(path), pins_path(path)
    build_tools(said, Toolsets(load_host(host_file), folder).source(said), overlay, definitions)
    lines = differences(read_pins(pins), definitions)
    if not lines:
        say("nothing changed since it was admitted")
        return 0
    for line in lines:
        say(line)
    if not yes:
        click.confirm(f"admit these definitions of `{said.name}`?", abort=True)
    write_pins(pins, definitions)
    say(f"admitted {len(definitions)} tools in {pins.name}")
    return 0


@click.command()
@click.argument("name")
@click.option("--args", "arguments", default="{}", help="The arguments, as one JSON object.")
@click.option("--yes", is_flag=True, help="Call a tool that has an effect.")
@host_option
@json_option
def test(name: str, arguments: str, yes: bool, host_file: Path, as_json: bool) -> int:
    """Call the tool NAME once, outside of any contract, and show what a snippet would get."""
    harness = Harness.from_file(host_file)
    tool = harness.registry.get(name)
    if tool is None:
        hint = did_you_mean(name, harness.registry.contracts())
        raise ContractRefused([Fault("no_such_tool", f"the host has no tool `{name}`", hint)])
    if tool.contract.effect is not Effect.READ and not yes:
        raise click.UsageError(f"`{name}` has the effect `{tool.contract.effect.value}`; with `--yes` it is called")

    async def whole() -> dict[str, Any]:
        async with harness:
            return await try_tool(tool, _object(arguments))

    shown = asyncio.run(whole())
    if as_json:
        print_json(shown)
    else:
        say(json_text(shown))
    return 0 if shown["ok"] else 1


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"`--args` is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise click.UsageError("`--args` is one JSON object: the arguments by name")
    return value


def _asked(name: str, host_file: Path) -> tuple[ToolSource, Path, dict[str, Definition]]:
    """The source's entry, the host's folder, and what it defines now."""
    host, folder = load_host(host_file), host_file.resolve().parent
    said = _entry(host, name)
    toolsets = Toolsets(host, folder)

    async def whole() -> dict[str, Definition]:
        try:
            return await toolsets.source(said).definitions()
        except SourceUnavailable as error:
            if error.tail:
                say(f"the last lines of `{name}`:\n{error.tail}", err=True)
            raise
        finally:
            await toolsets.close()

    return said, folder, asyncio.run(whole())


def _entry(host: HostFile, name: str) -> ToolSource:
    known = {source.name: source for source in host.tools if not source.python}
    if name not in known:
        hint = did_you_mean(name, known)
        raise ContractRefused([Fault("no_such_source", f"the host file has no source `{name}`", hint)])
    return known[name]
