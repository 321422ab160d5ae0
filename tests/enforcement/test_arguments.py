"""Check 2: every argument that does not fit is named, in our words, with what is valid."""

import pytest

from harness.core.call import Effect
from harness.core.verdict import Code, Decision, Verdict
from harness.enforcement.pipeline import Decided, decide
from tests.enforcement.making import Facts, compiled, granted, make_call

PARAMETERS = "parameters: record_id: integer, text: string (optional), operation_id: string (optional)"


def _decide(*, tool=None, **arguments) -> Decided:
    return decide(compiled(tool or granted()), make_call(**arguments), Facts())


def _refusal(*reasons: str, hint: str = PARAMETERS) -> Verdict:
    return Verdict(Decision.DENY, Code.BAD_ARGUMENTS, reasons, hint)


def test_bound_values_are_added_for_the_tool() -> None:
    """The snippet never sees them; the tool gets them."""
    decided = _decide(record_id=42)
    assert dict(decided.call.arguments) == {"record_id": 42, "tenant": "acme"}
    assert decided.verdict.decision is Decision.ALLOW


def test_a_misspelt_argument_is_answered_with_the_right_one() -> None:
    """C29: the wrong name, the missing one, the suggestion, all valid parameters."""
    assert _decide(recordid=42).verdict == _refusal(
        "`update_record` has no parameter `recordid`",
        "`update_record` needs `record_id`",
        hint=f"for `recordid` did you mean `record_id`? {PARAMETERS}",
    )


def test_a_missing_argument_is_named() -> None:
    """And nothing else is said of it."""
    assert _decide(text="x").verdict == _refusal("`update_record` needs `record_id`")


def test_a_wrong_type_is_told_with_path_expected_and_got() -> None:
    """C29: in the harness's words, not a library's."""
    verdict = _decide(record_id="42").verdict
    assert verdict == _refusal('`record_id`: expected integer, got string `"42"`')


def test_a_bound_argument_cannot_be_sent() -> None:
    """It is gone from the signature; even the right value is refused."""
    for value in ("acme", "evil"):
        assert _decide(record_id=42, tenant=value).verdict == _refusal(
            "`tenant` of `update_record` is set by the contract", hint=f"leave it out; {PARAMETERS}"
        )


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("nan"), "argument record_id is `nan`, which JSON lacks"),
        (float("inf"), "argument record_id is `inf`, which JSON lacks"),
        ("\ud83d", "argument record_id holds a lone surrogate, which is not a character"),
        ({1, 2}, "argument record_id has the type `set`, which JSON lacks"),
    ],
)
def test_what_json_lacks_is_refused_with_its_place(value: object, reason: str) -> None:
    """C09, C11, C12: arguments that have no canonical form have no digest either."""
    assert _decide(record_id=value).verdict == _refusal(reason)


def test_deep_arguments_are_refused() -> None:
    """G04: 5,000 levels are one denial, not a crash."""
    value: object = 1
    for _ in range(5_000):
        value = [value]
    verdict = _decide(record_id=value).verdict
    assert (verdict.decision, verdict.code) == (Decision.DENY, Code.BAD_ARGUMENTS)


def test_only_so_many_faults_are_told() -> None:
    """Eight, and how many more."""
    verdict = _decide(record_id=1, **{f"wrong_{number}": 1 for number in range(20)}).verdict
    assert len(verdict.reasons) == 9
    assert verdict.reasons[-1] == "and 12 more"


def test_the_effect_is_known_even_where_the_arguments_are_not() -> None:
    """The report shows what kind of call was refused."""
    assert _decide(tool=granted(effect=Effect.DESTRUCTIVE), record_id="x").call.effect is Effect.DESTRUCTIVE


def test_an_open_schema_lets_other_names_through() -> None:
    """Where a source says that more is allowed, more is allowed."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    tool = granted(bound={}, input_schema=schema)
    assert _decide(tool=tool, b=1).verdict.decision is Decision.ALLOW
    assert _decide(tool=tool, a="x", b=1).verdict.reasons == ('`a`: expected integer, got string `"x"`',)


def test_a_decided_call_is_decided_again_with_todays_bound_values() -> None:
    """After a wait the call carries the values of then: today's take their place."""
    first = _decide(record_id=42).call
    again = decide(compiled(granted(bound={"tenant": "other"})), first, Facts())
    assert dict(again.call.arguments) == {"record_id": 42, "tenant": "other"}
    assert again.verdict.decision is Decision.ALLOW
    assert again.call.digest != first.digest
