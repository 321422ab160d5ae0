"""Tools of the flaky-test example: a workspace over a fresh copy of `repo`, and the record of past runs."""

import json
import shutil
from pathlib import Path
from typing import TypedDict

from harness import tool
from harness.toolsets.workspace import Workspace

HERE = Path(__file__).parent
COPY = HERE / ".work" / "repo"


def fresh() -> Path:
    """A new copy of the repository: the example can be run again and again."""
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(HERE / "repo", COPY)
    return COPY


workspace = Workspace(fresh(), write=["retry"])


class History(TypedDict):
    """How often a test failed in the past."""

    test: str
    runs: int
    failures: int


@tool(effect="read")
def history() -> History:
    """The record of past runs of the test that fails now and then."""
    record: History = json.loads((COPY / "ci" / "history.json").read_text("utf-8"))
    return record
