"""What a surface costs a prompt, and that its full text type-checks: over the function documents of a benchmark."""

import json
import re
from pathlib import Path
from typing import Any

from mypy import api as mypy

from tests.architecture.source import ROOT
from tests.tool_stubs.making import item
from tests.tool_stubs.test_bfcl_documents import _documents
from tool_stubs.generate import compact, generate
from tool_stubs.naming import fold_tool
from tool_stubs.problem import StubRefused

BATCH = 200
"""Documents in one surface: mypy then takes seconds for all of them, where a file each took minutes."""


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


def test_the_stubs_of_every_document_type_check(tmp_path: Path) -> None:
    """C15, C33: the text of every stub, descriptions and all, is right Python for mypy, strict."""
    distinct = {json.dumps([each["name"], each["parameters"]], sort_keys=True): each for each in _documents()}
    fitting = [made for each in distinct.values() if (made := _fitting(each))]
    for at in range(0, len(fitting), BATCH):
        (tmp_path / f"surface_{at}.py").write_text(generate(_told_apart(fitting[at : at + BATCH])).source, "utf-8")
    out, err, status = mypy.run(["--strict", "--cache-dir", str(tmp_path / "cache"), str(tmp_path)])
    assert (status, err) == (0, ""), out[-3000:]
    assert f"no issues found in {-(-len(fitting) // BATCH)} source files" in out
    assert len(fitting) == 3_468


def _fitting(document: dict[str, Any]) -> dict[str, Any] | None:
    """The document as an item of a surface; None where it is refused."""
    made = item(document["name"], description=document.get("description"), parameters=document["parameters"])
    try:
        generate([made])
    except StubRefused:
        return None
    return made


def _told_apart(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same with names that fold to different ones: a second tool of one name gets its place in the batch."""
    taken: set[str] = set()
    apart = []
    for at, each in enumerate(items):
        name = each["name"] if fold_tool(each["name"]) not in taken else f"{each['name']}_again_{at}"
        taken.add(fold_tool(name))
        apart.append({**each, "name": name})
    return apart
