"""`harness tools`: scan, admit, show, stubs, test as people use them; and a run over an admitted source."""

import io
import json
import os
from pathlib import Path

import pytest

from harness.front.cli.main import main
from tests.toolsets.making import Place, fake

CONTRACT = """
contract: try-it
version: 1
goal: use a tool of a server
owner: {intent: tests}
output: {schema: {type: object}}
budget: {tokens: 0, cost_usd: "0", wall_seconds: 60, retries: 0, iterations: 1}
permissions:
  tools: [{tool: work}, {tool: wrapped}, {tool: image}, {tool: failing}, {tool: look}]
completion: {success: "true"}
destination: [{to: "file:results/${run.id}.json"}]
"""
SNIPPET = """
from tools import work, wrapped, image, failing, look, OutcomeUnknown
try:
    failing()
except OutcomeUnknown as error:
    failed = error.message
picture = image()
return {"work": work(), "wrapped": wrapped() + 1, "bytes": len(picture.data), "failed": failed, "look": look()}
"""


def harness(capsys, *words: str) -> tuple[int, str, str]:
    """Status, output and errors of a command."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    shown = capsys.readouterr()
    return int(ended.value.code or 0), shown.out, shown.err


@pytest.fixture
def place(tmp_path: Path, monkeypatch) -> Place:
    monkeypatch.chdir(tmp_path)
    return Place(tmp_path, fake("good"))


def test_from_scan_to_a_call(place: Place, capsys) -> None:
    """A first overlay and contract are written and load as they are; nothing is admitted by looking."""
    status, out, _ = harness(capsys, "tools", "scan", "fake")
    assert (status, out.splitlines()[0]) == (0, "wrote fake.tools.yaml")
    overlay = (place.folder / "fake.tools.yaml").read_text()
    assert '    proposed: {"effect": "read", "idempotency": "natural"}  # the source\'s readOnlyHint' in overlay
    assert harness(capsys, "tools", "list")[0] == 3
    status, out, _ = harness(capsys, "tools", "admit", "fake", "--yes")
    assert out.splitlines()[-1] == "admitted 9 tools in fake.tools.lock.json"
    status, out, _ = harness(capsys, "check", "fake.contract.yaml")
    assert status == 0
    status, out, _ = harness(capsys, "tools", "test", "text", "--yes", "--json")
    assert json.loads(out) == {"ok": True, "result": '{"n": 12345678901234567890}'}
    status, out, _ = harness(capsys, "tools", "test", "failing", "--yes")
    assert (status, json.loads(out)["error"]) == (1, "SourceReported")


def test_an_effect_is_not_called_by_accident(place: Place, capsys) -> None:
    """`test` wants `--yes`, arguments that are JSON, a tool that exists."""
    place.overlay("fake", remove={"preview": "remove it"}, look={"effect": "read"})
    place.admit()
    status, _, err = harness(capsys, "tools", "test", "work")
    assert (status, "`work` has the effect `write`; with `--yes` it is called" in err) == (2, True)
    assert harness(capsys, "tools", "test", "look")[0] == 0
    status, out, _ = harness(capsys, "tools", "test", "look", "--args", '{"x": 1}')
    assert (status, json.loads(out)["error"]) == (1, "ArgumentsRefused")
    assert harness(capsys, "tools", "test", "look", "--args", "[1]")[0] == 2
    status, _, err = harness(capsys, "tools", "test", "loook")
    assert (status, "did you mean `look`?" in err) == (3, True)


def test_admit_shows_what_changed(place: Place, capsys, monkeypatch) -> None:
    """The old and the new of each member; without a yes nothing changes."""
    place.overlay("fake", remove={"preview": "remove it"})
    place.admit()
    assert harness(capsys, "tools", "admit", "fake")[1] == "nothing changed since it was admitted\n"
    Place(place.folder, fake("changed"))
    before = (place.folder / "fake.tools.lock.json").read_text()
    monkeypatch.setattr("sys.stdin", io.StringIO("n\nn\n"))
    status, out, _ = harness(capsys, "tools", "admit", "fake")
    assert status == 8
    assert out.splitlines()[0] == (
        '~ work: description: `"the tool work"` → `"the tool work, and now it also sends mail"`'
    )
    assert (place.folder / "fake.tools.lock.json").read_text() == before
    assert harness(capsys, "tools", "admit", "fake", "--yes")[0] == 0
    Place(place.folder, fake("renamed"))
    _, out, _ = harness(capsys, "tools", "admit", "fake")
    assert out.splitlines()[:2] == ["- work: gone", "+ werk: new"]


def test_pins_that_were_tampered_with_are_refused(place: Place, capsys) -> None:
    """A definition in the file that is not the one that its pin names."""
    place.overlay("fake", remove={"preview": "remove it"})
    place.admit()
    path = place.folder / "fake.tools.lock.json"
    path.write_text(path.read_text().replace("the tool work", "the tool w0rk"))
    status, _, err = harness(capsys, "tools", "list")
    assert (status, "is not the one that its pin names" in err) == (3, True)


def test_a_source_that_does_not_start_shows_its_last_lines(tmp_path: Path, monkeypatch, capsys) -> None:
    """C25: for people, on the terminal."""
    monkeypatch.chdir(tmp_path)
    Place(tmp_path, fake("crashing"))
    status, _, err = harness(capsys, "tools", "scan", "fake")
    assert status == 1
    assert "ImportError: cannot import name 'JSONRPCMessage'" in err
    assert harness(capsys, "tools", "scan", "fakes")[0] == 3


def test_show_and_stubs(place: Place, capsys) -> None:
    """What is missing is said to be missing."""
    place.overlay("fake", remove={"preview": "remove it"})
    place.admit()
    _, out, _ = harness(capsys, "tools", "show", "work")
    assert "result: its source does not say what it looks like" in out
    assert "def work(" in out
    _, out, _ = harness(capsys, "tools", "stubs", "work", "look", "--compact")
    assert len(out.strip().splitlines()) == 2


@pytest.mark.bubblewrap
def test_a_snippet_uses_a_server(place: Place, capsys) -> None:
    """C21, C23: through the whole corridor; images arrive as bytes, an error that may have acted as OutcomeUnknown."""
    place.overlay(
        "fake",
        remove={"preview": "remove it"},
        image={"content": "bytes", "effect": "read"},
        look={"effect": "read"},
    )
    place.admit()
    (place.folder / "c.yaml").write_text(CONTRACT)
    (place.folder / "s.py").write_text(SNIPPET)
    status, out, _ = harness(capsys, "run", "c.yaml", "s.py", "--backend", "bubblewrap", "--json")
    result = json.loads(out)
    assert result["outcome"] == "unresolved", result
    assert result["iterations"][0]["output"] == {
        "work": "done",
        "wrapped": 4,
        "bytes": 5,
        "failed": "no such record",
        "look": "seen",
    }
    assert status != 0


@pytest.mark.bubblewrap
def test_a_source_in_a_box_of_its_own(tmp_path: Path, monkeypatch) -> None:
    """It sees no network but what it declares, writes only where it may, and no other process."""
    place = Place(tmp_path, fake("good"))
    place.overlay("fake", remove={"preview": "remove it"})
    place.admit()
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    said = fake("good", allowed / "state", box={"write": ["allowed"]})
    [outcome] = Place(tmp_path, said).call(("work", {}))
    assert outcome.value == "done"
    assert (allowed / "state").read_text().splitlines()[1] == "call work"
    [refused] = Place(tmp_path, fake("good", tmp_path / "state", box={})).call(("work", {}))
    assert refused.error_type == "SourceUnavailable"
    assert not (tmp_path / "state").exists()
    assert os.path.exists(tmp_path)
