"""Errors in the box: a failed call always raises, with code, sentence and hint."""

import pytest

from tool_stubs.runtime import errors


def _wire(kind: str, **data):
    return {"kind": kind, "code": "c", "tool": "t", "message": "it failed", "hint": "do that", "data": data}


@pytest.mark.parametrize("kind", sorted(errors.KINDS))
def test_every_kind_of_the_wire_has_its_class(kind: str) -> None:
    """C05: the text never comes as a value."""
    error = errors.from_wire(_wire(kind, a=1))
    assert type(error) is errors.KINDS[kind]
    assert (error.code, error.tool, error.message, error.hint, error.data) == (
        "c",
        "t",
        "it failed",
        "do that",
        {"a": 1},
    )
    assert str(error) == "it failed (do that)"


def test_an_unknown_kind_fails_too() -> None:
    """A newer host's word is never a success."""
    assert type(errors.from_wire({"kind": "New", "data": 5})) is errors.ToolFailed


def test_a_declared_error_class_is_raised_by_its_own_name() -> None:
    """`except StaleVersion` works, and so does `except ToolFailed`."""
    stale = errors.declare(["StaleVersion"])["StaleVersion"]
    error = errors.from_wire(_wire("ToolFailed", error_type="StaleVersion"))
    assert type(error) is stale
    assert isinstance(error, errors.ToolFailed)
    assert error.error_type == "StaleVersion"


def test_only_a_failure_takes_a_declared_class() -> None:
    """An ending that nobody saw stays unknown, whatever was raised."""
    errors.declare(["StaleVersion"])
    assert type(errors.from_wire(_wire("OutcomeUnknown", error_type="StaleVersion"))) is errors.OutcomeUnknown


def test_a_partial_result_says_what_is_done_and_what_is_left() -> None:
    """Both as the tool said them."""
    error = errors.from_wire(_wire("PartialResult", value={"done": [1], "left": [2]}))
    assert (error.done, error.left) == ([1], [2])


def test_the_end_of_the_budget_is_not_an_exception_that_handlers_swallow() -> None:
    """`except Exception` does not catch it."""
    assert not issubclass(errors.BudgetExhausted, Exception)
    assert not issubclass(errors.BudgetExhausted, errors.ToolError)
