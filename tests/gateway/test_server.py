"""The connection: a real socket, a real loop, and a bare other end that the test plays."""

# ruff: noqa: E501 (a frame stands on one line)

import asyncio
import contextlib
import importlib.util
import json
import socket
from collections.abc import Awaitable, Callable

import pytest

from harness.core.call import Answer
from harness.core.errors import HostileInput
from harness.gateway.frames import encode
from harness.gateway.messages import CallFrame, Failed, Hello, Idle, Print, Result, Start
from harness.gateway.server import Connection, attach
from harness.gateway.session import Session, WireLimits
from sandbox_image.frames import Decoder

HELLO = {"t": "hello", "v": 1, "python": "3", "magic": importlib.util.MAGIC_NUMBER.hex()}
OPEN = {"t": "open", "token": "secret"}
START = Start("secret", "r", 1, 1, "plain", [], "", "", {}, {}, [], {}, {})


def framed(*messages: object) -> bytes:
    """Messages as they travel; bytes go as they are, in a frame."""
    return b"".join(
        encode(each if isinstance(each, bytes) else json.dumps(each, separators=(",", ":")).encode())
        for each in messages
    )


def call(number: int, **args: object) -> dict[str, object]:
    return {"t": "call", "id": number, "task": "0", "tool": "x", "args": args}


class Heard:
    """A listener that writes down what it hears."""

    def __init__(self) -> None:
        self.lines: list[object] = []
        self.lost: HostileInput | None = None
        self.over = asyncio.Event()

    def on_hello(self, hello: Hello) -> None:
        self.lines.append("hello")

    def on_open(self) -> None:
        self.lines.append("open")

    def on_call(self, frame: CallFrame) -> None:
        self.lines.append(frame.id)

    def on_print(self, frame: Print) -> None:
        self.lines.append(frame.text)

    def on_idle(self, frame: Idle) -> None:
        self.lines.append(frame.waiting)

    def on_result(self, frame: Result) -> None:
        self.lines.append(frame)

    def on_failed(self, frame: Failed) -> None:
        self.lines.append(frame)

    def on_lost(self, error: HostileInput | None) -> None:
        self.lines.append("lost")
        self.lost = error
        self.over.set()


Play = Callable[[Connection, Heard, socket.socket], Awaitable[None]]


def with_box(play: Play, *, opened: bool = True, **limits: int) -> Heard:
    """Let `play` be the box."""

    async def main() -> Heard:
        here, there = socket.socketpair()
        heard = Heard()
        with there:
            there.setblocking(False)
            connection = await attach(asyncio.get_running_loop(), here, Session("secret", WireLimits(**limits)), heard)
            if opened:
                there.send(framed(HELLO))
                await until(lambda: "hello" in heard.lines)
                connection.send_start(START)
                there.send(framed(OPEN))
                await until(lambda: "open" in heard.lines)
                there.recv(65536)
            async with asyncio.timeout(10):
                await play(connection, heard, there)
            connection.close()
            await asyncio.sleep(0)
        return heard

    return asyncio.run(main())


async def until(true: Callable[[], bool]) -> None:
    """Give the loop turns until something holds."""
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0.001)


def test_a_conversation_is_heard_in_order_however_it_is_cut() -> None:
    """Bytes arrive one at a time, or all at once."""

    async def slowly(connection, heard, box):
        for byte in framed(call(1), {"t": "print", "stream": "out", "text": "hi"}, call(2)):
            box.send(bytes([byte]))
            await asyncio.sleep(0)
        await until(lambda: len(heard.lines) == 5)

    async def at_once(connection, heard, box):
        box.send(framed(call(1), {"t": "print", "stream": "out", "text": "hi"}, call(2)))
        await until(lambda: len(heard.lines) == 5)

    assert with_box(slowly).lines == with_box(at_once).lines == ["hello", "open", 1, "hi", 2]


def test_answers_go_out_in_the_order_in_which_they_are_given() -> None:
    """The host's order is the box's order: a replay gives the same one."""

    async def play(connection, heard, box):
        box.send(framed(call(1), call(2)))
        await until(lambda: 2 in heard.lines)
        connection.send_answer(2, Answer(True, b'"b"'), 7)
        connection.send_answer(1, Answer(False, b'{"kind":"ToolDenied"}'), 8)
        await until(lambda: received(box) > 0)

    taken: list[bytes] = []

    def received(box: socket.socket) -> int:
        taken.extend(Decoder().feed(box.recv(65536)))
        return len(taken)

    with_box(play)
    assert taken == [
        b'{"t":"answer","id":2,"at":7,"ok":"b"}',
        b'{"t":"answer","id":1,"at":8,"error":{"kind":"ToolDenied"}}',
    ]


