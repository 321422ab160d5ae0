"""Output schemas from results that were seen: they fit every one of them, and are proposals with counts."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contract.schema import compile_schema
from harness.front.cli.main import main
from harness.toolsets.learn import learned
from harness.toolsets.overlay import load_overlay
from tests.toolsets.making import Place, fake

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(JSON, min_size=1, max_size=6))
def test_every_value_fits_what_was_learned_of_it(values: list) -> None:
    """Whatever was seen."""
    validator = compile_schema(learned(values))
    assert [value for value in values if not validator.ok(value)] == []


def test_shapes_are_those_that_a_person_would_write() -> None:
    """Required where always there, nullable where it was null, numbers where both kinds were seen, tables by key."""
    rows = [{"id": 1, "name": "a", "tags": ["x"]}, {"id": 2.5, "name": None, "more": True}]
    assert learned(rows) == {
        "type": "object",
        "properties": {
            "id": {"type": "number"},
            "name": {"type": ["null", "string"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "more": {"type": "boolean"},
        },
        "required": ["id", "name"],
    }
    table = {f"key-{number}": {"n": number} for number in range(100)}
    assert learned([table])["additionalProperties"]["properties"] == {"n": {"type": "integer"}}
    assert learned([[], [None, [1]]])["items"] == {"type": ["array", "null"], "items": {"type": "integer"}}


@pytest.mark.bubblewrap
def test_the_record_of_runs_proposes_an_overlay(tmp_path: Path, monkeypatch, capsys) -> None:
    """What it prints loads as an overlay, has no effect there, and says from how many results it comes."""
    monkeypatch.chdir(tmp_path)
    host = Place(tmp_path, fake("good"))
    host.overlay("fake", remove={"preview": "remove it"}, text={"content": "json", "effect": "read"})
    host.admit()
    (tmp_path / "c.yaml").write_text(
        "contract: c\nversion: 1\ngoal: g\nowner: {intent: t}\noutput: {schema: {}}\n"
        'budget: {tokens: 0, cost_usd: "0", wall_seconds: 60, retries: 0, iterations: 1}\n'
        'permissions: {tools: [{tool: text}]}\ncompletion: {success: "true"}\n'
        'destination: [{to: "file:r.json"}]\n'
    )
    (tmp_path / "s.py").write_text("from tools import text\nreturn [text(), text()]\n")
    for words in (["tools", "learn", "text"], ["run", "c.yaml", "s.py", "--backend", "bubblewrap"]):
        with pytest.raises(SystemExit):
            main(words)
    assert "holds no result of `text` yet" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["tools", "learn", "text"])
    assert not ended.value.code
    (tmp_path / "learned.yaml").write_text(capsys.readouterr().out)
    words = load_overlay(tmp_path / "learned.yaml").tools["text"]
    assert (words.result, words.learned) == (None, 0)
    assert words.proposed["learned"] == 2
    assert json.dumps(words.proposed["result"]) == (
        '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}'
    )
