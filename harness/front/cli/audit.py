"""`harness audit`: whether the record is whole."""

from pathlib import Path

import click

from harness.contract.host import load_host
from harness.core.errors import StoreError
from harness.front.cli.options import host_option, json_option, print_json
from harness.front.cli.terminal import say
from harness.ledger.audit import verify as verify_store

__all__ = ["audit", "verify"]

EXIT_BROKEN = 4


@click.group()
def audit() -> None:
    """Verify the audit chain."""


@audit.command()
@click.option("--store", type=click.Path(path_type=Path), help="The journal file, in place of the host file's.")
@host_option
@json_option
def verify(store: Path | None, host_file: Path, as_json: bool) -> int:
    """Walk the whole chain; name the place of every change, gap and cut. Exits 4 where there is one."""
    path = store or host_file.resolve().parent / load_host(host_file).store / "journal.db"
    if not path.is_file():
        raise StoreError(f"there is no journal at `{path}`", hint="name it with --store, or run something first")
    problems = verify_store(path)
    if as_json:
        print_json({"whole": not problems, "problems": [str(problem) for problem in problems]})
    elif problems:
        for problem in problems:
            say(str(problem), err=True)
    else:
        say("the record is whole")
    return EXIT_BROKEN if problems else 0
