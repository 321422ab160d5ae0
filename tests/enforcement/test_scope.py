"""Check 3: limited arguments stay inside what the contract lists; whatever a limit cannot judge it refuses."""

import time

import pytest

from harness.core.verdict import Code, Decision, Verdict
from harness.enforcement.limits import compile_limit
from harness.enforcement.pipeline import decide
from tests.enforcement.making import Facts, compiled, granted, limit, make_call

ANY = {"type": "object", "properties": {"x": {}, "record_id": {}}, "additionalProperties": False}


def _allows(kind: str, allowed: object, value: object) -> bool:
    return compile_limit(limit("x", kind, allowed)).allows(value)


def test_a_value_outside_is_refused_with_what_is_allowed() -> None:
    """The argument, its value, and the list."""
    surface = compiled(granted(limits=[limit("record_id", "one_of", [42, 43])]))
    assert decide(surface, make_call(record_id=43), Facts()).verdict.decision is Decision.ALLOW
    assert decide(surface, make_call(record_id=44), Facts()).verdict == Verdict(
        Decision.DENY,
        Code.OUT_OF_SCOPE,
        ("`record_id` of `update_record` is outside the contract's scope: `44`",),
        "`record_id` may be one of 42, 43",
    )


def test_every_broken_limit_is_told() -> None:
    """Two limits, two sentences, two hints."""
    surface = compiled(granted(limits=[limit("record_id", "max", 50), limit("text", "under", "notes/")]))
    verdict = decide(surface, make_call(record_id=51, text="/etc/passwd"), Facts()).verdict
    assert verdict.reasons == (
        "`record_id` of `update_record` is outside the contract's scope: `51`",
        "`text` of `update_record` is outside the contract's scope: `/etc/passwd`",
    )
    assert verdict.hint == "`record_id` may be at most 50; `text` may be a path under `notes/`, without `..`"


def test_a_limited_argument_that_is_left_out_is_refused() -> None:
    """Left out often means everything."""
    surface = compiled(granted(limits=[limit("text", "one_of", ["a"])]))
    verdict = decide(surface, make_call(record_id=1), Facts()).verdict
    assert (verdict.code, verdict.reasons) == (
        Code.OUT_OF_SCOPE,
        ("`text` of `update_record` is limited by the contract and must be given",),
    )


def test_a_schema_default_is_judged_and_passed_on() -> None:
    """What is judged is what the tool gets."""
    schema = {"type": "object", "properties": {"n": {"type": "integer", "default": 100}}}
    for most, decision in ((500, Decision.ALLOW), (50, Decision.DENY)):
        tool = granted(bound={}, input_schema=schema, limits=[limit("n", "max", most)])
        decided = decide(compiled(tool), make_call(), Facts())
        assert (decided.verdict.decision, dict(decided.call.arguments)) == (decision, {"n": 100})


@pytest.mark.parametrize(
    ("allowed", "value", "inside"),
    [
        ([42, 43], 42, True),
        ([42, 43], 42.0, True),
        ([42, 43], "42", False),
        ([1], True, False),
        ([True], 1, False),
        ([0], None, False),
        (["acme"], "acme", True),
        (["acme"], "Acme", False),
        (["acme"], "acme ", False),
        (["acme"], "acme\x00", False),
        ([{"a": 1}], {"a": 1}, True),
        ([{"a": 1}], {"a": 1, "b": 2}, False),
        ([42, 43], [42, 43], True),
        ([42, 43], [42, 44], False),
        ([42, 43], [], False),
        ([42, 43], [[42]], False),
        ([42], float("nan"), False),
        (["é"], "e\u0301", False),
    ],
)
def test_one_of_compares_values_of_json(allowed: list, value: object, inside: bool) -> None:
    """1 and 1.0 are equal, 1 and true are not; a list passes where each of its items does, and it has some."""
    assert _allows("one_of", allowed, value) is inside


@pytest.mark.parametrize(
    ("value", "inside"), [(["a", "b"], True), (["b", "a"], False), (["a"], False), ("a", False), ([], False)]
)
def test_equals_takes_the_whole_value(value: object, inside: bool) -> None:
    """A list is equal to a list, in its order."""
    assert _allows("equals", ["a", "b"], value) is inside


@pytest.mark.parametrize("prefix", ["retry/", "retry"])
@pytest.mark.parametrize(
    ("value", "inside"),
    [
        ("retry/a.py", True),
        ("retry/a/b.py", True),
        ("retry/a/", True),
        ("retry", False),
        ("retry/", False),
        ("retryx/a.py", False),
        ("retry/../a.py", False),
        ("retry/a/..", False),
        ("retry/./a.py", False),
        ("retry//a.py", False),
        ("/retry/a.py", False),
        ("./retry/a.py", False),
        ("Retry/a.py", False),
        ("retry/..\\a.py", False),
        ("retry/a\x00.py", False),
        ("retry/a\n.py", False),
        ("retry/%2e%2e/a.py", False),
        ("retry/..%2Fa.py", False),
        (["retry/a.py", "retry/b.py"], True),
        (["retry/a.py", "src/b.py"], False),
        (7, False),
        (None, False),
    ],
)
def test_under_is_strictly_below_and_has_no_way_up(prefix: str, value: object, inside: bool) -> None:
    """Whole segments; nothing that another reader may take for a step up."""
    assert _allows("under", prefix, value) is inside


def test_under_an_address() -> None:
    """The prefix holds scheme and host; a longer host is another host."""
    prefix = "https://api.example.com/v1"
    assert _allows("under", prefix, "https://api.example.com/v1/users")
    assert not _allows("under", prefix, "https://api.example.com/v1/../admin")
    assert not _allows("under", prefix, "https://api.example.com.evil.test/v1/users")
    assert not _allows("under", prefix, "https://api.example.com/v10")


@pytest.mark.parametrize(
    ("value", "inside"),
    [
        (499, True),
        (500, True),
        (501, False),
        (500.0, True),
        (500.0000001, False),
        ("500", True),
        ("500.00", True),
        ("500.01", False),
        ("499.99", True),
        ("5e9", False),
        ("five", False),
        ("٣", False),
        ("", False),
        ("9" * 65, False),
        (True, False),
        (None, False),
        (float("nan"), False),
        (float("inf"), False),
        (float("-inf"), False),
        ([1], False),
        (10**400, False),
    ],
)
def test_max_at_below_and_above(value: object, inside: bool) -> None:
    """Numbers and decimals as text, exactly; nothing else is a number."""
    assert _allows("max", 500, value) is inside


@pytest.mark.parametrize(
    ("pattern", "value", "inside"),
    [
        ("[a-z]+", "abc", True),
        ("[a-z]+", "abc1", False),
        ("[a-z]+", "1abc", False),
        ("[a-z]+", "abc\n", False),
        ("a|b", "a", True),
        ("a|b", "ax", False),
        ("a|b", "xb", False),
        ("[a-z]+", 5, False),
        ("[a-z]+", None, False),
        ("[a-z]+", ["ab", "cd"], True),
        ("[a-z]+", ["ab", "1"], False),
    ],
)
def test_match_takes_the_whole_text(pattern: str, value: object, inside: bool) -> None:
    """No prefix, no suffix, no line trick."""
    assert _allows("match", pattern, value) is inside


def test_a_pattern_that_explodes_is_bounded() -> None:
    """B23: refused at once, and the host goes on."""
    begun = time.perf_counter()
    assert not _allows("match", "(a+)+", "a" * 5_000 + "!")
    assert time.perf_counter() - begun < 1
