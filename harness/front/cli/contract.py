"""`harness contract`: make one, read one in plain words, find what promises less than it seems to."""

from pathlib import Path

import click

from harness.api import Harness
from harness.contract.diff import diff as contract_diff
from harness.contract.draft import QUESTIONS, Answers, draft
from harness.contract.explain import explain as explain_contract
from harness.contract.lint import lint as lint_contract
from harness.contract.load import load_contract
from harness.front.cli.changes import deny_loosening, show_changes
from harness.front.cli.failures import fault_json
from harness.front.cli.options import host_option, json_option, policy_option, print_json
from harness.front.cli.terminal import say

__all__ = ["contract", "diff", "explain", "lint", "new"]

EXIT_FINDINGS = 4


@click.group()
def contract() -> None:
    """Make, explain, lint and compare contracts."""


@contract.command()
@click.argument("contract", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@host_option
@policy_option
def explain(contract: Path, host_file: Path, policy: Path | None) -> None:
    """Answer the five questions of CONTRACT in order."""
    harness = Harness.from_file(host_file, policy=policy)
    say(explain_contract(harness.effective(contract)))


@contract.command()
@click.argument("contract", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@host_option
@json_option
def lint(contract: Path, host_file: Path, as_json: bool) -> int:
    """Find what loads and promises less than it seems to. Exits 4 where there is something."""
    harness = Harness.from_file(host_file)
    findings = lint_contract(harness.contract(contract), harness.registry.contracts())
    if as_json:
        print_json({"findings": [fault_json(each) for each in findings]})
    else:
        for each in findings:
            say(str(each))
        if not findings:
            say("nothing found")
    return EXIT_FINDINGS if findings else 0


@contract.command()
@click.argument("before", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("after", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@deny_loosening
@json_option
def diff(before: Path, after: Path, deny_loosening: bool, as_json: bool) -> int:
    """What AFTER lets through that BEFORE did not, and the other way round; neither needs a host."""
    changes = contract_diff(load_contract(before), load_contract(after))
    return show_changes(changes, as_json=as_json, deny=deny_loosening)


@contract.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--ask/--no-ask", default=True, help="Ask the five questions, or leave every answer open.")
def new(file: Path, ask: bool) -> None:
    """Ask the five questions, and write the answers into FILE; what its owners must decide stays a TODO."""
    if file.exists():
        raise click.UsageError(f"`{file}` is there already; name another file")
    answers = _ask(file.stem) if ask else Answers(file.stem)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(draft(answers), "utf-8")
    say(f"wrote {file}; it loads when nothing in it says TODO any more")
    say(f"next: harness check {file}")


def _ask(name: str) -> Answers:
    """An empty answer leaves the decision open."""
    goal = _prompt("What is the goal")
    told = {key: _prompt(question) for key, question in QUESTIONS}
    return Answers(
        name=name,
        goal=goal,
        output=_names(told["output"]),
        wall_seconds=told["budget"] if told["budget"].replace(".", "", 1).isdigit() else "",
        tools=_names(told["permissions"]),
        success=told["completion"],
        destination=told["destination"],
    )


def _prompt(question: str) -> str:
    answer: str = click.prompt(question, default="", show_default=False)
    return answer.strip()


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
