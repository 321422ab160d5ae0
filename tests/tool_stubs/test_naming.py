"""Names: every wire name gets one predictable Python name, and no two share one."""

import keyword

import pytest

from tests.tool_stubs.making import Box, item
from tool_stubs.generate import tool_names
from tool_stubs.naming import class_name, fold_parameters, fold_tool
from tool_stubs.problem import StubRefused


@pytest.mark.parametrize(
    ("wire", "python"),
    [
        ("get-sum", "get_sum"),
        ("calendar.respond", "calendar_respond"),
        ("Notion__fetch", "Notion__fetch"),
        ("a/b", "a_b"),
        ("2fa", "n2fa"),
        ("_private", "private"),
        ("list", "list_"),
        ("class", "class_"),
        ("Any", "Any_"),
        ("ToolError", "ToolError_"),
        ("é", "é"),
        ("ﬁle", "file"),
        ("get user!", "get_user"),
        ("☃", "tool"),
        ("x" * 80, "x" * 80),
    ],
)
def test_a_tool_name_folds_predictably(wire: str, python: str) -> None:
    """C16: dashes, dots, slashes, digits, keywords, builtins, long and odd names all become usable identifiers."""
    assert fold_tool(wire) == python
    assert python.isidentifier()
    assert not keyword.iskeyword(python)


def test_parameters_keep_their_own_names_where_python_can_write_them() -> None:
    """C15: `id` and `list` stay; keywords, dashes, digits and the empty name get one that is not taken."""
    names = ["id", "list", "from", "from_", "class", "cik-A", "cik_A", "User-Agent", "2fa", "", "é", "𝐱"]
    assert fold_parameters(names) == {
        "id": "id",
        "list": "list",
        "from": "from_2",
        "from_": "from_",
        "class": "class_",
        "cik-A": "cik_A_2",
        "cik_A": "cik_A",
        "User-Agent": "User_Agent",
        "2fa": "n2fa",
        "": "argument",
        "é": "é",
        "𝐱": "x",
    }


def test_two_tools_that_fold_to_one_name_are_refused() -> None:
    """C17: neither silently takes the place of the other."""
    with pytest.raises(StubRefused) as refused:
        tool_names(["get-user", "get_user"])
    assert str(refused.value) == "tool `get_user`, name: folds to `get_user`, as `get-user` does"


def test_the_wire_name_of_an_argument_travels_unchanged() -> None:
    """C15: by its Python name, by `**`, and by position."""
    schema = {"type": "object", "properties": {"from": {"type": "string"}}, "required": ["from"]}
    box = Box(item("a-b", parameters=schema))
    box.a_b("x")
    box.a_b(from_="y")
    box.a_b(**{"from": "z"})
    assert box.calls == [("a-b", {"from": "x"}), ("a-b", {"from": "y"}), ("a-b", {"from": "z"})]


def test_a_tool_with_the_name_of_a_builtin_is_found_under_both_names() -> None:
    """`from tools import list_` is what the catalogue shows; `list` works where it is asked for."""
    box = Box(item("list"))
    assert box.module["list"] is box.module["list_"]
    assert "list" not in box.module["__all__"]


def test_class_names_are_made_of_the_words() -> None:
    """Parts are joined in capitals."""
    assert class_name("search", "filter_by") == "SearchFilterBy"
    assert class_name("2fa-code") == "N2faCode"
    assert class_name("☃") == "Value"
