"""G07: the JSON Schema Test Suite, drafts 7 and 2020-12, through the host's validator: its verdicts, ours where
they differ, each with its reason."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.contract.schema import compile_schema
from harness.core.errors import ContractRefused

SUITES = Path(__file__).parents[2] / ".ci/suites/tests"
DRAFTS = {
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
"""Folder of the suite → `$schema`."""
REFUSED = {
    "remote_reference": "absolute references are refused, even where an `$id` inside answers them: nothing is fetched",
    "bad_schema": "meta-schemas of one's own, and the vocabularies that they turn off, are not read",
}
"""Code of the fault → why a schema of the suite does not compile here."""
MOST_REFUSED = {"draft7": 57, "draft2020-12": 112}
"""Tests in refused groups, of 913 and 1,257; a change for the worse fails."""
ANNOTATION = "is only an annotation by default"
"""End of the descriptions of tests in which a format asserts nothing: here formats assert."""


def cases(draft: str) -> list[tuple[str, dict[str, Any]]]:
    """Every group of a draft, `file: description`; optional ones are not among them, formats aside."""
    folder = SUITES / draft
    if not folder.exists():
        why = "the suite is not there: bash .ci/suites.sh"
        if os.environ.get("CI") == "true":
            pytest.fail(why, pytrace=False)
        pytest.skip(why)
    found = []
    for path in sorted(folder.glob("*.json")):
        for group in json.loads(path.read_text()):
            found.append((f"{path.stem}: {group['description']}", group))
    return found


def with_draft(schema: Any, draft: str) -> Any:
    """The schema as a contract would write it."""
    return {"$schema": DRAFTS[draft], **schema} if isinstance(schema, dict) and "$schema" not in schema else schema


def judged(draft: str) -> tuple[Counter[str], list[str], list[str]]:
    """How many verdicts are the suite's; the groups that are refused; the verdicts that differ."""
    counted: Counter[str] = Counter()
    refused: list[str] = []
    differing: list[str] = []
    for name, group in cases(draft):
        try:
            validator = compile_schema(with_draft(group["schema"], draft))
        except ContractRefused as error:
            counted["refused"] += len(group["tests"])
            refused.append(error.faults[0].code)
            continue
        for test in group["tests"]:
            verdict = validator.ok(test["data"])
            counted["same" if verdict is test["valid"] else "other"] += 1
            if verdict is not test["valid"]:
                differing.append(f"{name}: {test['description']}")
            assert bool(validator.faults(test["data"])) is not verdict
    return counted, refused, differing


@pytest.mark.parametrize("draft", DRAFTS)
def test_verdicts_are_those_of_the_suite(draft: str) -> None:
    """G07: keyword semantics, siblings of `$ref`, unevaluated members: what compiles judges as the suite says."""
    counted, refused, differing = judged(draft)
    assert [each for each in differing if not each.endswith(ANNOTATION)] == []
    assert len(differing) == (0 if draft == "draft7" else 19)
    assert set(refused) <= set(REFUSED)
    assert counted["refused"] <= MOST_REFUSED[draft]
    assert counted["same"] >= 850
