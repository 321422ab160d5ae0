"""The conversation as a state machine, without a socket: what may come when, and what closes it."""

import importlib.util
import json

import pytest

from harness.core.call import Answer
from harness.core.errors import HostileInput
from harness.gateway.messages import CallFrame, Failed, Idle, Print, Result, Start
from harness.gateway.session import Phase, Session, WireLimits

MAGIC = importlib.util.MAGIC_NUMBER.hex()
OK = Answer(True, b"1")


def frame(tag: str, **members: object) -> bytes:
    return json.dumps({"t": tag, **members}, separators=(",", ":")).encode()


HELLO = frame("hello", v=1, python="3.11.7", magic=MAGIC)


def call(number: int, task: str = "0", tool: str = "x") -> bytes:
    return frame("call", id=number, task=task, tool=tool, args={})


def a_start(token: str = "secret") -> Start:
    return Start(token, "r", 1, 1, "plain", [], "", "", {}, {}, [], {}, {})


def open_session(**limits: int) -> Session:
    session = Session("secret", WireLimits(**limits))
    session.accept(HELLO)
    session.start_frame(a_start())
    session.accept(frame("open", token="secret"))
    return session


def refused(session: Session, content: bytes, code: str, message: str) -> None:
    with pytest.raises(HostileInput) as caught:
        session.accept(content)
    assert (caught.value.code, caught.value.message, caught.value.head) == (code, message, content[:200])
    assert session.phase is Phase.CLOSED


def test_a_conversation_goes_hello_start_open_calls_result() -> None:
    """The one order in which everything is right."""
    session = Session("secret", WireLimits())
    phases = [session.phase]
    session.accept(HELLO)
    phases.append(session.phase)
    session.start_frame(a_start())
    session.accept(frame("open", token="secret"))
    phases.append(session.phase)
    heard = [
        session.accept(call(1)),
        session.accept(frame("print", stream="err", text="hi")),
        session.accept(frame("idle", waiting=[1])),
    ]
    session.answer_frame(1, OK, 5)
    heard.append(session.accept(frame("result", value=None, none=True)))
    phases.append(session.phase)
    assert phases == [Phase.EXPECT_HELLO, Phase.EXPECT_OPEN, Phase.OPEN, Phase.CLOSED]
    assert heard == [CallFrame(1, "0", "x", {}), Print("err", "hi"), Idle([1]), Result(None, True)]


def test_a_failure_ends_the_conversation_too() -> None:
    """An exception that left the snippet is an end like a result."""
    session = open_session()
    told = session.accept(frame("failed", type="E", message="m", traceback="t", line=1))
    assert (told, session.phase) == (Failed("E", "m", "t", 1), Phase.CLOSED)


EARLY = {
    "open": frame("open", token="secret"),
    "call": call(1),
    "print": frame("print", stream="out", text="x"),
    "idle": frame("idle", waiting=[]),
    "result": frame("result", value=1, none=False),
    "failed": frame("failed", type="E", message="m", traceback="t", line=1),
}


@pytest.mark.parametrize("name", EARLY)
def test_nothing_but_hello_may_come_first(name) -> None:
    """Before hello nobody is known to be confined."""
    kind = "callframe" if name == "call" else name
    refused(
        Session("secret", WireLimits()),
        EARLY[name],
        "out_of_turn",
        f"a `{'call' if kind == 'callframe' else kind}` came in phase `expect_hello`",
    )


@pytest.mark.parametrize("name", [name for name in EARLY if name != "open"])
def test_nothing_but_the_token_may_follow_hello(name) -> None:
    """A call before the token has come back is no call."""
    session = Session("secret", WireLimits())
    session.accept(HELLO)
    session.start_frame(a_start())
    refused(session, EARLY[name], "out_of_turn", f"a `{name}` came in phase `expect_open`")


def test_a_token_cannot_come_before_the_start_that_carries_it() -> None:
    """Whoever knows it before did not get it from the host."""
    session = Session("secret", WireLimits())
    session.accept(HELLO)
    refused(session, frame("open", token="secret"), "out_of_turn", "a `open` came in phase `expect_open`")


@pytest.mark.parametrize("token", ["", "secreT", "secret ", "s\u00e9cret"])
def test_a_wrong_token_closes_the_conversation(token) -> None:
    """C27: the token of another run, or none, opens nothing."""
    session = Session("secret", WireLimits())
    session.accept(HELLO)
    session.start_frame(a_start())
    refused(session, frame("open", token=token), "wrong_token", "the box did not give back the run's token")


def test_another_version_of_the_wire_is_refused() -> None:
    """C27: both ends come from one wheel."""
    hello = frame("hello", v=2, python="3.11.7", magic=MAGIC)
    refused(Session("s", WireLimits()), hello, "wrong_version", "the box speaks version 2, the host 1")


def test_a_box_whose_python_cannot_run_the_code_is_refused() -> None:
    """Compiled code of another minor version would crash it, or worse."""
    session = Session("s", WireLimits())
    with pytest.raises(HostileInput) as caught:
        session.accept(frame("hello", v=1, python="3.12.1", magic="00000000"))
    assert caught.value.code == "wrong_python"


AFTER = {
    "a second hello": (HELLO, "hello"),
    "a second token": (frame("open", token="secret"), "open"),
}


@pytest.mark.parametrize("name", AFTER)
def test_the_opening_cannot_be_repeated(name) -> None:
    """Once open, it is open."""
    content, kind = AFTER[name]
    refused(open_session(), content, "out_of_turn", f"a `{kind}` came in phase `open`")


