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
    made = generate(SURFACE, finding=True)
    return build(made.table, lambda *_: None, source=made.source)


def test_search_finds_by_name_and_text(tools: dict) -> None:
    """Best first, with the name to import; a tool that is called `search` stays what it is (C32)."""
    assert "search_tools" in tools["__all__"]
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


def test_a_small_surface_has_neither() -> None:
    """They are offered where a prompt carries names alone, and nowhere else."""
    made = generate(SURFACE[:2])
    tools = build(made.table, lambda *_: None, source=made.source)
    assert "def search" not in made.source
    assert tools["__all__"][:2] == ["calendar_createEvent", "mail_send"]
    assert not {"search", "search_tools", "describe", "describe_tool"} & {*tools, *tools["__all__"]}
    with pytest.raises(AttributeError, match="has no tool 'search' in this run"):
        tools["__getattr__"]("search")


def test_the_text_declares_them_as_the_box_has_them() -> None:
    """A model sees the names that hold; they are `search` and `describe` wherever no tool has such a name."""
    made = generate([SURFACE[0], SURFACE[1]], finding=True)
    tools = build(made.table, lambda *_: None, source=made.source)
    assert "\ndef search(query: str, limit: int = 10) -> list[dict[str, str]]:\n" in made.source
    assert "\ndef describe(name: str) -> str:\n" in made.source
    assert tools["search"]("event")[0]["name"] == "calendar_createEvent"
    assert tools["describe"]("mail_send").startswith("def mail_send(")
    both = generate([item("search", "Search."), item("describe", "Describe.")], finding=True)
    assert both.names == {"search": "search", "describe": "describe"}
    assert both.table["finding"] == {"search": "search_tools", "describe": "describe_tool"}
    assert "\ndef describe_tool(name: str) -> str:\n" in both.source
