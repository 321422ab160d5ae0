"""Hints of a type checker: true ones for a wrong snippet, none for a right one, and never a refusal."""

import json
from pathlib import Path

import pytest

from harness.core.errors import EnvironmentUnavailable
from harness.front import snippet_types
from harness.front.cli.main import main
from harness.front.snippet_types import Hint, type_hints
from tests.tool_stubs.making import item
from tool_stubs.generate import generate

STUBS = generate(
    [
        item(
            "read_record",
            description="Read it.",
            parameters={"type": "object", "properties": {"record_id": {"type": "integer"}}, "required": ["record_id"]},
        )
    ]
).source
RIGHT = '''import asyncio
from tools import read_record

text = """
  kept as it stands
"""
rows = await asyncio.gather(read_record(1), read_record(record_id=2))
one = await read_record(3)
wanted: int | None = inputs.get("wanted")
if wanted is None:
    return None, text
total = 0
total = wanted / 2
async with asyncio.TaskGroup() as group:
    task = group.create_task(read_record(4))
def last() -> int:
    return 1
return {
    "rows": rows, "one": one, "total": total, "previous": previous, "left": budget,
}
'''


def test_a_right_snippet_gives_no_hint() -> None:
    """Top-level return and await, promises, narrowing by return, names that are given another type."""
    assert type_hints(RIGHT, STUBS) == []


def test_a_wrong_one_is_told_where_it_stands() -> None:
    """Lines and columns are the snippet's, also behind a `return`."""
    wrong = 'from tools import read_record\nread_record("seven")\nreturn len(5)\n'
    assert type_hints(wrong, STUBS) == [
        Hint(2, 13, 'Argument 1 to "__call__" of "Tool" has incompatible type "str"; expected "int"', "arg-type"),
        Hint(3, 12, 'Argument 1 to "len" has incompatible type "int"; expected "Sized"', "arg-type"),
    ]


def test_without_the_checker_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named."""
    monkeypatch.setattr(snippet_types, "find_spec", lambda _: None)
    with pytest.raises(EnvironmentUnavailable) as refused:
        type_hints("return 1", STUBS)
    assert refused.value.hint == "pip install 'execution-harness[types]'"


def test_a_checker_that_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command goes on after its bound."""
    monkeypatch.setattr(snippet_types, "SECONDS", 0.001)
    with pytest.raises(EnvironmentUnavailable) as refused:
        type_hints("return 1", STUBS)
    assert refused.value.message == "the type check took longer than 0.001 s"


def test_the_command_gives_hints_and_stays_ok(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A hint is no fault: the exit status is 0, and without `--types` nothing is said."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["init", "."])
    (tmp_path / "wrong.py").write_text('return {"n": len(5)}\n')
    contract = next(tmp_path.glob("*contract*.yaml"))
    capsys.readouterr()
    said = []
    for more in (["--types"], []):
        with pytest.raises(SystemExit) as left:
            main(["check", str(contract), "wrong.py", "--json", *more])
        said.append((left.value.code, json.loads(capsys.readouterr().out)))
    hint = {
        "line": 1,
        "column": 18,
        "message": 'Argument 1 to "len" has incompatible type "int"; expected "Sized"',
        "code": "arg-type",
    }
    assert said == [(0, {"ok": True, "faults": [], "hints": [hint]}), (0, {"ok": True, "faults": []})]
