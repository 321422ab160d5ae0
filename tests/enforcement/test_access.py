"""Check 1: what is not listed does not exist, and the refusal teaches only what is listed."""

import pytest

from harness.core.verdict import Code, Decision, Verdict
from harness.enforcement.pipeline import decide, refusal
from tests.enforcement.making import Facts, compiled, granted, make_call


def _verdict(tool: str, *names: str) -> Verdict:
    return decide(compiled(*(granted(name) for name in names)), make_call(tool, record_id=1), Facts()).verdict


def test_an_unlisted_tool_and_an_unknown_one_get_the_same_answer() -> None:
    """Whether a tool exists elsewhere is not told: the code knows only what is listed."""
    assert _verdict("delete_all", "read_record") == Verdict(
        Decision.DENY, Code.UNLISTED, ("there is no tool `delete_all` here",), "tools here: `read_record`"
    )


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("serch", "search"),
        ("Search", "search"),
        ("updaterecord", "update_record"),
        ("get-sum", "get_sum"),
        ("notion.fetch", "Notion__fetch"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest_listed_ones(asked: str, meant: str) -> None:
    """C29: the suggestion comes first, then all that there is."""
    names = ("Notion__fetch", "get_sum", "search", "update_record")
    verdict = _verdict(asked, *names)
    assert verdict.reasons == (f"there is no tool `{asked}` here",)
    assert verdict.hint.startswith(f"did you mean `{meant}`")
    assert verdict.hint.endswith("tools here: `Notion__fetch`, `get_sum`, `search`, `update_record`")


def test_names_are_compared_whole() -> None:
    """A23: a name that merely begins like a listed one is another tool."""
    assert _verdict("update_record_all", "update_record").code is Code.UNLISTED
    assert _verdict("update", "update_record").code is Code.UNLISTED


def test_a_contract_without_tools_says_so() -> None:
    """An empty surface refuses everything."""
    assert _verdict("search").hint == "this contract lists no tools"


def test_a_large_surface_is_counted_not_listed() -> None:
    """Twenty names and how many more."""
    hint = _verdict("zzz", *(f"tool_{number:02}" for number in range(25))).hint
    assert hint.startswith("tools here: `tool_00`, ")
    assert hint.endswith("`tool_19` and 5 more")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("a`b", "`a\\u0060b`"),
        ("a\nb\x1b[31m", "`a\\u000ab\\u001b[31m`"),
        ("x\u202ey", "`x\\u202ey`"),
        ("\ud83d", "`\\ud83d`"),
        ("n" * 1000, "`" + "n" * 79 + "…`"),
        ("", "``"),
    ],
)
def test_a_hostile_name_is_shown_safely(asked: str, told: str) -> None:
    """One line, no control characters, no lone surrogates, cut; the wire's error object as well (C12)."""
    call = make_call(asked)
    verdict = decide(compiled(granted()), call, Facts()).verdict
    assert verdict.reasons == (f"there is no tool {told} here",)
    assert len(refusal(call, verdict)["tool"]) <= 80
