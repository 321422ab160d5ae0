"""Random and nearly right bytes against decoder, parser and session: refused or understood, never anything else."""

# ruff: noqa: E501 (a shape stands on one line)

import importlib.util
import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.core.call import Answer
from harness.core.errors import HostileInput
from harness.gateway.frames import WireLimits, encode
from harness.gateway.messages import CallFrame, Start, parse
from harness.gateway.session import Phase, Session

LIMITS = WireLimits(frame_bytes=4_000, depth=8, members=40, string_chars=300, number_chars=30, in_flight=3)
START = Start("secret", "r", 1, 1, "plain", [], "", "", {}, {}, [], {}, {})
BOUNDED = settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
messages = st.one_of(
    st.fixed_dictionaries({"t": st.just("call"), "id": st.integers(-1, 6), "task": st.sampled_from(["0", "0.1", "x", ""]), "tool": st.text(max_size=8), "args": st.dictionaries(st.text(max_size=5), values, max_size=3)}),
    st.fixed_dictionaries({"t": st.just("print"), "stream": st.sampled_from(["out", "err", "log"]), "text": st.text(max_size=10)}),
    st.fixed_dictionaries({"t": st.just("idle"), "waiting": st.lists(st.integers(-1, 5), max_size=4)}),
    st.fixed_dictionaries({"t": st.just("result"), "value": values, "none": st.booleans()}),
    st.fixed_dictionaries({"t": st.just("failed"), "type": st.text(max_size=5), "message": st.text(max_size=5), "traceback": st.text(max_size=5), "line": st.integers()}),
    st.fixed_dictionaries({"t": st.just("hello"), "v": st.integers(0, 2), "python": st.text(max_size=5), "magic": st.just(importlib.util.MAGIC_NUMBER.hex())}),
    st.fixed_dictionaries({"t": st.just("open"), "token": st.sampled_from(["secret", "other"])}),
    values,
)  # fmt: skip


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """A message of the wire, sometimes with bytes changed, cut out or put in."""
    text = json.dumps(draw(messages), ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(text)))
        kind = draw(st.sampled_from(["keep", "cut", "put", "double"]))
        if kind == "cut":
            text = text[:at] + text[at + draw(st.integers(1, 6)) :]
        elif kind == "put":
            text = (
                text[:at]
                + draw(st.binary(min_size=1, max_size=4) | st.sampled_from([b"[", b"{", b'"', b"\\", b",", b"NaN"]))
                + text[at:]
            )
        elif kind == "double":
            text = text[:at] + text[at:] + text[at:]
    return text


def no_key_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    assert len({name for name, _ in pairs}) == len(pairs)
    return dict(pairs)


def no_constant(name: str) -> object:
    raise AssertionError(name)


@BOUNDED
@given(frames() | st.binary(max_size=200))
def test_what_the_parser_takes_is_strict_json(frame: bytes) -> None:
    """Whatever it accepts, the standard library reads as the same object, with no key twice and no odd number."""
    refusal = None
    try:
        message = parse(frame, LIMITS)
    except HostileInput as error:
        refusal = error
    if refusal is not None:
        assert (refusal.head, "\n" in refusal.message) == (frame[:200], False)
        return
    read = json.loads(frame.decode("utf-8"), object_pairs_hook=no_key_twice, parse_constant=no_constant)
    assert read["t"] == type(message).__name__.lower().replace("callframe", "call")
    if type(message) is CallFrame:
        assert (read["id"], read["task"], read["tool"]) == (message.id, message.task, message.tool)
        assert repr(read["args"]) == repr(message.args)


@BOUNDED
@given(st.lists(frames(), max_size=12), st.integers(0, 3), st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_a_session_takes_any_stream_to_its_end(sent: list[bytes], opened: int, cuts: list[int]) -> None:
    """However the stream is cut: a refusal closes the session, and nothing but messages in their turn comes out."""
    session = Session("secret", LIMITS)
    if opened:
        magic = importlib.util.MAGIC_NUMBER.hex()
        session.accept(json.dumps({"t": "hello", "v": 1, "python": "3", "magic": magic}).encode())
        session.start_frame(START)
        session.accept(b'{"t":"open","token":"secret"}')
    stream = b"".join(encode(frame) for frame in sent if frame)
    heard: list[int] = []
    ended = False
    position = turn = 0
    try:
        while position < len(stream):
            size = cuts[turn % len(cuts)]
            for frame in session.decoder.feed(memoryview(stream)[position : position + size]):
                message = session.accept(frame)
                assert not ended
                ended = session.phase is Phase.CLOSED
                if type(message) is CallFrame:
                    heard.append(message.id)
                    if message.id % 2:
                        session.answer_frame(message.id, Answer(True, b"1"), 1)
            position, turn = position + size, turn + 1
            assert session.decoder.pending <= LIMITS.frame_bytes + 4
    except HostileInput:
        assert session.phase is Phase.CLOSED or session.decoder.fault is not None
    assert heard == sorted(set(heard))
    assert session.in_flight <= LIMITS.in_flight
