"""Search and full texts inside a snippet, over a surface that is too large for a prompt."""

import pytest

from tool_stubs.generate import generate
from tool_stubs.runtime.stub import build


def item(name: str, description: str, **properties: dict) -> dict:
    return {
        "name": name,
        "description": description,
        "parameters": {"type": "object", "properties": properties, "additionalProperties": False},
        "result": {"type": "integer"},
        "effect": "read",
        "approval": "none",
        "errors": {},
        "calls": None,
    }


SURFACE = [
    item("calendar.createEvent", "Put an event into a calendar.", title={"type": "string"}),
    item("mail-send", "Send a message to somebody.", to={"type": "string"}),
    item("search", "Search the web.", q={"type": "string"}),
    *(item(f"filler_{number}", "Does nothing of interest.") for number in range(200)),
]


@pytest.fixture(scope="module")
def tools() -> dict:
    made = generate(SURFACE)
    return build(made.table, lambda *_: None, source=made.source)


def test_search_finds_by_name_and_text(tools: dict) -> None:
    """Best first, with the name to import; a tool that is called `search` stays what it is (C32)."""
    assert tools["search_tools"]("create an event") == [
        {
            "name": "calendar_createEvent",
            "signature": "calendar_createEvent(title: str = UNSET) -> int",
            "purpose": "Put an event into a calendar.",
        }
    ]
    assert tools["search_tools"]("send mails")[0]["name"] == "mail_send"
    assert tools["search"].__name__ == "search"
    assert tools["search_tools"]("zebra") == []
    assert len(tools["search_tools"]("filler", limit=1_000)) == 50
    assert len(tools["search_tools"]("filler")) == 10


def test_describe_gives_the_whole_text(tools: dict) -> None:
    """By either name; the nearest one for what is not there."""
    text = tools["describe"]("mail-send")
    assert text == tools["describe"]("mail_send")
    assert text.startswith("def mail_send(")
    assert "Send a message to somebody." in text
    assert "Effect: read" in text
    with pytest.raises(LookupError, match=r"there is no tool 'mail_sent' in this run \(did you mean 'mail_send'\?\)"):
        tools["describe"]("mail_sent")
