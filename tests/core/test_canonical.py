"""The canonical form: RFC 8785, our one extension, and what has no canonical form."""

import json
import struct
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core import canonical as module
from harness.core.canonical import MAX_DEPTH, canonical, digest, utf16_order
from harness.core.errors import HostileInput

NUMBERS = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]
"""RFC 8785, appendix B: IEEE 754 bits in hex, and the text."""


@pytest.mark.parametrize(("bits", "text"), NUMBERS)
def test_numbers_are_written_as_rfc_8785_appendix_b_has_them(bits: str, text: str) -> None:
    """F04: ECMAScript's shortest round-tripping form."""
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(value) == text.encode()


def test_the_example_of_rfc_8785_section_3_2_2() -> None:
    """F04: numbers, escapes and literals in one object."""
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '\u20ac$\u000f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical(value) == expected.encode()


def test_names_are_sorted_by_utf_16_code_units() -> None:
    """F04: the example of RFC 8785 section 3.2.3: an astral name sorts before a late name of the basic plane."""
    value = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }
    names = list(json.loads(canonical(value)))
    assert names == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    assert names == sorted(value, key=utf16_order)


def test_the_case_of_four_odd_names_in_any_order() -> None:
    """F04: order of insertion does not count, -0.0 is 0, 1.0 is 1, 1e-7 keeps its exponent."""
    pairs = [("é", 1), ("€", 1.0), ("😀", 1e-7), ("a", -0.0)]
    expected = '{"a":0,"é":1,"€":1,"😀":1e-7}'.encode()
    assert canonical(dict(pairs)) == expected
    assert canonical(dict(reversed(pairs))) == expected


def test_composed_and_decomposed_text_stay_different() -> None:
    """F04: no normalisation: NFC and NFD are two texts."""
    assert canonical("\u00e9") != canonical("e\u0301")


def test_integers_beyond_2_53_keep_their_digits() -> None:
    """The documented extension: a float could not tell these two apart."""
    assert canonical([2**53, 2**53 + 1, -(10**30)]) == b"[9007199254740992,9007199254740993,-" + b"1" + b"0" * 30 + b"]"


def test_escapes_that_stand_in_the_text_itself_are_kept() -> None:
    """Two texts that differ in the case of a written escape are two texts, with and without a number beside them."""
    assert canonical(["\\u00AB", 1.5]) == b'["\\\\u00AB",1.5]'
    assert canonical(["\\u00AB"]) == b'["\\\\u00AB"]'


@pytest.mark.parametrize(
    ("value", "code", "message"),
    [
        ({"r": float("nan")}, "not_finite", "$.r is `nan`, which JSON lacks"),
        ([1, float("inf")], "not_finite", "$[1] is `inf`, which JSON lacks"),
        ({"a": ["\ud83d"]}, "surrogate", "$.a[0] holds a lone surrogate, which is not a character"),
        ({"\ud83d": 1}, "surrogate", "$ holds a lone surrogate, which is not a character"),
        ({"a": {1, 2}}, "not_json", "$.a has the type `set`, which JSON lacks"),
        ({1: "a"}, "not_json", "$ has a key of type `int`, keys are text"),
        (b"bytes", "not_json", "$ has the type `bytes`, which JSON lacks"),
        (1 << 10_000, "number_too_long", "$ is an integer of more than 10,000 bits"),
    ],
)
def test_what_json_lacks_is_refused_with_its_place(value: object, code: str, message: str) -> None:
    """C11, C12: not a number, infinities, lone surrogates and foreign types, each with its path."""
    with pytest.raises(HostileInput) as refused:
        canonical(value)
    assert (refused.value.code, refused.value.message) == (code, message)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 5_000])
@pytest.mark.parametrize("leaf", [1, 1.5])
def test_depth_is_refused_before_the_interpreter_gives_up(depth: int, leaf: object) -> None:
    """G04: one level more than the limit, and far more."""
    value = leaf
    for _ in range(depth):
        value = [value]
    with pytest.raises(HostileInput) as refused:
        canonical(value)
    assert refused.value.code == "too_deep"


@pytest.mark.parametrize("leaf", [1, 1.5])
def test_the_deepest_allowed_value_is_written(leaf: object) -> None:
    """The limit itself passes."""
    value = leaf
    for _ in range(MAX_DEPTH):
        value = [value]
    assert canonical(value).count(b"[") == MAX_DEPTH


def _values(floats: st.SearchStrategy[float]) -> st.SearchStrategy[object]:
    return st.recursive(
        st.none() | st.booleans() | st.integers() | floats | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=20,
    )


json_values = _values(st.floats(allow_nan=False, allow_infinity=False))
small_values = _values(st.floats(-(2**53), 2**53))


@given(json_values)
def test_the_form_survives_a_round_trip(value: object) -> None:
    """Reading the form and writing it again changes nothing."""
    text = canonical(value)
    assert canonical(json.loads(text)) == text


@given(json_values)
def test_the_fast_way_writes_what_the_careful_way_writes(value: object) -> None:
    """Whatever the fast way takes on, it writes as RFC 8785 has it."""
    assert canonical(value) == module._careful(value)


@given(small_values)
def test_the_form_is_the_value(value: object) -> None:
    """A JSON reader gets the value back, numbers compared as numbers; large whole floats are written as integers."""
    assert msgspec.json.decode(canonical(value)) == json.loads(json.dumps(value))


def test_a_digest_frames_its_values() -> None:
    """Two values never run together into one."""
    assert digest("a", "b") != digest("ab")
    assert digest("a", "b") != digest(["a", "b"])
    assert digest({"a": 1.0, "b": [True]}) == "494b58a8d6c9308051753536c7eb527d0c44fea0cf56be7ce476a988818ccb7b"


def test_digests_are_equal_in_another_process() -> None:
    """F04: nothing of a process (hash seed, order of insertion) shows in a digest."""
    program = "from harness.core.canonical import digest; print(digest({'é': 1, 'b': [1.5, {'x': None, 'a': 2**70}]}))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert seen == {digest({"b": [1.5, {"a": 2**70, "x": None}], "é": 1}) + "\n"}
