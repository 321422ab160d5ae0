"""YAML in its 1.2 meanings, with lines, and with nothing that hides what a document says."""

import math
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.contract.document import MAX_DEPTH, Places
from harness.contract.load import load_contract, parse_document
from harness.core.errors import ContractRefused, Fault, Place
from tests.contract.making import FULL, TOOLS, faults_of, short


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("No", "No"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("1:30", "1:30"),
        ("2026-12-01", "2026-12-01"),
        ("2026-12-01T10:00:00Z", "2026-12-01T10:00:00Z"),
        ("1e5", 100_000.0),
        ("1.5e3", 1_500.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("50_000", 50_000),
        ("1_000.5", 1_000.5),
        ("+7", 7),
        ("-7", -7),
        ("007", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b11", "0b11"),
        ("1__0", "1__0"),
        ("_1", "_1"),
        ("~", None),
        ("null", None),
        ("", None),
        ("nil", "nil"),
        ("'42'", "42"),
        ('"true"', "true"),
        ("!", None),
        ("=", "="),
        ("<<", "<<"),
        ("2026Q3", "2026Q3"),
        ("1e999", math.inf),
        (".inf", math.inf),
        ("-.inf", -math.inf),
    ],
)
def test_scalars_have_their_meaning_of_yaml_1_2(text: str, value: object) -> None:
    """`on` is text, `1:30` is text, a date is text, `1e5` is a number, `50_000` is one too."""
    if text == "!":
        assert short(faults_of(parse_document, "a: !", "c.yaml")) == [("yaml_tag", 1, "a")]
        return
    assert parse_document(f"a: {text}\n", "c.yaml").values == {"a": value}


def test_every_key_and_item_has_its_line() -> None:
    """Lines are what a fault is found by."""
    document = parse_document("a:\n  b: 1\n  c:\n    - x\n    - {y: 2,\n       z: 3}\n", "c.yaml")
    assert dict(document.places.lines) == {
        "": 1,
        "a": 1,
        "a.b": 2,
        "a.c": 3,
        "a.c[0]": 4,
        "a.c[1]": 5,
        "a.c[1].y": 5,
        "a.c[1].z": 6,
    }


def test_a_key_that_is_not_there_stands_at_its_parent() -> None:
    """A missing key is told at the line of what should hold it."""
    places = Places("c.yaml", {"": 1, "a": 4, "a.b[0]": 7})
    assert [places.of(key).line for key in ("a.b[0].c.d", "a.x", "q", "")] == [7, 4, 1, 1]


def test_every_duplicate_is_named_with_the_first() -> None:
    """Duplicate keys are refused at every level, all of them at once."""
    faults = faults_of(parse_document, "a: 1\nb: {c: 1, c: 2}\na: 3\n", "c.yaml")
    assert faults == [
        Fault("duplicate_key", "the key `c` stands twice", "the first is on line 2", Place("c.yaml", 2, 11, "b.c")),
        Fault("duplicate_key", "the key `a` stands twice", "the first is on line 1", Place("c.yaml", 3, 1, "a")),
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a: &x 1", "yaml_anchor"),
        ("a: &x [1]\nb: *x", "yaml_anchor"),
        ("<<: {a: 1}", "yaml_anchor"),
        ("a: !!str 1", "yaml_tag"),
        ("? [a]\n: 1", "bad_key"),
        ("a: " + "9" * 5_000, "bad_amount"),
        ("a: 1\n b: 2", "bad_yaml"),
        ('a: "\\U00110000"', "bad_yaml"),
        ("a: \x00", "bad_yaml"),
        ("%YAML 9.9\n---\na: 1", "bad_yaml"),
    ],
)
def test_what_hides_the_meaning_is_refused(text: str, code: str) -> None:
    """No anchors, no tags, no merges, no keys that are not text, no numbers without end."""
    assert code in [fault.code for fault in faults_of(parse_document, text, "c.yaml")]


def test_depth_and_size_are_bounded() -> None:
    """A document of 64 levels loads, one more does not; a bomb of values does not."""
    assert parse_document("[" * MAX_DEPTH + "]" * MAX_DEPTH, "c.yaml")
    assert short(faults_of(parse_document, "[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2), "c.yaml")) == [
        ("bad_yaml", 0, "")
    ]
    assert short(faults_of(parse_document, "[" + "1," * 100_001 + "]", "c.yaml")) == [("bad_yaml", 0, "")]


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_any_text_loads_or_is_refused(text: str) -> None:
    """Whatever stands in a file, nothing but a refusal is raised."""
    with suppress(ContractRefused):
        parse_document(text, "c.yaml")
    with suppress(ContractRefused):
        parse_document(text, "c.json")


@settings(max_examples=300, deadline=None)
@given(
    st.integers(0, len(FULL) - 1), st.integers(0, 40), st.text(":{}[]-#&*!|>'\"%@`\n\t ,?${}0e.\x00\ud800é", max_size=6)
)
def test_any_damaged_contract_loads_or_is_refused(at: int, cut: int, put: str) -> None:
    """The worked example with a cut and something put there: still nothing but a refusal."""
    with suppress(ContractRefused):
        values = parse_document(FULL[:at] + put + FULL[at + cut :], "c.yaml").values
        load_contract(values if isinstance(values, dict) else {}, tools=TOOLS)
