"""Whatever an agent and its snippets do, a loop ends within `budget.iterations`, and only a success is accepted."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.run.making import document, harness

MOVES = ("good", "bad", "zero", "nothing", "text", "raise", "vanish", "garbage", "refused", "repeat")


def play(move, box):
    """What the box does for one move."""
    if move == "vanish":
        raise OSError("the box goes away")
    if move == "garbage":
        box.send_bytes(b"{not json")
    elif move == "raise":
        box.send({"t": "failed", "type": "ValueError", "message": "no", "traceback": "", "line": 1})
    else:
        box.result({"good": 12, "bad": 3, "zero": 0, "nothing": None, "text": "x"}.get(move, 3))


@settings(max_examples=40, deadline=None)
@given(
    moves=st.lists(st.sampled_from(MOVES), min_size=1, max_size=8),
    iterations=st.integers(1, 5),
    stop=st.sampled_from([[], [{"same_output": 2}], [{"when": "10 / output > 20"}], [{"when": "run.iteration > 2"}]]),
    success=st.sampled_from(["output >= 10", "10 / output >= 99", "checks.passed && output > 11"]),
)
def test_a_loop_ends_within_the_backstop(moves, iterations, stop, success):
    """Never more iterations than the contract grants, refused snippets included; never accepted without success."""
    asked = []

    def propose(turn):
        move = moves[(turn.number - 1) % len(moves)]
        asked.append(move)
        if move == "refused":
            return "import os"
        return "1" if move == "repeat" else f"{turn.number} + 1"

    with tempfile.TemporaryDirectory() as folder:
        made = harness(Path(folder), (), lambda box: play(asked[-1], box))
        result = made.loop_sync(
            document(budget={"iterations": iterations}, completion={"success": success, "stop": stop}), propose
        )
    assert len(asked) <= iterations
    assert len(result.iterations) <= iterations
    assert result.budget["iterations"].used <= iterations
    accepted = result.outcome.value == "accepted"
    assert accepted == (result.exit_code == 0)
    assert not accepted or (asked[-1] == "good" and success != "10 / output >= 99")
