"""Bad input through the whole product: each ends as documented, with its sentence, and the next run works."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.report import RunResult
from harness.testing.script_box import BoxSide, ScriptBackend
from tests.e2e.host import Host, ended

BACKENDS = [
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
    pytest.param("docker", marks=pytest.mark.docker),
]
ACCEPTED = ("accepted", "contract_passed", 0)
REJECTED_EXHAUSTED = ("rejected", "budget_exhausted", 5)
FAILED = ("rejected", "snippet_failed", 4)
LOST = ("rejected", "box_lost", 4)
GOOD = "from tools import echo\nreturn {'said': echo('again')}"
SECOND_RESULT = """
import os, stat, struct
for number in range(100):
    try:
        if stat.S_ISSOCK(os.fstat(number).st_mode):
            break
    except OSError:
        pass
def send(text):
    os.write(number, struct.pack(">I", len(text)) + text)
send(b'{"t":"result","none":false,"value":{"which":"first"}}')
send(b'{"t":"result","none":false,"value":{"which":"second"}}')
import time
time.sleep(5)
"""
FORKS = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""

SNIPPETS: dict[str, tuple[str, tuple[str, str, int], str]] = {
    "exits": ("import os\nos._exit(0)", LOST, "exit status 0"),
    "raises-SystemExit": (
        "raise SystemExit(0)",
        FAILED,
        "the snippet raised SystemExit in line 1: the snippet ended itself with `SystemExit(0)`; use `return` to end "
        "it with a result",
    ),
    "closes-descriptors": ("import os\nos.closerange(0, 64)\nreturn {}", LOST, "exit status 3"),
    "prints-B12": ("while True: print('x' * 10_000)", REJECTED_EXHAUSTED, "output_bytes: limit 10000000, reached "),
    "prints-to-stderr-B12": (
        "import sys\nwhile True: sys.stderr.write('x' * 999)",
        REJECTED_EXHAUSTED,
        "output_bytes: limit 10000000, reached ",
    ),
    "sleeps-B01": ("import time\ntime.sleep(3600)", REJECTED_EXHAUSTED, "wall_seconds: limit 2.0, reached 2.0"),
    "forks-B10": (FORKS, REJECTED_EXHAUSTED, "wall_seconds: limit 2.0, reached 2.0"),
    "allocates-B06": (
        "block = bytearray(10 << 30)\nfor at in range(0, len(block), 4096): block[at] = 1",
        REJECTED_EXHAUSTED,
        "memory_mb: limit 128, the kernel ended 1 process for want of memory",
    ),
    "crashes-B08": ("import ctypes\nctypes.string_at(0)", LOST, "crashed with SIGSEGV"),
}


def first_and_next(folder: Path, backend: str, snippet: str, **changes: Any) -> RunResult:
    """The result of a bad snippet; a good one in the same process must be accepted afterwards."""
    bad, good = Host.at(folder, setting=backend).runs(snippet, GOOD, **changes)
    assert (ended(good), good.result) == (ACCEPTED, {"said": "again"})
    return bad


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("snippet", "ending", "sentence"), SNIPPETS.values(), ids=SNIPPETS.keys())
def test_a_snippet_that_misbehaves(
    tmp_path: Path, backend: str, snippet: str, ending: tuple[str, str, int], sentence: str
) -> None:
    """B01, B02, B06, B08, B10, B12: it costs its own run, and no other."""
    result = first_and_next(tmp_path, backend, snippet, budget={"wall_seconds": 2})
    assert ended(result) == ending
    assert result.ending.detail.startswith(sentence)
    assert (result.result, result.deliveries) == (None, [])


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_first_result_wins(tmp_path: Path, backend: str) -> None:
    """B16: a snippet that writes two results has written one."""
    result = first_and_next(tmp_path, backend, SECOND_RESULT)
    assert (ended(result), result.result) == (ACCEPTED, {"which": "first"})


# --- tools ---------------------------------------------------------------------------------------------------

BROKEN = " (the tool broke its own contract; tell whoever runs the harness)"
TOOLS: dict[str, tuple[str, tuple[str, str, int], str]] = {
    "raises": (
        "raises",
        FAILED,
        "the snippet raised ToolFailed in line 2: `raises` raised `RuntimeError`, which it does not declare; its text "
        "stays on the host (see the host's log)",
    ),
    "hangs": ("hangs", FAILED, "the snippet raised ToolFailed in line 2: `hangs` did not answer within 0.3 seconds"),
    "hangs-with-an-effect": (
        "hangs_writing",
        ("unresolved", "snippet_failed", 4),
        "the snippet raised OutcomeUnknown in line 2: `hangs_writing` did not answer within 0.3 seconds: whether it "
        "took effect is not known (do not repeat the call: whether it happened is not known; look at the state first, "
        "or let a person decide); whether call 1.1 happened is not known",
    ),
    "returns-the-wrong-type": (
        "wrong_type",
        FAILED,
        "the snippet raised ToolFailed in line 2: the result of `wrong_type` is not valid: $: expected integer"
        + BROKEN,
    ),
    "returns-100-MB": (
        "huge",
        FAILED,
        "the snippet raised ToolFailed in line 2: the result of `huge` is not valid: $ is larger than 8323072 bytes"
        + BROKEN,
    ),
    "returns-100000-nested-lists": (
        "nested",
        FAILED,
        "the snippet raised ToolFailed in line 2: the result of `nested` is not valid: $ is nested deeper than 100 "
        "levels" + BROKEN,
    ),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("tool", "ending", "sentence"), TOOLS.values(), ids=TOOLS.keys())
def test_a_tool_that_misbehaves(
    tmp_path: Path, backend: str, tool: str, ending: tuple[str, str, int], sentence: str
) -> None:
    """C05, G04: the snippet gets an exception, the host stays, nothing of an undeclared error's text leaves it."""
    result = first_and_next(tmp_path, backend, f"from tools import {tool}\nreturn {{'got': {tool}()}}")
    assert (ended(result), result.ending.detail) == (ending, sentence)
    assert "hunter2" not in str(result.to_json())


