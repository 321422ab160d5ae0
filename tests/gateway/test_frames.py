"""The host's frames: the shared vectors, and sizes that are judged before anything is decoded."""

import contextlib
import time

import pytest

from harness.core.errors import HostileInput
from harness.gateway.frames import Decoder, WireLimits, check_size, encode
from tests.vectors import vectors

SMALL = WireLimits(depth=3, members=8, string_chars=20, number_chars=10)


@pytest.mark.parametrize("vector", vectors("frames"), ids=lambda vector: vector["name"])
def test_the_host_cuts_a_stream_as_the_vectors_say(vector) -> None:
    """Every way in which a stream can arrive gives the same frames, and a bad length ends it after them."""
    decoder = Decoder(WireLimits(frame_bytes=vector["limit"]))
    frames, code = [], ""
    try:
        for chunk in vector["chunks"]:
            frames += [frame.hex() for frame in decoder.feed(memoryview(bytes.fromhex(chunk)))]
        decoder.feed(b"")
    except HostileInput as error:
        code = error.code
    assert (frames, code) == (vector["frames"], vector.get("error", ""))
    assert decoder.pending == vector.get("pending", 0)


def test_an_announced_gigabyte_is_refused_on_its_length_with_its_head() -> None:
    """Four bytes are enough to refuse; nothing of that size is ever held."""
    with pytest.raises(HostileInput) as caught:
        Decoder(WireLimits()).feed((1 << 30).to_bytes(4, "big") + b"abc")
    assert str(caught.value) == "a frame of 1073741824 bytes was announced, 8388608 are taken"
    assert caught.value.head == b"\x40\x00\x00\x00abc"


def test_a_frame_is_encoded_with_its_length_before_it() -> None:
    """Four bytes, big-endian."""
    assert encode(b"{}" * 200) == b"\x00\x00\x01\x90" + b"{}" * 200


def test_a_frame_of_nothing_cannot_be_encoded() -> None:
    """The other end would refuse it."""
    with pytest.raises(ValueError, match="a frame has at least one byte"):
        encode(b"")


AT_THE_LIMIT = {
    "depth": b"[[[1]]]",
    "depth beside each other": b"[[],[],[],[]]",
    "brackets in a text": b'"[[[[[[{{"',
    "brackets after an escaped quote": b'["\\"[[[[[["]',
    "members": b"[1,2,3,4,5,6,7,8]"[:-3] + b"]",
    "commas in a text": b'",,,,,,,,,,,,"',
    "number": b"[1234567890]",
    "digits in a text": b'"12345678901234"',
    "text": b'"12345678901234567890"',
}


@pytest.mark.parametrize("frame", AT_THE_LIMIT.values(), ids=AT_THE_LIMIT.keys())
def test_a_frame_at_its_limits_passes(frame) -> None:
    """Structure counts, and not what only looks like it inside a text."""
    check_size(frame, SMALL)


BEYOND = {
    "depth": (b"[[[[1]]]]", "too_deep", "the frame is nested deeper than 3 levels"),
    "depth that is never closed": (b"[[[[", "too_deep", "the frame is nested deeper than 3 levels"),
    "objects": (b'{"a":{"a":{"a":{"a":1}}}}', "too_deep", "the frame is nested deeper than 3 levels"),
    "depth after a text": (b'["]]]]",[[[1]]]]', "too_deep", "the frame is nested deeper than 3 levels"),
    "depth after an escape": (b'["\\\\",[[[1]]]]', "too_deep", "the frame is nested deeper than 3 levels"),
    "members": (b"[1,2,3,4,5,6,7,8,9]", "too_many_members", "the frame has more than 8 members"),
    "empty objects": (b"[" + b"{}," * 8 + b"{}]", "too_many_members", "the frame has more than 8 members"),
    "number": (b"[12345678901]", "number_too_long", "a number is longer than 10 characters"),
    "number of zeros and an exponent": (b"[1.00000000e5]", "number_too_long", "a number is longer than 10 characters"),
    "text": (b'"123456789012345678901"', "string_too_long", "a text is longer than 20 bytes"),
    "text that never ends": (b'"1234567890123456789012', "string_too_long", "a text is longer than 20 bytes"),
}  # fmt: skip


@pytest.mark.parametrize(("frame", "code", "message"), BEYOND.values(), ids=BEYOND.keys())
def test_a_frame_beyond_a_limit_is_refused(frame, code, message) -> None:
    """Each limit, one above."""
    with pytest.raises(HostileInput) as caught:
        check_size(frame, SMALL)
    assert (caught.value.code, str(caught.value), caught.value.head) == (code, message, frame[:200])


FLOODS = {
    "100,000 nested lists": b"[" * 100_000 + b"]" * 100_000,
    "100,000 open lists": b"[" * 100_000,
    "8 MB of lists": b"[" + b"[]," * 2_700_000 + b"1]",
    "8 MB of quotes": b'"' * 8_000_000,
    "8 MB of escapes": b'"' + b"\\" * 8_000_000,
    "8 MB of escaped quotes": b'"' + b'\\"' * 4_000_000,
    "8 MB of texts that end in a backslash": b"[" + b'"\\\\",' * 1_200_000 + b"1]",
    "8 MB of digits": b"1" * 8_000_000,
    "8 MB of runs of digits": (b"1" * 999 + b",") * 8_000,
    "8 MB of minus signs": b"-" * 8_000_000,
}


@pytest.mark.parametrize("frame", FLOODS.values(), ids=FLOODS.keys())
def test_a_flood_is_judged_in_linear_time(frame) -> None:
    """G04: no frame of the permitted length keeps the host busy, deep or wide as it may be; 3 s of a busy machine."""
    before = time.thread_time()
    with contextlib.suppress(HostileInput):
        check_size(frame, WireLimits())
    assert time.thread_time() - before < 3.0
