"""The output is held against its schema on the host, and what does not fit is said with path, expected and got."""

import pytest

from harness.contract.schema import compile_schema
from harness.output.validate import MAX_FAULTS, validate

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "integer"}},
    "required": ["answer"],
    "additionalProperties": False,
}


def test_a_value_that_fits_has_no_fault():
    """Empty means: it fits."""
    assert validate({"answer": 5}, compile_schema(SCHEMA)) == ()


def test_prose_is_no_answer():
    """G08: a sentence where an object was promised is a mismatch with path and words of our own."""
    (fault,) = validate("The answer is 5", compile_schema(SCHEMA))
    assert (fault.path, fault.expected, fault.got) == ("$", "object", 'string `"The answer is 5"`')
    assert fault.message == 'expected object, got string `"The answer is 5"`'


@pytest.mark.parametrize("value", [{"answer": "5"}, {"answer": 5, "more": 1}, {}, None, [], float("nan"), object()])
def test_what_does_not_fit_is_never_empty(value):
    """G01, C11: wrong types, extra fields, missing ones, and what is no JSON at all."""
    assert len(validate(value, compile_schema(SCHEMA))) >= 1


def test_faults_are_bounded():
    """A table of wrong rows gives one screen, not a hundred thousand lines."""
    wrong = compile_schema({"type": "array", "items": {"type": "integer"}})
    assert len(validate(["x"] * 10_000, wrong)) == MAX_FAULTS


def test_a_validator_that_cannot_say_why_still_refuses():
    """Fail closed: no fault to show is not a fit."""

    class Mute:
        def ok(self, value):
            return False

        def faults(self, value):
            return []

    assert [fault.message for fault in validate(1, Mute())] == ["the value does not fit the schema"]
