"""The box's end of the wire: the same vectors as the host's, and the same limits."""

import json
import socket

import pytest

from harness.gateway.frames import WireLimits
from sandbox_image import values
from sandbox_image.channel import Channel
from sandbox_image.frames import Decoder, FrameError, encode
from sandbox_image.prints import Printer
from tests.vectors import vectors

MESSAGES = vectors("messages")


@pytest.mark.parametrize("vector", vectors("frames"), ids=lambda vector: vector["name"])
def test_the_box_cuts_a_stream_as_the_vectors_say(vector) -> None:
    """The two decoders are one format."""
    decoder = Decoder(vector["limit"])
    frames, failed = [], False
    try:
        for chunk in vector["chunks"]:
            frames += [frame.hex() for frame in decoder.feed(bytes.fromhex(chunk))]
    except FrameError:
        failed = True
    assert failed is ("error" in vector)
    assert failed or (frames, decoder.pending) == (vector["frames"], vector["pending"])


@pytest.mark.parametrize("vector", MESSAGES["host"], ids=lambda vector: vector["name"])
def test_the_box_reads_an_answer_as_it_stands_in_the_vectors(vector) -> None:
    """Value and error arrive as JSON says."""
    key = "ok" if vector["ok"] else "error"
    expected = {"t": "answer", "id": vector["id"], "at": vector["at"], key: json.loads(vector["body"])}
    assert values.decode(vector["text"].encode("utf-8")) == expected


@pytest.fixture
def pair():
    """A channel and the host's bare end."""
    here, there = socket.socketpair()
    with here, there:
        here.settimeout(5)
        yield Channel(there), here


def received(sock: socket.socket) -> list[str]:
    return [frame.decode("utf-8") for frame in Decoder().feed(sock.recv(65536))]


@pytest.mark.parametrize(
    "vector", [each for each in MESSAGES["box"] if each["message"]["t"] == "call"], ids=lambda vector: vector["name"]
)
def test_the_box_writes_a_call_as_it_stands_in_the_vectors(pair, vector) -> None:
    """Byte for byte, so that the host need not look for keys that stand twice."""
    channel, host = pair
    message = vector["message"]
    channel._last_id = message["id"] - 1
    head = f'"task":{json.dumps(message["task"])},"tool":{json.dumps(message["tool"])},"args":'
    channel.call(head.encode(), values.encode_arguments(message["args"], "it"))
    assert received(host) == [vector["text"]]


def test_the_box_writes_a_print_as_it_stands_in_the_vectors(pair) -> None:
    """Gathered, and sent on flush."""
    channel, host = pair
    printer = Printer(channel)
    channel.prelude = printer.take
    printer.write("out", "h")
    printer.write("out", "i")
    printer.flush()
    assert received(host) == [each["text"] for each in MESSAGES["box"] if each["name"] == "print"]


def test_what_was_printed_goes_before_the_next_call(pair) -> None:
    """In one piece with it: nothing is sent for a print alone."""
    channel, host = pair
    printer = Printer(channel)
    channel.prelude = printer.take
    printer.write("out", "a")
    printer.write("err", "b")
    channel.call(b'"task":"0","tool":"x","args":', b"{}")
    assert received(host) == [
        '{"t":"print","stream":"out","text":"a"}',
        '{"t":"print","stream":"err","text":"b"}',
        '{"t":"call","id":1,"task":"0","tool":"x","args":{}}',
    ]


def test_the_boxs_limits_are_within_the_hosts() -> None:
    """An ordinary value that the box lets out never breaks a rule of the wire."""
    host = WireLimits()
    assert (
        host.frame_bytes,
        host.string_chars,
        host.number_chars,
        host.in_flight,
    ) == (values.FRAME_BYTES, values.STRING_CHARS, values.NUMBER_CHARS, values.IN_FLIGHT)
    assert (host.depth, host.members) == (values.DEPTH + 2, values.MEMBERS + 1000)


def test_a_frame_of_nothing_cannot_be_encoded() -> None:
    """The other end would refuse it."""
    with pytest.raises(ValueError, match="a frame has at least one byte"):
        encode(b"")
