"""`harness tools learn`: the schema of a tool's results, from those that the record holds."""

import json
from pathlib import Path

import click

from harness.api import Harness
from harness.core.call import Json
from harness.core.errors import ContractRefused, Fault
from harness.core.ports import Store
from harness.front.cli.options import host_option
from harness.front.cli.terminal import say
from harness.registry.nearest import did_you_mean
from harness.toolsets.learn import proposal

__all__ = ["learn", "observed"]

MAX_RESULTS = 1_000
"""Results that are looked at: enough for a shape."""


@click.command()
@click.argument("name")
@click.option(
    "--runs", default=100, show_default=True, type=click.IntRange(1, 10_000), help="So many of the newest runs."
)
@host_option
def learn(name: str, runs: int, host_file: Path) -> int:
    """Propose a schema for the results of the tool NAME, from those that snippets were given. Nothing is changed."""
    harness = Harness.from_file(host_file)
    contracts = harness.registry.contracts()
    if name not in contracts:
        hint = did_you_mean(name, contracts)
        raise ContractRefused([Fault("no_such_tool", f"the host has no tool `{name}`", hint)])
    store = harness.store()
    try:
        values = observed(store, name, runs)
    finally:
        store.close()
    if not values:
        say(f"the record holds no result of `{name}` yet", err=True)
        return 1
    words = proposal(contracts[name].source.rpartition(":")[2] or name, values)
    say(f"# from {len(values)} results of `{name}`; masked fields were seen as masked")
    say("tools:")
    for tool, said in words.items():
        say(f"  {json.dumps(tool, ensure_ascii=False)}:")
        for key, value in said.items():
            say(f"    {key}: {json.dumps(value, ensure_ascii=False)}")
    return 0


def observed(store: Store, tool: str, runs: int) -> list[Json]:
    """The results of a tool in the newest runs, the newest run first."""
    values: list[Json] = []
    for row in store.runs(runs):
        for entry in store.entries(row.id):
            if entry.tool == tool and entry.answer is not None and entry.answer.ok:
                values.append(json.loads(entry.answer.body))
                if len(values) >= MAX_RESULTS:
                    return values
    return values
