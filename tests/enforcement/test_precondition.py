"""Check 4: the tool's own precondition over the arguments; an error is never true."""

import pytest

from harness.core.verdict import ALLOW, Code, Decision, Verdict
from harness.enforcement.pipeline import decide
from tests.enforcement.making import Facts, compiled, granted, make_call


@pytest.mark.parametrize(("record_id", "holds"), [(1, True), (0, True), (-1, False)])
def test_it_is_judged_over_the_arguments(record_id: int, holds: bool) -> None:
    """At the limit, above, below."""
    surface = compiled(granted(precondition="args.record_id >= 0"))
    refused = Verdict(
        Decision.DENY,
        Code.PRECONDITION_FAILED,
        ("the precondition of `update_record` does not hold",),
        "the arguments must make this true: args.record_id >= 0",
    )
    assert decide(surface, make_call(record_id=record_id), Facts()).verdict == (ALLOW if holds else refused)


def test_it_sees_the_bound_values() -> None:
    """The arguments are those that the tool gets."""
    surface = compiled(granted(precondition="args.tenant == 'acme'"))
    assert decide(surface, make_call(record_id=1), Facts()).verdict == ALLOW


def test_an_error_is_a_refusal() -> None:
    """An integer beyond 64 bits cannot be judged: the call does not pass."""
    surface = compiled(granted(precondition="args.record_id >= 0"))
    verdict = decide(surface, make_call(record_id=2**70), Facts()).verdict
    assert (verdict.decision, verdict.code) == (Decision.DENY, Code.PRECONDITION_FAILED)
    assert verdict.reasons == ("the precondition of `update_record` could not be judged",)