# --- destinations --------------------------------------------------------------------------------------------


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("to", "status", "detail"),
    [
        ("file:taken", "failed", "`{0}/taken` is a directory"),
        ("file:there.json", "failed", "`{0}/there.json` exists"),
        ("file:file.txt/x.json", "failed", "`{0}/file.txt/x.json` leads through something that is not a folder"),
    ],
    ids=["is-a-directory", "exists", "through-a-file"],
)
def test_a_destination_that_takes_nothing(tmp_path: Path, to: str, status: str, detail: str) -> None:
    """A24: the result is accepted and kept, the delivery says why it did not happen, and nothing is written over."""
    host = Host.at(tmp_path, setting="bubblewrap")
    (tmp_path / "taken").mkdir()
    (tmp_path / "there.json").write_text("mine")
    (tmp_path / "file.txt").write_text("mine")
    result = host.run(GOOD, to=to)
    assert ended(result) == ACCEPTED
    said = [(each["status"], each["detail"]) for each in result.deliveries]
    assert said == [(status, detail.format(tmp_path))]
    assert (tmp_path / "there.json").read_text() == "mine"
    assert host.run(GOOD).deliveries[0]["status"] == "delivered"


@pytest.mark.bubblewrap
def test_a_destination_that_is_read_only(tmp_path: Path) -> None:
    """The delivery waits, and says what to mend; what waits is not lost."""
    (tmp_path / "results").mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", tmp_path / "results"], check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount")
    try:
        result = Host.at(tmp_path, setting="bubblewrap").run(GOOD)
    finally:
        subprocess.run(["umount", tmp_path / "results"], check=True)
    where = tmp_path / "results" / f"{result.run}.json"
    said = [(each["status"], each["detail"], each["hint"]) for each in result.deliveries]
    assert said == [
        ("pending", f"`{where}` lies on a read-only file system", "mount it writable, or name another folder")
    ]
    assert ended(result) == ACCEPTED


# --- forged frames -------------------------------------------------------------------------------------------

FORGED: dict[str, tuple[bytes, str, str]] = {
    "wrong-token": (b'{"t":"open","token":"x"}', "wrong_token", "the box did not give back the run's token"),
    "unknown-id": (b'{"t":"idle","waiting":[7]}', "unknown_id", "the box waits for a call that it never made"),
    "nested-100000": (
        b'{"t":"result","none":false,"value":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "too_deep",
        "",
    ),
    "not-UTF-8": (b'{"t":"print","stream":"out","text":"\xff"}', "not_utf8", ""),
    "duplicate-keys-G02": (b'{"t":"result","none":false,"none":false,"value":1}', "duplicate_key", ""),
    "NaN-C11": (b'{"t":"result","none":false,"value":NaN}', "not_finite", ""),
    "pickle-C10": (b"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00", "not_utf8", ""),
}
RAW: dict[str, tuple[bytes, str]] = {
    "length-1-GB": (b"\x40\x00\x00\x00", "too_long"),
    "truncated": (b'\x00\x00\x00\x64{"t":', "truncated"),
}


def forged(folder: Path, script: Any) -> RunResult:
    """A run whose box plays `script`; the next run, with a good box, works."""
    result = Host.at(folder, ScriptBackend(script)).run("return {}")
    assert ended(Host.at(folder, ScriptBackend(honest)).run("return {}")) == ACCEPTED
    return result


def honest(box: BoxSide) -> None:
    """A box that follows the protocol."""
    box.hello()
    box.open()
    box.result({"n": 1})


@pytest.mark.parametrize(("frame", "code", "sentence"), FORGED.values(), ids=FORGED.keys())
def test_a_forged_frame(tmp_path: Path, frame: bytes, code: str, sentence: str) -> None:
    """C10, C11, C27, G02, G04: the run ends as `policy_refused`, exit 3, and the head of the frame is in the record."""

    def script(box: BoxSide) -> None:
        box.hello()
        if code == "wrong_token":
            box.receive()
        else:
            box.open()
        box.send_bytes(frame)
        box.receive()

    result = forged(tmp_path, script)
    data = dict(result.ending.data)
    assert (ended(result), data["code"]) == (("rejected", "policy_refused", 3), code)
    assert bytes.fromhex(data["head"])[:16] == frame[:16]
    assert result.ending.detail.startswith(f"the box broke the wire's rules: {sentence}")


@pytest.mark.parametrize(("raw", "code"), RAW.values(), ids=RAW.keys())
def test_a_frame_that_is_none(tmp_path: Path, raw: bytes, code: str) -> None:
    """C27: lengths without end, and ends in the middle."""

    def script(box: BoxSide) -> None:
        box.hello()
        box.open()
        box.send_raw(raw)

    result = forged(tmp_path, script)
    assert (ended(result), dict(result.ending.data)["code"]) == (("rejected", "policy_refused", 3), code)