@pytest.mark.parametrize("name", [*EARLY, "hello"])
def test_nothing_may_follow_a_result(name) -> None:
    """A01, B16: the first result stands; a second one, or any late frame, is a broken rule."""
    session = open_session()
    session.accept(frame("result", value=1, none=False))
    content = HELLO if name == "hello" else EARLY[name]
    refused(session, content, "after_end", f"a `{name}` came in phase `closed`")


IDS = {
    "the same id again": (1, "duplicate_id", "call 1 came after call 1"),
    "zero": (0, "falling_id", "call 0 came after call 1"),
    "negative": (-1, "falling_id", "call -1 came after call 1"),
}


@pytest.mark.parametrize(("number", "code", "message"), IDS.values(), ids=IDS.keys())
def test_call_ids_only_rise(number, code, message) -> None:
    """Two calls with one id would get each other's answers."""
    session = open_session()
    session.accept(call(1))
    refused(session, call(number), code, message)


def test_an_id_does_not_come_back_after_its_answer() -> None:
    """An answered id is used up."""
    session = open_session()
    session.accept(call(5))
    session.answer_frame(5, OK, 1)
    refused(session, call(5), "falling_id", "call 5 came after call 5")


def test_so_many_calls_may_be_in_flight_and_no_more() -> None:
    """At the limit a call passes, one more does not, and an answer makes room."""
    session = open_session(in_flight=2)
    session.accept(call(1))
    session.accept(call(2))
    session.answer_frame(1, OK, 1)
    session.accept(call(3))
    refused(session, call(4), "too_many_in_flight", "more than 2 calls wait for an answer")


TASKS = ["0", "0.1", "0.10.3", "~0123456789abcdef", "~0123456789abcdef.4"]
NO_TASKS = ["", "1", "0.", "0.a", "0.1\n", "0..1", "main", "~xyz", "0" + ".1" * 200, "0.١"]


@pytest.mark.parametrize("task", TASKS)
def test_a_path_of_a_task_is_numbers_with_dots(task) -> None:
    """Short ones as they are, long ones behind a digest."""
    assert open_session().accept(call(1, task)) == CallFrame(1, task, "x", {})


@pytest.mark.parametrize("task", NO_TASKS)
def test_anything_else_is_no_path_of_a_task(task) -> None:
    """It goes into journal keys and lines."""
    content = call(1, task)
    refused(open_session(), content, "bad_task", "a task's path is numbers with dots between them")


def test_a_tools_name_may_be_256_characters_long() -> None:
    """At the limit it is an ordinary unknown tool; beyond, it is no name."""
    session = open_session()
    session.accept(call(1, tool="t" * 256))
    refused(session, call(2, tool="t" * 257), "name_too_long", "a tool's name has 257 characters")


PRINTS = {"another stream": ("log", "x"), "no text": ("out", "")}


@pytest.mark.parametrize(("stream", "text"), PRINTS.values(), ids=PRINTS.keys())
def test_a_print_names_its_stream_and_has_a_text(stream, text) -> None:
    """Frames without a byte of text would cost the budget nothing."""
    content = frame("print", stream=stream, text=text)
    refused(open_session(), content, "wrong_shape", "a print names `out` or `err`, and has a text")


def test_idle_names_calls_that_were_made() -> None:
    """Answered ones too: the answer may be on its way."""
    session = open_session()
    session.accept(call(1))
    session.answer_frame(1, OK, 1)
    assert session.accept(frame("idle", waiting=[1])) == Idle([1])
    refused(session, frame("idle", waiting=[2]), "unknown_id", "the box waits for a call that it never made")


def test_idle_is_said_once_for_each_thing_that_happens() -> None:
    """A flood of hints is no hint."""
    session = open_session()
    session.accept(call(1))
    session.accept(frame("idle", waiting=[1]))
    session.accept(frame("idle", waiting=[1]))
    again = frame("idle", waiting=[1])
    refused(session, again, "idle_again", "the box says again that it is idle, and nothing has happened")


def test_a_result_of_nothing_has_no_value() -> None:
    """One fact in two members must not be two facts."""
    content = frame("result", value=1, none=True)
    refused(open_session(), content, "wrong_shape", "a result is nothing and has a value")


def test_nothing_is_taken_after_the_host_closed() -> None:
    """What was already on its way is denied."""
    session = open_session()
    session.close()
    refused(session, call(1), "after_end", "a `call` came in phase `closed`")


def test_the_host_cannot_answer_what_was_not_asked() -> None:
    """A bug of the host is an error of the host, and changes nothing."""
    session = open_session()
    session.accept(call(1))
    session.answer_frame(1, OK, 1)
    with pytest.raises(ValueError, match="no call 1 waits for an answer"):
        session.answer_frame(1, OK, 1)
    assert (session.phase, session.in_flight) == (Phase.OPEN, 0)


def test_a_snippet_is_handed_over_once_and_under_its_own_token() -> None:
    """Before hello, twice, or with another run's token is an error of the host."""
    session = Session("secret", WireLimits())
    with pytest.raises(ValueError, match="cannot be handed over in phase `expect_hello`"):
        session.start_frame(a_start())
    session.accept(HELLO)
    with pytest.raises(ValueError, match="the token of the start is not the session's"):
        session.start_frame(a_start("other"))
    session.start_frame(a_start())
    with pytest.raises(ValueError, match="cannot be handed over in phase `expect_open`"):
        session.start_frame(a_start())
