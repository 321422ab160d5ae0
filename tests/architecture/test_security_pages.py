"""The pages for reviewers say what the data says, and name only what there is."""

import re

import pytest

from harness.front.cli.isolation_page import isolation_page
from harness.front.selftest.selftest import functions
from harness.front.selftest.table import CHANNEL, ENDS, SHARED, TRIES
from tests.architecture.source import ROOT

KINDS = "ABDE"
PAGES = ("docs/threat-model.md", "docs/not-defended.md", "docs/isolation.md", "SECURITY.md")


def probes() -> set[str]:
    """The names of the probes, the language's left out."""
    names = {f"{file}.{function}" for file in SHARED for function in functions(file)}
    names |= {f"exhaustion.{own.function}" for own in ENDS} | {f"channel.{own.function}" for own in CHANNEL}
    names |= {"exhaustion.double_fork", "exhaustion.limits_read_back", "host.neighbours", "host.one_run"}
    return {name.replace("_", "-") for name in names}


def test_the_page_of_the_isolation_is_the_data() -> None:
    """docs/isolation.md: `python -m harness.front.cli.isolation_page > docs/isolation.md` changes nothing."""
    assert (ROOT / "docs/isolation.md").read_text("utf-8") == isolation_page()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_only_probes_that_there_are(page: str) -> None:
    """A probe that a page names is one of the selftest's."""
    named = re.findall(r"`((?:network|host|rights|exhaustion|channel)\.[a-z0-9-]+)`", (ROOT / page).read_text("utf-8"))
    assert set(named) - probes() == set()


def test_every_wall_names_probes_that_there_are() -> None:
    """The table from walls to probes holds no dead name."""
    assert {name for names in TRIES.values() for name in names} - probes() == set()


def test_every_case_of_escapes_limits_language_and_engine_is_tried() -> None:
    """Each id of the kinds A, B, D and E stands as a word in a test."""
    known = re.findall(rf"^\| ([{KINDS}]\d{{2}}) \|", (ROOT / "docs/cases.md").read_text("utf-8"), re.M)
    text = "\n".join(path.read_text("utf-8") for path in ROOT.glob("tests/**/*.py"))
    cited = set(re.findall(r"(?<![A-Za-z0-9_])([A-G]\d{2})(?![A-Za-z0-9_])", text))
    assert sorted(set(known) - cited) == []
