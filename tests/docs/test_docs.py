"""The docs say what the code does: codes, commands, keys and examples are compared, in both directions."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import click
import pytest
from pydantic import BaseModel

from harness.contract.host import HostFile
from harness.contract.load import load_contract, load_policy
from harness.contract.model import Contract
from harness.contract.policy import Policy
from harness.core.ending import EXIT_CODES, ReasonCode
from harness.core.verdict import Code
from harness.front.cli.main import cli
from harness.toolsets.overlay import Overlay
from tests.architecture.source import ROOT
from tests.docs.codes import fault_codes, hostile_codes

WORD = re.compile(r"`([a-z][a-z0-9_]*)`")
NOT_ALLOWED = {f"{word}_not_allowed" for word in ("language", "import", "backend", "runtime", "image")}
"""What `…_not_allowed` of the sandbox's keys becomes."""


def text(name: str) -> str:
    """A document of `docs/`."""
    return (ROOT / "docs" / name).read_text("utf-8")


def part(document: str, heading: str) -> str:
    """What stands under a heading, up to the next one of its level."""
    level = heading.partition(" ")[0]
    _, found, rest = document.partition(f"\n{heading}\n")
    assert found, f"the heading `{heading}` is gone"
    return re.split(rf"^{level} ", rest, maxsplit=1, flags=re.M)[0]


def first_cells(markdown: str) -> set[str]:
    """The words in backticks of the first column of every table."""
    return {word for row in re.findall(r"^\| (`[^|]+) \|", markdown, re.M) for word in WORD.findall(row)}


# --- codes -----------------------------------------------------------------------------------------------------


def test_every_fault_code_stands_in_the_errors() -> None:
    """A code that is missing: add it to the table of docs/errors.md that it belongs to; one too many: take it out."""
    errors = text("errors.md")
    documented = first_cells(part(errors, "## Codes of a refusal")) | first_cells(
        part(errors, "## What `contract lint` finds")
    )
    assert documented == (fault_codes() - {"…_not_allowed"}) | NOT_ALLOWED


def test_every_rule_of_the_wire_stands_in_the_errors() -> None:
    """The codes of HostileInput, no more and no fewer."""
    assert first_cells(part(text("errors.md"), "## What breaks the wire")) == hostile_codes()


def test_every_reason_stands_in_the_errors_with_its_exit_code() -> None:
    """The one table from reason to exit code."""
    rows = re.findall(r"^\| `(\w+)` \| \w+ \| (\d+) \|", part(text("errors.md"), "## How a run ends"), re.M)
    assert {ReasonCode(reason): int(status) for reason, status in rows} == EXIT_CODES
    assert len(rows) == len(ReasonCode)


def test_every_code_of_a_verdict_stands_in_the_errors() -> None:
    """What a snippet sees, and what only reports show."""
    seen = part(text("errors.md"), "## What a snippet sees")
    assert {code.value for code in Code} - set(WORD.findall(seen)) == set()


# --- commands --------------------------------------------------------------------------------------------------


def commands(command: click.Command, path: tuple[str, ...] = ("harness",)) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, with its whole name."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, (*path, name))
    else:
        yield " ".join(path), command


def sections() -> dict[str, str]:
    """The part of docs/cli.md on each command, by the words of its heading."""
    parts = re.split(r"^###? ", text("cli.md"), flags=re.M)
    heads = [(re.match(r"`([^`]+)`\n", each), each) for each in parts]
    return {head[1]: body for head, body in heads if head is not None}


def words(command: click.Command) -> set[str]:
    """The options of a command."""
    return {
        option
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for option in (*parameter.opts, *parameter.secondary_opts)
    }


def test_every_command_stands_in_the_docs() -> None:
    """One heading for each command, with its arguments as its help names them: add it to docs/cli.md."""

    def usage(name: str, command: click.Command) -> str:
        arguments = [each for each in command.params if isinstance(each, click.Argument)]
        shown = [f"{each.human_readable_name}{'…' if each.nargs == -1 else ''}" for each in arguments]
        wanted = [word if each.required else f"[{word}]" for word, each in zip(shown, arguments, strict=True)]
        return " ".join((name, *wanted))

    assert set(sections()) == {usage(name, command) for name, command in commands(cli)}


def test_every_option_stands_with_its_command() -> None:
    """Each option is named where its command is described, and no other one is."""
    described = {head: set(re.findall(r"`(--[a-z][a-z-]*)", body)) for head, body in sections().items()}
    known = {name: words(command) for name, command in commands(cli)}
    told = {
        name: next((said for head, said in described.items() if f"{head} ".startswith(f"{name} ")), None)
        for name in known
    }
    assert told == known


# --- keys ------------------------------------------------------------------------------------------------------


def keys(model: type[BaseModel], above: str = "") -> Iterator[str]:
    """Every key of a document as a dotted path; lists and names between are left out."""
    for name, field in model.model_fields.items():
        key = f"{above}{field.alias or name}"
        yield key
        for inner in models(field.annotation):
            yield from keys(inner, f"{key}.")


def models(annotation: object) -> Iterator[type[BaseModel]]:
    """The models that an annotation holds."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from models(each)


DOCUMENTS = {
    "contract": (Contract, "contract.md"),
    "policy": (Policy, "policy.md"),
    "host file": (HostFile, "host-file.md"),
    "overlay": (Overlay, "overlay.md"),
}
ALIKE = re.compile(r"^checks\.(preconditions|invariants|postconditions)\.")
"""The three lists of checks have the same keys: they are described once."""


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_key_stands_in_the_docs(document: str) -> None:
    """The tables under "Every key" and the model have the same keys: add a new one to the document's table."""
    model, name = DOCUMENTS[document]
    cells = re.findall(r"^\| (`[^|]+) \|", part(text(name), "## Every key"), re.M)
    told = {key for cell in cells for key in re.findall(r"`([a-z_.]+)`", cell)}
    assert told == {ALIKE.sub("checks.each.", key) for key in keys(model)}


# --- examples --------------------------------------------------------------------------------------------------


def example(name: str, heading: str) -> str:
    """The YAML block under a heading."""
    found = re.search(r"```yaml\n(.*?)```", part(text(name), heading), re.S)
    assert found is not None
    return found[1]


def test_the_full_contract_of_the_docs_loads(tmp_path: Path) -> None:
    """It has every section, and no fault."""
    path = tmp_path / "contract.yaml"
    path.write_text(example("contract.md", "## A full example"), "utf-8")
    contract = load_contract(path)
    assert set(contract.stated()) == set(Contract.model_fields)


def test_the_full_policy_of_the_docs_loads(tmp_path: Path) -> None:
    """It has no fault."""
    path = tmp_path / "policy.yaml"
    path.write_text(example("policy.md", "## A full example"), "utf-8")
    assert load_policy(path).policy == "house-rules"


def test_every_page_is_linked_from_the_readme() -> None:
    """A page that nobody finds is none."""
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert pages - set(re.findall(r"\]\(docs/([\w-]+\.md)\)", (ROOT / "README.md").read_text("utf-8"))) == set()
