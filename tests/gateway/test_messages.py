"""What a frame says: the shared vectors, in both directions."""

import json

import msgspec
import pytest

from harness.core.call import Answer
from harness.core.errors import HostileInput
from harness.gateway.frames import WireLimits
from harness.gateway.messages import CallFrame, Start, encode_answer, encode_start, encode_stop, parse
from tests.vectors import vectors

LIMITS = WireLimits()
VECTORS = vectors("messages")


@pytest.mark.parametrize("vector", VECTORS["box"], ids=lambda vector: vector["name"])
def test_a_message_of_the_box_is_what_it_says(vector) -> None:
    """Every message of the wire arrives with all its members."""
    message = parse(vector["text"].encode("utf-8"), LIMITS)
    assert msgspec.to_builtins(message) == vector["message"]


@pytest.mark.parametrize("vector", VECTORS["host"], ids=lambda vector: vector["name"])
def test_an_answer_goes_out_as_it_stands_in_the_vectors(vector) -> None:
    """The body of an answer goes in as it is: what is journalled is what was sent."""
    answer = Answer(vector["ok"], vector["body"].encode("utf-8"))
    assert encode_answer(vector["id"], answer, vector["at"]) == vector["text"].encode("utf-8")


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda vector: vector["name"])
def test_a_frame_that_breaks_a_rule_is_refused(vector) -> None:
    """C10, C11, C12, C27, G02: strict JSON of the wire's own shapes, and nothing else."""
    _refused(vector["text"].encode("utf-8"), vector["code"])


@pytest.mark.parametrize("vector", VECTORS["refused_bytes"], ids=lambda vector: vector["name"])
def test_bytes_that_are_no_text_are_refused(vector) -> None:
    """C10: pickles, other protocols and broken UTF-8."""
    _refused(bytes.fromhex(vector["hex"]), vector["code"])


def _refused(frame: bytes, code: str) -> None:
    with pytest.raises(HostileInput) as caught:
        parse(frame, LIMITS)
    assert (caught.value.code, caught.value.head) == (code, frame[:200])
    assert "\n" not in caught.value.message


def test_a_deep_value_is_refused_before_it_is_decoded() -> None:
    """G04: 100,000 nested lists cost a count of brackets."""
    _refused(b'{"t":"result","value":' + b"[" * 100_000 + b"]" * 100_000 + b',"none":false}', "too_deep")


def test_a_value_at_the_depth_limit_arrives() -> None:
    """Ninety-nine levels of a result, and the message around them."""
    frame = b'{"t":"result","value":' + b"[" * 99 + b"]" * 99 + b',"none":false}'
    assert json.dumps(parse(frame, LIMITS).value).count("[") == 99


def test_spaces_and_escapes_are_json_too() -> None:
    """A frame that is not written as the box writes it is read key by key, and is right all the same."""
    frame = b' {"t": "call", "id": 1, "task": "0", "tool": "\\u0078", "args": {"a": 1e2, "b": 1E-7}}'
    assert parse(frame, LIMITS) == CallFrame(1, "0", "x", {"a": 100.0, "b": 1e-7})


def test_an_integer_keeps_every_digit_up_to_the_limit() -> None:
    """A thousand digits pass exactly, one more is refused."""
    frame = b'{"t":"result","value":%b,"none":false}'
    assert parse(frame % (b"9" * 1000), LIMITS).value == 10**1000 - 1
    _refused(frame % (b"9" * 1001), "number_too_long")


def test_a_start_is_one_object_with_its_tag() -> None:
    """The box finds every member by its name."""
    start = Start("t", "r", 1, 2, "plain", ["json"], "AA==", "1", {"source": ""}, {"x": 1}, [None], {"calls": 1}, {})
    assert json.loads(encode_start(start)) == {
        "t": "start",
        "token": "t",
        "run": "r",
        "iteration": 1,
        "attempt": 2,
        "language": "plain",
        "imports": ["json"],
        "code": "AA==",
        "source": "1",
        "tools": {"source": ""},
        "inputs": {"x": 1},
        "previous": [None],
        "budget": {"calls": 1},
        "chance": {},
    }


def test_a_stop_is_a_tag_alone() -> None:
    """Nothing else is said."""
    assert encode_stop() == b'{"t":"stop"}'
