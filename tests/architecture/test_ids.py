"""Ids that code, tests and docs cite exist."""

import re

from tests.architecture.source import ROOT, name

CITED = re.compile(r"(?<![A-Za-z0-9_#])([A-G]\d{2})(?![A-Za-z0-9_])")


def test_every_cited_case_stands_in_the_list_of_cases() -> None:
    """A case id such as A11 in a test or a comment is a row of docs/cases.md."""
    known = set(re.findall(r"^\| ([A-G]\d{2}) \|", (ROOT / "docs/cases.md").read_text("utf-8"), re.M))
    files = [*ROOT.glob("tests/**/*.py"), *ROOT.glob("harness/**/*.py"), *ROOT.glob("sandbox_image/**/*.py")]
    unknown = {
        f"{name(path)}: {cited}"
        for path in files
        for line in path.read_text("utf-8").splitlines()
        if '"""' in line or "#" in line or "docstring" in line
        for cited in CITED.findall(line)
        if cited not in known
    }
    assert unknown == set()


def test_every_linked_decision_exists() -> None:
    """A link into docs/decisions/ leads to a file."""
    link = re.compile(r"docs/decisions/([\w.-]+\.md)")
    files = [*ROOT.glob("**/*.md"), *ROOT.glob("harness/**/*.py"), *ROOT.glob("sandbox_image/**/*.py")]
    cited = {hit for path in files if ".venv" not in path.parts for hit in link.findall(path.read_text("utf-8"))}
    assert {each for each in cited if not (ROOT / "docs/decisions" / each).exists()} == set()
