"""`harness contract`: what a contract says, in plain words."""

from pathlib import Path

import click

from harness.api import Harness
from harness.contract.explain import explain as explain_contract
from harness.front.cli.options import host_option, policy_option

__all__ = ["contract", "explain"]


@click.group()
def contract() -> None:
    """Explain contracts."""


@contract.command()
@click.argument("contract", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@host_option
@policy_option
def explain(contract: Path, host_file: Path, policy: Path | None) -> None:
    """Answer the five questions of CONTRACT in order."""
    harness = Harness.from_file(host_file, policy=policy)
    click.echo(explain_contract(harness.effective(contract)))