BROKEN = {
    "not JSON": (framed(b"{"), "not_json"),
    "a wrong shape": (framed({"t": "exec"}), "wrong_shape"),
    "not UTF-8": (framed(b'{"t":"print","stream":"out","text":"\xff"}'), "not_utf8"),
    "100,000 nested lists": (framed(b'{"t":"result","none":false,"value":' + b"[" * 100_000 + b"]" * 100_000 + b"}"), "too_deep"),
    "1 GB announced": (b"\x40\x00\x00\x00", "too_long"),
    "an empty frame": (b"\x00\x00\x00\x00", "empty_frame"),
    "a duplicate key": (framed(b'{"t":"call","id":1,"task":"0","tool":"x","args":{"a":1,"a":2}}'), "duplicate_key"),
    "NaN": (framed(b'{"t":"call","id":1,"task":"0","tool":"x","args":{"a":NaN}}'), "not_finite"),
    "a lone surrogate": (framed(b'{"t":"call","id":1,"task":"0","tool":"x","args":{"a":"\\ud800"}}'), "surrogate"),
    "an integer of a million digits": (framed(b'{"t":"result","none":false,"value":' + b"9" * 1_000_000 + b"}"), "number_too_long"),
    "a falling id": (framed(call(2), call(1)), "falling_id"),
    "a duplicate id": (framed(call(2), call(2)), "duplicate_id"),
    "a second hello": (framed(HELLO), "out_of_turn"),
    "a result and a second": (framed({"t": "result", "value": 1, "none": False}, {"t": "result", "value": 2, "none": False}), "after_end"),
    "a call after the result": (framed({"t": "result", "value": 1, "none": False}, call(1)), "after_end"),
    "another protocol": (b"GET / HTTP/1.1\r\n\r\n", "too_long"),
}  # fmt: skip


