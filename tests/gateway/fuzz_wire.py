"""A long fuzz of the host's decoder and session, by hand: `python -m tests.gateway.fuzz_wire --runs N [--atheris]`.

Not collected by pytest, where a bounded run stands in test_fuzz.py. Every input is one stream to an open session, cut
where its first byte says; only HostileInput may come out. With `--atheris` the package of that name guides by coverage.
"""

import argparse
import importlib.util
import json
import random
import resource
import sys
import time
from pathlib import Path

from harness.core.call import Answer
from harness.core.errors import HostileInput
from harness.gateway.frames import WireLimits, encode
from harness.gateway.messages import CallFrame, Start
from harness.gateway.session import Phase, Session

LIMITS = WireLimits(frame_bytes=4_000, depth=8, members=40, string_chars=300, number_chars=30, in_flight=3)
START = Start("secret", "r", 1, 1, "plain", [], "", "", {}, {}, [], {}, {})
HELLO = json.dumps({"t": "hello", "v": 1, "python": "3", "magic": importlib.util.MAGIC_NUMBER.hex()}).encode()
OPEN = b'{"t":"open","token":"secret"}'
SEEDS = (
    b'{"t":"call","id":1,"task":"0.1","tool":"echo","args":{"text":"x","n":[1,2.5,null,true]}}',
    b'{"t":"print","stream":"out","text":"a\\u00e9\\n"}',
    b'{"t":"idle","waiting":[1]}',
    b'{"t":"result","value":{"a":[1,{"b":"c"}]},"none":false}',
    b'{"t":"failed","type":"E","message":"m","traceback":"t","line":3}',
    HELLO,
    OPEN,
)
PIECES = (
    b"[",
    b"{",
    b"}",
    b'"',
    b"\\",
    b",",
    b":",
    b"NaN",
    b"1e999",
    b"-0",
    b"\xff",
    b"\xed\xa0\x80",
    b"\\ud800",
    b"\0",
)


def one_input(data: bytes) -> None:
    """One stream. Raises whatever is not a refusal."""
    session = Session("secret", LIMITS)
    try:
        if data[:1] >= b"\x40":
            session.accept(HELLO)
            session.start_frame(START)
            session.accept(OPEN)
        step = 1 + (data[0] & 0x3F) * 4 if data else 1
        stream = data[1:]
        for at in range(0, len(stream), step):
            for frame in session.decoder.feed(stream[at : at + step]):
                message = session.accept(frame)
                if type(message) is CallFrame and message.id % 2:
                    session.answer_frame(message.id, Answer(True, b"1"), 1)
        assert session.decoder.pending <= LIMITS.frame_bytes + 4
    except HostileInput:
        assert session.phase is Phase.CLOSED or session.decoder.fault is not None
    assert session.in_flight <= LIMITS.in_flight


def mutated(chance: random.Random) -> bytes:
    """Some frames of the wire, a few bytes of them changed, behind the byte that says how they are cut."""
    frames = []
    for _ in range(chance.randint(1, 3)):
        body = bytearray(chance.choice(SEEDS))
        for _ in range(chance.randint(0, 3)):
            at = chance.randrange(len(body) + 1)
            what = chance.randrange(4)
            if what == 0 and body:
                del body[at : at + chance.randint(1, 5)]
            elif what == 1:
                body[at:at] = chance.choice(PIECES)
            elif what == 2 and at < len(body):
                body[at] = chance.randrange(256)
            else:
                body[at:at] = body[at : at + chance.randint(1, 20)]
        frames.append(encode(bytes(body)) if body and chance.random() < 0.95 else bytes(body))
    return bytes([chance.randrange(256)]) + b"".join(frames)


def play(runs: int, seed: int) -> None:
    """So many inputs, and what they cost."""
    chance = random.Random(seed)
    started, before = time.monotonic(), _memory()
    warm = 0
    for number in range(runs):
        one_input(mutated(chance))
        if number == 10_000:
            warm = _memory()
    took = time.monotonic() - started
    print(f"{runs} inputs in {took:.0f} s, no crash; memory {before} → {warm} → {_memory()} KiB")


def guided(runs: int, folder: Path) -> None:
    """The same, guided by coverage."""
    atheris = importlib.import_module("atheris")
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS):
        (folder / f"seed-{number}").write_bytes(b"\x7f" + encode(seed))
    atheris.instrument_all()
    atheris.Setup([sys.argv[0], f"-runs={runs}", "-max_len=4096", "-print_final_stats=1", str(folder)], one_input)
    atheris.Fuzz()


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--atheris", type=Path, metavar="CORPUS")
    chosen = parser.parse_args()
    if chosen.atheris:
        guided(chosen.runs, chosen.atheris)
    else:
        play(chosen.runs, chosen.seed)


if __name__ == "__main__":
    main()
