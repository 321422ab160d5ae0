"""`harness tools`: the tools of a host, as contracts' authors and models see them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from harness.api import Harness
from harness.contract.grants import Grant
from harness.contract.tool import ToolContract
from harness.core.errors import ContractRefused, Fault
from harness.front.agents.toolbox import Toolbox
from harness.front.cli.learn import learn
from harness.front.cli.options import console, host_option, json_option, print_json
from harness.front.cli.sources import admit, scan, test
from harness.front.cli.terminal import say
from harness.registry.catalog import compact as compact_list
from harness.registry.catalog import stubs as stubs_of
from harness.registry.nearest import did_you_mean

__all__ = ["export", "grant_of", "list_", "show", "stubs", "tools"]


FORMATS = ("anthropic", "openai", "openai-responses", "programmatic")


@click.group()
def tools() -> None:
    """List, show, scan, admit and try the tools of a host."""


tools.add_command(scan)
tools.add_command(admit)
tools.add_command(test)
tools.add_command(learn)


@tools.command("list")
@host_option
@json_option
def list_(host_file: Path, as_json: bool) -> None:
    """Every tool with what a contract's author must know of it."""
    contracts = Harness.from_file(host_file).registry.contracts()
    if as_json:
        print_json({"tools": [tool.definition() for tool in contracts.values()]})
        return
    table = Table(show_edge=False, pad_edge=False)
    for column in ("tool", "effect", "idempotency", "approval", "scope", "what it does"):
        table.add_column(column, overflow="fold")
    for name, tool in contracts.items():
        table.add_row(
            escape(name),
            tool.effect.value,
            str(tool.idempotency),
            tool.approval.value,
            escape(", ".join(tool.scope)),
            escape(tool.description.partition("\n")[0]),
        )
    console().print(table)


@tools.command("show")
@click.argument("name")
@host_option
@json_option
def show(name: str, host_file: Path, as_json: bool) -> None:
    """Everything that the harness knows of the tool NAME."""
    tool = _one(Harness.from_file(host_file).registry.contracts(), name)
    if as_json:
        print_json({**tool.definition(), "digest": tool.digest, "source": tool.source})
        return
    for key, value in {**tool.definition(), "digest": tool.digest, "source": tool.source}.items():
        if value not in ("", None, [], {}, False) and not key.endswith("_schema"):
            console().print(f"[bold]{key}[/bold]: {escape(str(value))}")
    if tool.output_schema is None:
        console().print("[bold]result[/bold]: its source does not say what it looks like")
    say(stubs_of({name: grant_of(tool)}).source)


@tools.command("stubs")
@click.argument("names", nargs=-1)
@click.option("--compact", is_flag=True, help="One line for each tool, as prompts carry them.")
@host_option
def stubs(names: tuple[str, ...], compact: bool, host_file: Path) -> None:
    """The stubs that a snippet imports, of NAMES or of all tools, with no contract's limits."""
    contracts = Harness.from_file(host_file).registry.contracts()
    chosen = [_one(contracts, name) for name in names] if names else list(contracts.values())
    grants = {tool.name: grant_of(tool) for tool in chosen}
    say(compact_list(grants) if compact else stubs_of(grants).source)


@tools.command("export")
@click.argument("contracts", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--format", "form", type=click.Choice(FORMATS), default=FORMATS[0], show_default=True)
@host_option
def export(contracts: tuple[Path, ...], form: str, host_file: Path) -> None:
    """CONTRACTS as tool definitions of a provider, as JSON; `programmatic`: the tools of the first one."""
    toolbox = Toolbox(Harness.from_file(host_file), contracts)
    made: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "anthropic": toolbox.anthropic,
        "openai": toolbox.openai,
        "openai-responses": toolbox.openai_responses,
        "programmatic": lambda: toolbox.anthropic_programmatic(next(iter(toolbox.offers))),
    }
    print_json(made[form]())


def grant_of(tool: ToolContract) -> Grant:
    """A tool as it would be granted by a contract that limits nothing."""
    return Grant(tool, {}, (), None, tool.approval, tool.input_schema, frozenset())


def _one(contracts: Mapping[str, ToolContract], name: str) -> ToolContract:
    if name not in contracts:
        raise ContractRefused([Fault("no_such_tool", f"the host has no tool `{name}`", did_you_mean(name, contracts))])
    return contracts[name]
