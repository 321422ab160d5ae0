"""Masks: labelled fields of other classes arrive as `[masked:CLASS]`, the rest as it was."""

import copy

import pytest

from harness.output.mask import mask, masked_classes

ROW = {"text": "t", "email": "a@b", "owner": {"email": "c@d", "name": "n", "phones": [{"no": 1}, {"no": 2}]}}


@pytest.mark.parametrize(
    ("labels", "allowed", "expected"),
    [
        ({}, (), ROW),
        ({"text": "internal"}, ("internal",), ROW),
        ({"text": "internal"}, (), {**ROW, "text": "[masked:internal]"}),
        (
            {"email": "pii"},
            ("internal",),
            {**ROW, "email": "[masked:pii]", "owner": {**ROW["owner"], "email": "[masked:pii]"}},
        ),
        ({"owner.email": "pii"}, (), {**ROW, "owner": {**ROW["owner"], "email": "[masked:pii]"}}),
        ({"$.owner.email": "pii"}, (), {**ROW, "owner": {**ROW["owner"], "email": "[masked:pii]"}}),
        ({"owner": "pii"}, (), {**ROW, "owner": "[masked:pii]"}),
        (
            {"owner.phones[].no": "pii"},
            (),
            {**ROW, "owner": {**ROW["owner"], "phones": [{"no": "[masked:pii]"}, {"no": "[masked:pii]"}]}},
        ),
        ({"*.name": "pii"}, (), {**ROW, "owner": {**ROW["owner"], "name": "[masked:pii]"}}),
        ({"$": "secret"}, (), "[masked:secret]"),
        ({"owner.name.first": "pii"}, (), ROW),
        ({"missing": "pii"}, (), ROW),
    ],
    ids=[
        "no labels",
        "allowed",
        "one",
        "any depth",
        "one path",
        "rooted",
        "a branch",
        "through lists",
        "any field",
        "whole",
        "below a text",
        "absent",
    ],
)
def test_labelled_fields_are_masked(labels, allowed, expected):
    """The value is exactly as expected, and the original is untouched."""
    before = copy.deepcopy(ROW)
    assert mask(ROW, labels, frozenset(allowed)) == expected
    assert before == ROW


def test_lists_are_looked_through():
    """A list of rows is masked row by row."""
    assert mask([{"a": 1}, {"a": None}, 3], {"a": "pii"}, ()) == [{"a": "[masked:pii]"}, {"a": "[masked:pii]"}, 3]


def test_what_has_no_label_is_not_copied():
    """A value that nothing hides comes back as the same object."""
    value = {"rows": [{"b": 1}] * 3}
    assert mask(value, {"a": "pii"}, ()) is value


def test_of_two_labels_the_hidden_one_wins():
    """A field that is reached by two labels is masked where either class is not listed."""
    assert mask({"o": {"a": 1}}, {"a": "internal", "o.a": "pii"}, {"internal"}) == {"o": {"a": "[masked:pii]"}}


def test_masked_classes_are_named():
    """What a report can say of a tool's masks."""
    assert masked_classes({"a": "pii", "b": "internal", "c": "pii"}, {"internal"}) == ("pii",)