@pytest.mark.parametrize(("sent", "code"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_rule_ends_the_conversation(sent, code) -> None:
    """C10, C27, G04: once, with its code and the head of what came; nothing is heard after it, and the host lives."""

    async def play(connection, heard, box):
        view = memoryview(sent + framed(call(99)) * 50)
        while view:
            try:
                view = view[box.send(view) :]
            except (BlockingIOError, ConnectionError):
                if heard.over.is_set():
                    break
                await asyncio.sleep(0.001)
        await heard.over.wait()
        box.setblocking(True)
        box.settimeout(5)
        with contextlib.suppress(ConnectionError):
            assert box.recv(65536) == b""

    heard = with_box(play)
    assert heard.lost is not None
    assert (heard.lost.code, heard.lines.count("lost"), heard.lines[-1], 99 in heard.lines) == (code, 1, "lost", False)
    assert len(heard.lost.head) <= 200


def test_what_came_before_the_broken_rule_was_heard() -> None:
    """B16: the first result stands, and the second is a fact beside it."""

    async def play(connection, heard, box):
        box.send(framed({"t": "result", "value": 1, "none": False}, {"t": "result", "value": 2, "none": False}))
        await heard.over.wait()

    assert with_box(play).lines == ["hello", "open", Result(1, False), "lost"]


def test_a_wrong_token_opens_nothing() -> None:
    """Not even one that is nearly right."""

    async def play(connection, heard, box):
        box.send(framed(HELLO))
        await until(lambda: "hello" in heard.lines)
        connection.send_start(START)
        box.send(framed({"t": "open", "token": "secreT"}, call(1)))
        await heard.over.wait()

    heard = with_box(play, opened=False)
    assert (heard.lines, heard.lost.code) == (["hello", "lost"], "wrong_token")


def test_a_closed_end_is_lost_without_an_error() -> None:
    """The box went away between two frames."""

    async def play(connection, heard, box):
        box.send(framed(call(1)))
        box.shutdown(socket.SHUT_WR)
        await heard.over.wait()

    heard = with_box(play)
    assert (heard.lines, heard.lost) == (["hello", "open", 1, "lost"], None)


def test_an_end_inside_a_frame_is_truncated() -> None:
    """A killed box looks so, and a forged stream as well."""

    async def play(connection, heard, box):
        box.send(framed(call(1))[:20])
        box.shutdown(socket.SHUT_WR)
        await heard.over.wait()

    lost = with_box(play).lost
    assert (lost.code, lost.message) == ("truncated", "the box closed its end 20 bytes into a frame")


def test_nothing_is_heard_after_close() -> None:
    """Frames that were on their way are dropped, and an answer to them too."""

    async def play(connection, heard, box):
        box.send(framed(call(1)))
        await until(lambda: 1 in heard.lines)
        connection.close()
        connection.close()
        connection.send_answer(1, Answer(True, b"1"), 1)
        connection.send_start(START)
        connection.send_stop()
        await asyncio.sleep(0.01)

    assert with_box(play).lines == ["hello", "open", 1]


def test_a_listener_that_closes_stops_the_frames_behind_it() -> None:
    """The first call of three ends the run: the other two are not heard."""

    class Closes(Heard):
        def on_call(self, frame: CallFrame) -> None:
            super().on_call(frame)
            self.connection.close()

    async def main() -> Heard:
        here, there = socket.socketpair()
        with there:
            heard = Closes()
            heard.connection = await attach(asyncio.get_running_loop(), here, Session("secret", WireLimits()), heard)
            there.send(framed(HELLO))
            await until(lambda: "hello" in heard.lines)
            heard.connection.send_start(START)
            there.send(framed(OPEN, call(1), call(2), call(3)))
            await until(lambda: 1 in heard.lines)
            await asyncio.sleep(0.01)
            return heard

    assert asyncio.run(main()).lines == ["hello", "open", 1]


def test_a_box_that_does_not_read_is_not_listened_to() -> None:
    """Backpressure: beyond the mark no more calls are taken until it reads; then they are."""

    async def play(connection, heard, box):
        box.send(framed(call(1), call(2)))
        await until(lambda: 2 in heard.lines)
        connection.send_answer(1, Answer(True, b'"%b"' % (b"x" * 3_000_000)), 1)
        assert connection.unread_bytes > 1 << 20
        box.send(framed(call(3)))
        await asyncio.sleep(0.02)
        assert 3 not in heard.lines
        while connection.unread_bytes:
            with contextlib.suppress(BlockingIOError):
                box.recv(1 << 20)
            await asyncio.sleep(0)
        await until(lambda: 3 in heard.lines)

    assert with_box(play).lines == ["hello", "open", 1, 2, 3]


def test_a_box_that_lets_answers_pile_up_is_lost() -> None:
    """What the host keeps for a box has an end."""

    async def play(connection, heard, box):
        box.send(framed(*(call(number) for number in range(1, 20))))
        await until(lambda: 19 in heard.lines)
        for number in range(1, 20):
            connection.send_answer(number, Answer(True, b'"%b"' % (b"x" * 1_000_000)), 1)
        await heard.over.wait()

    heard = with_box(play, unread_bytes=5_000_000)
    assert heard.lost.code == "unread"


def test_calls_that_came_in_one_piece_wait_too() -> None:
    """Answers given at once to a hundred calls in one read pile up no further than the mark and one answer."""

    class Answers(Heard):
        def on_call(self, frame: CallFrame) -> None:
            super().on_call(frame)
            self.connection.send_answer(frame.id, Answer(True, b'"%b"' % (b"x" * 300_000)), 1)
            self.most = max(self.most, self.connection.unread_bytes)

    async def main() -> Answers:
        here, there = socket.socketpair()
        with there:
            there.setblocking(False)
            heard = Answers()
            heard.most = 0
            heard.connection = await attach(asyncio.get_running_loop(), here, Session("secret", WireLimits()), heard)
            there.send(framed(HELLO))
            await until(lambda: "hello" in heard.lines)
            heard.connection.send_start(START)
            there.send(framed(OPEN, *(call(number) for number in range(1, 101))))
            answers = Decoder()
            got = []
            async with asyncio.timeout(10):
                while len(got) < 101:
                    with contextlib.suppress(BlockingIOError):
                        got += answers.feed(there.recv(1 << 20))
                    await asyncio.sleep(0)
            heard.connection.close()
            return heard

    heard = asyncio.run(main())
    assert heard.lines == ["hello", "open", *range(1, 101)]
    assert heard.most < (1 << 20) + 2 * 300_100


def test_a_slow_trickle_holds_no_more_than_one_frame() -> None:
    """Eight megabytes announced, sent in pieces: the buffer is the frame, and nothing else."""

    async def play(connection, heard, box):
        body = b'{"t":"print","stream":"out","text":"%b"}' % (b"x" * 4_000_000)
        view = memoryview(framed(body))
        while view:
            try:
                view = view[box.send(view[:50_000]) :]
            except BlockingIOError:
                await asyncio.sleep(0)
        await until(lambda: len(heard.lines) == 3)

    assert len(with_box(play).lines[2]) == 4_000_000
