"""Snippets that try to break the wire or the host, from inside a real runner, with nothing but the wire to hold them."""

# ruff: noqa: E501 (a snippet stands on one line)

import pytest

from tests.gateway.rig import TOOLS, play

FORGE = """
import os, socket, struct
fd = next(n for n in range(3, 100) if is_socket(n))
def send(text):
    data = text if isinstance(text, bytes) else text.encode()
    os.write(fd, struct.pack('>I', len(data)) + data)
"""
IS_SOCKET = """
import os, stat
def is_socket(n):
    try:
        return stat.S_ISSOCK(os.fstat(n).st_mode)
    except OSError:
        return False
"""

FORGED = {
    "a wrong token": ("send('{\"t\":\"open\",\"token\":\"x\"}')", "out_of_turn"),
    "an id that was used": ("from tools import echo\necho('a')\nsend('{\"t\":\"call\",\"id\":1,\"task\":\"0\",\"tool\":\"x\",\"args\":{}}')", "falling_id"),
    "idle for a call that is not": ("send('{\"t\":\"idle\",\"waiting\":[7]}')", "unknown_id"),
    "100,000 nested lists": ("send('{\"t\":\"result\",\"none\":false,\"value\":' + '[' * 100000 + ']' * 100000 + '}')", "too_deep"),
    "a length of 1 GB": ("os.write(fd, struct.pack('>I', 1 << 30))", "too_long"),
    "truncated": ("os.write(fd, struct.pack('>I', 100) + b'{\"t\":')\nos._exit(0)", "truncated"),
    "not UTF-8": ("send(b'{\"t\":\"print\",\"stream\":\"out\",\"text\":\"\\xff\"}')", "not_utf8"),
    "a duplicate key": ("send('{\"t\":\"result\",\"none\":false,\"none\":false,\"value\":1}')", "duplicate_key"),
    "NaN": ("send('{\"t\":\"result\",\"none\":false,\"value\":NaN}')", "not_finite"),
    "a pickle": ("import pickle\nsend(pickle.dumps({'t': 'result'}))", "not_utf8"),
    "a code that is none": ("send('{\"t\":\"eval\",\"code\":\"1\"}')", "wrong_shape"),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "code"), FORGED.values(), ids=FORGED.keys())
def test_a_forged_frame_ends_the_run(lines, code) -> None:
    """C10, C27: a snippet that finds the descriptor wins nothing by writing to it."""
    ended = play(IS_SOCKET + FORGE + lines + "\nimport time\ntime.sleep(5)")
    assert ended.lost is not None
    assert (ended.lost.code, ended.result, ended.failed) == (code, None, None)


def test_the_first_result_stands_and_a_second_is_a_broken_rule() -> None:
    """B16: exactly one result; whatever comes after it is refused."""
    first = 'send(\'{"t":"result","none":false,"value":1}\')'
    ended = play(IS_SOCKET + FORGE + first + "\nreturn 2")
    assert (ended.result, ended.lost.code) == (1, "after_end")


def test_a_call_after_the_result_is_a_broken_rule() -> None:
    """A01: nothing is executed after the end."""
    lines = (
        'send(\'{"t":"result","none":false,"value":1}\')\n'
        'send(\'{"t":"call","id":1,"task":"0","tool":"echo","args":{"text":"late"}}\')\nos._exit(0)'
    )
    ended = play(IS_SOCKET + FORGE + lines)
    assert (ended.result, ended.calls, ended.lost.code) == (1, [], "after_end")


FLOODS = {
    "long lines": "while True:\n    print('x' * 10_000)",
    "short lines": "while True:\n    print('x')",
    "without line ends": "import sys\nwhile True:\n    sys.stdout.write('x' * 999)",
    "to the other stream": "import sys\nwhile True:\n    print('x' * 10_000, file=sys.stderr)",
    "at once": "print('x' * 50_000_000)",
    "from threads": "import threading\ndef f():\n    while True:\n        print('y' * 1000)\n[threading.Thread(target=f, daemon=True).start() for _ in range(4)]\nwhile True:\n    print('x')",
}


@pytest.mark.parametrize("source", FLOODS.values(), ids=FLOODS.keys())
def test_a_flood_of_output_reaches_the_host_in_bounded_pieces(source) -> None:
    """B12: the host counts as it comes, and ends it at its limit; no frame holds more than 16,000 characters."""
    ended = play(source, at_most=2_000_000)
    total = len(ended.out) + len(ended.err)
    assert 2_000_000 <= total < 2_016_000
    assert ended.longest <= 16_000


def test_a_box_that_never_reads_its_answers_holds_up_only_itself() -> None:
    """Calls made by hand, answers left unread: the host stops listening, and its memory has an end."""
    lines = (
        "n = 0\nimport socket as s\n"
        "while n < 9_000:\n    n += 1\n"
        '    send(\'{"t":"call","id":%d,"task":"0","tool":"big","args":{}}\' % n)\n'
    )
    tools = {**TOOLS, "big": lambda args: "x" * 100_000}
    ended = play(IS_SOCKET + FORGE + lines, tools, seconds=2)
    assert ended.lost is None
    assert len(ended.calls) < 100
    assert ended.unread < 4_000_000
