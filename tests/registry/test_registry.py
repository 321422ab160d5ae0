"""The registry: what disagrees never seals, and both places are named."""

import pytest

from harness.core.errors import RegistryRefused
from harness.registry.from_function import from_function
from harness.registry.registry import Registry, Tool
from harness.registry.settings import Settings


def read_record(record_id: int) -> str:
    """Read it."""
    return str(record_id)


def _tool(function=read_record, source: str = "a.py:3", **settings) -> Tool:
    return from_function(function, Settings(**settings), source=source)


def _messages(registry: Registry) -> list[tuple[str, str]]:
    with pytest.raises(RegistryRefused) as refused:
        registry.seal()
    return [(fault.code, fault.message) for fault in refused.value.faults]


def test_a_sealed_registry_answers_and_takes_nothing_more() -> None:
    """By wire name; an unknown one is None."""
    registry = Registry()
    registry.add(_tool())
    assert registry.seal() is registry
    assert list(registry.contracts()) == ["read_record"]
    assert registry.get("read_record") is registry.tools()["read_record"]
    assert registry.get("nope") is None
    with pytest.raises(RegistryRefused, match="came after the registry was sealed"):
        registry.add(_tool(name="other"))


def test_one_name_with_different_metadata_names_both_places_and_each_field() -> None:
    """C17: neither silently takes the place of the other."""
    registry = Registry()
    registry.add(_tool(effect="read"))
    registry.add(_tool(source="b.py:7", effect="write", timeout_s=5))
    assert _messages(registry) == [
        (
            "tool_conflict",
            "the tool `read_record` is defined twice, in `a.py:3` and in `b.py:7`: "
            "they differ in `effect`, `timeout_s`",
        )
    ]


def test_one_name_with_two_functions_is_a_conflict_too() -> None:
    """Equal metadata says nothing of what runs."""

    def other(record_id: int) -> str:
        """Read it."""
        return "other"

    registry = Registry()
    registry.add(_tool())
    registry.add(_tool(other, source="b.py:7", name="read_record"))
    assert _messages(registry) == [
        (
            "tool_conflict",
            "the tool `read_record` is defined twice, in `a.py:3` and in `b.py:7`: each has a function of its own",
        )
    ]


def test_the_same_tool_twice_is_one_tool() -> None:
    """Two sources that name one function agree."""
    registry = Registry()
    registry.add(_tool())
    registry.add(_tool())
    assert list(registry.seal().contracts()) == ["read_record"]


def test_names_that_fold_to_one_identifier_are_refused() -> None:
    """C17: `get-user` and `get_user` cannot both be written."""
    registry = Registry()
    registry.add(_tool(name="get-user"))
    registry.add(_tool(source="b.py:7", name="get_user"))
    assert _messages(registry) == [
        (
            "name_collision",
            "the tools `get-user` (`a.py:3`) and `get_user` (`b.py:7`) are both written `get_user` in Python",
        )
    ]


def test_every_conflict_is_told_at_once_and_nothing_is_answered_before() -> None:
    """Fail closed: a registry with conflicts answers no question."""
    registry = Registry()
    registry.add(_tool(name="harness.sleep"))
    registry.add(_tool(name="a" * 201))
    registry.add(_tool())
    registry.add(_tool(timeout_s=1))
    assert [code for code, _ in _messages(registry)] == ["bad_tool_name", "bad_tool_name", "tool_conflict"]
    for question in (registry.contracts, registry.tools, lambda: registry.get("read_record")):
        with pytest.raises(RegistryRefused):
            question()


def test_a_conflict_stands_at_the_line_of_the_later_definition() -> None:
    """An editor can jump there."""
    registry = Registry()
    registry.add(_tool())
    registry.add(_tool(source="b.py:7", timeout_s=1))
    with pytest.raises(RegistryRefused) as refused:
        registry.seal()
    place = refused.value.faults[0].place
    assert (place.file, place.line) == ("b.py", 7)


def test_the_digest_covers_the_whole_surface() -> None:
    """Any change of a tool changes it; the place of a definition does not."""
    digests = []
    for settings, source in (({}, "a.py:1"), ({}, "b.py:2"), ({"timeout_s": 1}, "a.py:1")):
        registry = Registry()
        registry.add(_tool(source=source, **settings))
        digests.append(registry.digest)
    assert digests[0] == digests[1] != digests[2]
