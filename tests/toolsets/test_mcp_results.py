"""Results of MCP calls: structure wins, errors raise, text is parsed by rule alone (C21, C23); and the environment."""

import json

import pytest

from harness.core.call import Effect
from harness.core.errors import RegistryRefused
from harness.core.state import Event
from tests.toolsets.making import Place, fake

PREVIEW = {"remove": {"preview": "remove it"}}


def test_structure_wins_and_wrappers_are_undone(tmp_path) -> None:
    """C21: structuredContent, not the text beside it; `{result: 3}` is 3; text stays text; parts stay typed."""
    host = Place(tmp_path, fake("good"))
    host.overlay("fake", **PREVIEW)
    host.admit()
    outcomes = host.call(*((name, {}) for name in ("structured", "wrapped", "text", "image", "mixed", "remove")))
    assert [each.event for each in outcomes] == [Event.RETURN_VALID] * 6
    structured, wrapped, text, image, mixed, nothing = (each.value for each in outcomes)
    assert structured == {"n": 1}
    assert wrapped == 3
    assert text == '{"n": 12345678901234567890}'
    assert image == [{"type": "image", "mime_type": "image/png", "data": "aGVsbG8="}]
    assert [part["type"] for part in mixed] == ["text", "image", "file", "link"]
    assert nothing is None


def test_text_is_parsed_where_a_rule_says_so(tmp_path) -> None:
    """C21: exactly one JSON text, digits exact; bytes as a typed value; what does not fit breaks."""
    host = Place(tmp_path, fake("good"))
    rules = {"text": "json", "image": "bytes", "work": "json", "look": "bytes", "mixed": "text"}
    host.overlay("fake", **PREVIEW, **{name: {"content": rule} for name, rule in rules.items()})
    host.admit()
    outcomes = host.call(*((name, {}) for name in rules))
    assert outcomes[0].value == {"n": 12345678901234567890}
    assert outcomes[1].value == {"mime_type": "image/png", "data": "aGVsbG8="}
    assert [each.error_type for each in outcomes[2:]] == ["SourceBroke"] * 3
    assert outcomes[4].message == "`mixed` gave 4 parts where its rule `content: text` wants one"


def test_is_error_raises(tmp_path) -> None:
    """C23: its text reaches the snippet; after an effect the ending is UNKNOWN unless the overlay says otherwise."""
    host = Place(tmp_path, fake("good"))
    host.overlay("fake", **PREVIEW)
    host.admit()
    [outcome] = host.call(("failing", {}))
    assert (outcome.event, outcome.error_type, outcome.message) == (Event.LOSE, "SourceReported", "no such record")
    host.overlay("fake", **PREVIEW, failing={"errors": {"SourceReported": {"no_effect": True}}})
    [outcome] = host.call(("failing", {}))
    assert outcome.event is Event.RAISE_NO_EFFECT
    host.overlay("fake", **PREVIEW, failing={"effect": "read"})
    [outcome] = host.call(("failing", {}))
    assert outcome.event is Event.RAISE_NO_EFFECT


def test_results_that_do_not_keep_their_promise_break(tmp_path) -> None:
    """A structured tool without structure, a structure of another shape: the act may have happened all the same."""
    host = Place(tmp_path, fake("good"))
    host.overlay("fake", **PREVIEW)
    host.admit()
    [missing] = Place(tmp_path, fake("unstructured")).call(("structured", {}))
    assert (missing.event, missing.error_type) == (Event.LOSE, "SourceBroke")
    [broken] = Place(tmp_path, fake("nonsense")).call(("structured", {}))
    assert broken.event in (Event.LOSE, Event.RETURN_INVALID_EFFECT)


def test_hints_only_tighten(tmp_path) -> None:
    """†readOnlyHint changes nothing; destructiveHint makes it destructive, and then it must have a preview."""
    host = Place(tmp_path, fake("good")).admit()
    with pytest.raises(RegistryRefused) as refused:
        host.using(_contracts(host))
    assert [(fault.code, fault.message) for fault in refused.value.faults] == [
        ("no_preview", "a destructive tool needs a preview that a person can read")
    ]
    host.overlay("fake", **PREVIEW)
    contracts = host.using(_contracts(host))
    assert {name: each.effect for name, each in contracts.items() if each.effect is not Effect.WRITE} == {
        "remove": Effect.DESTRUCTIVE
    }
    host.overlay("fake", **PREVIEW, look={"effect": "read", "idempotency": "natural"})
    assert host.using(_contracts(host))["look"].effect is Effect.READ


def test_what_is_proposed_has_no_effect(tmp_path) -> None:
    """Until a person has moved its lines up."""
    host = Place(tmp_path, fake("good"))
    host.overlay("fake", **PREVIEW, look={"proposed": {"effect": "read"}})
    host.admit()
    assert host.using(_contracts(host))["look"].effect is Effect.WRITE


def test_faults_of_an_overlay_are_told_at_once_with_their_places(tmp_path) -> None:
    """A misspelt tool, a scope over an argument that is not there."""
    host = Place(tmp_path, fake("good")).admit()
    host.overlay("fake", wrok={"effect": "read"}, work={"scope": "tenant"}, **PREVIEW)
    with pytest.raises(RegistryRefused) as refused:
        host.using(_contracts(host))
    assert [(each.code, each.hint, each.place.key) for each in refused.value.faults] == [
        ("no_such_tool", "did you mean `work`?", "tools.wrok"),
        ("bad_scope", "there is none", "tools.work"),
    ]


def test_nothing_loads_before_it_was_admitted(tmp_path) -> None:
    """The hint is the way."""
    host = Place(tmp_path, fake("good"))
    with pytest.raises(RegistryRefused, match="the tools of `fake` are not admitted yet"):
        host.using(_contracts(host))


def test_a_server_starts_with_a_listed_environment(tmp_path, monkeypatch) -> None:
    """PATH, what the host file says, what it lets in; secrets filled in at the last moment."""
    monkeypatch.setenv("CRM_TOKEN", "s3cret-value")
    monkeypatch.setenv("OTHER_SECRET", "not for you")
    monkeypatch.setenv("LANG", "C.UTF-8")
    Place(tmp_path, fake("good")).admit()
    said = fake("env", env={"TOKEN": "Bearer ${secret:crm}"}, inherit=["LANG"])
    host = Place(tmp_path, said, secrets={"crm": {"env": "CRM_TOKEN"}})
    host.overlay("fake", **PREVIEW, work={"content": "json"})
    [outcome] = host.call(("work", {}))
    seen = dict(outcome.value)
    seen.pop("LC_CTYPE", None)  # Python itself sets it in a C locale
    assert seen == {"PATH": seen["PATH"], "TOKEN": "Bearer s3cret-value", "LANG": "C.UTF-8"}
    assert "s3cret" not in json.dumps([path.read_text() for path in tmp_path.iterdir()])


def _contracts(host: Place):
    async def contracts(toolsets):
        return dict(host.registry(toolsets).contracts())

    return contracts
