"""`harness approvals`: what waits for a person, and the signed decision about it."""

import json
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from harness.api import Harness
from harness.approvals.bundle import Shown, asked_first
from harness.approvals.decision import decision_document, load_key, sign
from harness.core.bundle import Bundle, BundleState
from harness.front.cli.failures import EXIT_REFUSED
from harness.front.cli.options import console, host_option, json_option, policy_option, print_json
from harness.front.cli.terminal import say
from harness.run.telling import bundle_document

__all__ = ["approvals", "decide", "list_", "show"]


@click.group()
def approvals() -> None:
    """List, show and decide what waits for a person."""


@approvals.command("list")
@click.option("--all", "everything", is_flag=True, help="Also what was decided, has expired or was withdrawn.")
@host_option
@policy_option
@json_option
def list_(everything: bool, host_file: Path, policy: Path | None, as_json: bool) -> None:
    """List the bundles that wait."""
    harness = Harness.from_file(host_file, policy=policy)
    try:
        found = [each for each in harness.approvals if everything or each.state is BundleState.OPEN]
    finally:
        harness.store().close()
    documents = [bundle_document(each, harness.policy) for each in found]
    if as_json:
        print_json(documents)
        return
    table = Table(show_edge=False, pad_edge=False)
    for column in ("reference", "run", "kind", "calls", "state", "expires", "waits for"):
        table.add_column(column, overflow="fold")
    for each in documents:
        calls, names = str(len(each["calls"])), ", ".join(each["waits_for"])
        table.add_row(each["reference"], each["run"], each["kind"], calls, each["state"], each["expires_at"], names)
    console().print(table if documents else "nothing waits for a person")


@approvals.command()
@click.argument("reference")
@host_option
@policy_option
@json_option
def show(reference: str, host_file: Path, policy: Path | None, as_json: bool) -> None:
    """Show the bundle REFERENCE, every call with its preview and its arguments."""
    harness = Harness.from_file(host_file, policy=policy)
    try:
        bundle = harness.approval(reference)
    finally:
        harness.store().close()
    document = bundle_document(bundle, harness.policy)
    if as_json:
        print_json(document)
        return
    out = console()
    out.print(f"{document['reference']} ({document['kind']}, {document['state']}) of run {document['run']}")
    out.print(escape(f"{document['principal']} asks under `{document['contract']}`: {document['goal'] or 'no goal'}"))
    out.print(f"expires {document['expires_at']}; oldest read behind it {document['oldest_read'] or 'none'}")
    for line in document["calls"]:
        mark = "[red]destructive[/red] " if line["effect"] == "destructive" else ""
        out.print(f"{line['call']} {mark}{escape(line['preview'])} [dim]({line['state']})[/dim]")
        out.print(f"  [dim]{escape(_arguments(line))}[/dim]")


def _arguments(line: dict[str, Any]) -> str:
    """The raw arguments, controls escaped: ASCII JSON carries none."""
    return json.dumps(line["arguments"], ensure_ascii=True)


@approvals.command()
@click.argument("reference")
@click.option("--approve", multiple=True, metavar="CALL", help="Say yes to this call; may be repeated.")
@click.option("--deny", multiple=True, metavar="CALL", help="Say no to this call; may be repeated.")
@click.option("--all", "rest", is_flag=True, help="Say yes to the rest; never covers destructive or cut ones.")
@click.option("--key", "key_file", required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--reason", default="", help="What the snippet's author should know.")
@host_option
@policy_option
@json_option
def decide(reference: str, approve: tuple[str, ...], deny: tuple[str, ...], rest: bool, **options: Any) -> int:
    """Decide the bundle REFERENCE, signed with the ssh-ed25519 key in a file."""
    harness = Harness.from_file(options["host_file"], policy=options["policy"])
    key = load_key(options["key_file"].read_bytes())
    try:
        bundle = harness.approval(reference)
        words = _words(bundle, _split(approve), _split(deny), rest)
        outcome = harness.decide(sign(decision_document(bundle, "", words, options["reason"]), key), "cli")
    finally:
        harness.store().close()
    if options["as_json"]:
        print_json({"taken": outcome.taken, "code": outcome.code, "why": outcome.why, "run": outcome.run})
    else:
        say(outcome.why, err=not outcome.taken)
        if outcome.taken:
            say(f"the run goes on with `harness resume {outcome.run}`, or where a host watches")
    return 0 if outcome.taken else EXIT_REFUSED


def _split(named: tuple[str, ...]) -> set[str]:
    return {call for each in named for call in each.split(",")}


def _words(bundle: Bundle, approve: set[str], deny: set[str], rest: bool) -> dict[str, bool]:
    """Yes or no to each call of the bundle. Raises click.UsageError where one is left out, unknown, or named twice."""
    lines: dict[str, Shown] = {line.ask.call: line for line in asked_first(bundle)}
    if wrong := (approve | deny) - set(lines):
        raise click.UsageError(f"the bundle has no call {', '.join(sorted(wrong))}")
    if both := approve & deny:
        raise click.UsageError(f"{', '.join(sorted(both))} cannot be approved and denied")
    words = {call: call in approve for call in approve | deny}
    for call, line in lines.items():
        if call not in words and rest and line.effect.value != "destructive" and not line.cut:
            words[call] = True
    if left := [call for call in lines if call not in words]:
        hint = "name each with --approve or --deny; --all covers neither destructive calls nor cut previews"
        raise click.UsageError(f"nothing is said of {', '.join(left)}: {hint}")
    return words
