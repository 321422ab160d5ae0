"""What a surface costs a prompt, and that its full text type-checks: over the function documents of a benchmark."""

import json
import os
import re
from pathlib import Path

import pytest
from mypy import api as mypy

from tests.architecture.source import ROOT
from tests.tool_stubs.making import item
from tests.tool_stubs.test_bfcl_documents import _documents
from tool_stubs.generate import compact, generate
from tool_stubs.problem import StubRefused

EVERY = 1 if os.environ.get("ALL_DOCUMENTS") else 30
"""One document in so many is type-checked: mypy takes minutes for all of them, which `ALL_DOCUMENTS=1` asks for."""


def tokens(text: str) -> int:
    """Words, digits and signs: within a tenth of what tokenisers of large models count for such text."""
    return len(re.findall(r"[A-Za-z]+|\d|[^\sA-Za-z\d]", text))


def test_the_size_of_the_catalogue_is_the_one_that_is_told() -> None:
    """Tokens a tool: the compact line, the full text, the raw JSON schema, as the docs have them."""
    raw = line = full = count = 0
    for each in _documents():
        one = item(each["name"], description=each.get("description"), parameters=each["parameters"])
        try:
            source = generate([one]).source
        except StubRefused:
            continue
        count += 1
        known = {key: each.get(key) for key in ("name", "description", "parameters")}
        raw += tokens(json.dumps(known, ensure_ascii=False))
        line += tokens(compact([one]))
        full += tokens(source[source.index("@stub") :])
    short, long, plain = (f"{each / count:.0f}" for each in (line, full, raw))
    told = f"{short} tokens in the compact list and {long} in full, against {plain} as raw"
    assert told in (ROOT / "docs/call-it-from-your-agent.md").read_text("utf-8").replace("\n", " ")


@pytest.mark.slow
def test_stubs_type_check(tmp_path: Path) -> None:
    """The text of every stub is right Python for mypy, strict."""
    for at, each in enumerate(_documents()[::EVERY]):
        try:
            source = generate([item(each["name"], parameters=each["parameters"])]).source
        except StubRefused:
            continue
        (tmp_path / f"surface_{at}.py").write_text(source)
    out, err, status = mypy.run(["--strict", "--cache-dir", str(tmp_path / "cache"), str(tmp_path)])
    assert status == 0, (out + err)[-3000:]
