"""`harness check`: every fault of a contract, and of a snippet under it, at once; nothing is executed or imported."""

from dataclasses import asdict
from pathlib import Path

import click

from harness.api import Harness
from harness.contract.effective import Effective
from harness.contract.load import load_contract
from harness.core.errors import Fault, Refused
from harness.front.cli.failures import EXIT_REFUSED, fault_json
from harness.front.cli.options import host_option, json_option, policy_option, print_json, read_snippet
from harness.front.cli.terminal import say
from harness.front.snippet_types import type_hints
from harness.language.check import Language
from harness.language.check import check as check_language

__all__ = ["check", "find_faults"]


@click.command()
@click.argument("contract", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("snippet", required=False)
@host_option
@policy_option
@click.option("--types", is_flag=True, help="Also check SNIPPET's types against its tools: hints, never faults.")
@json_option
def check(contract: Path, snippet: str | None, host_file: Path, policy: Path | None, types: bool, as_json: bool) -> int:
    """Report every fault of CONTRACT, and of SNIPPET under it."""
    source = read_snippet(snippet) if snippet is not None else None
    faults = find_faults(contract, source, host_file, policy)
    hints = []
    if types and source is not None and not faults:
        hints = type_hints(source, Harness.from_file(host_file, policy=policy).stubs(contract))
    for hint in () if as_json else hints:
        say(f"hint: {hint}", err=True)
    if as_json:
        found = {"ok": not faults, "faults": [fault_json(fault) for fault in faults]}
        print_json({**found, "hints": [asdict(hint) for hint in hints]} if types else found)
    elif faults:
        for fault in faults:
            say(f"{fault}", err=True)
    else:
        say("ok")
    return EXIT_REFUSED if faults else 0


def find_faults(contract: Path, source: str | None, host_file: Path, policy: Path | None) -> list[Fault]:
    """The faults of host file, policy, tools, contract and snippet together: one does not hide the next."""
    faults: list[Fault] = []
    harness: Harness | None = None
    effective = None
    try:
        harness = Harness.from_file(host_file, policy=policy)
        effective = harness.bind(contract)
    except Refused as refused:
        faults.extend(refused.faults)
        if harness is None:
            faults.extend(_alone(contract))
    if source is not None:
        faults.extend(_snippet_faults(source, effective))
    return faults


def _alone(contract: Path) -> tuple[Fault, ...]:
    """What can be said of a contract without its host."""
    try:
        load_contract(contract)
    except Refused as refused:
        return refused.faults
    return ()


def _snippet_faults(source: str, effective: Effective | None) -> tuple[Fault, ...]:
    try:
        if effective is None:
            check_language(source, language=Language.RESTRICTED)
        else:
            tools = frozenset(grant.tool for grant in effective.contract.permissions.tools)
            check_language(source, language=effective.language, imports=effective.imports, tools=tools)
    except Refused as refused:
        return refused.faults
    return ()
