"""An optimiser that answers every judgement with the opposite advice: it would swing between two scores for ever.

Run it from this folder: `python optimise.py`. The contract ends it, and the record says why.
"""

import json
from pathlib import Path

from harness import Harness

HERE = Path(__file__).parent
SHORT = "Revenue rose; costs rose more."
LONG = "Revenue rose by four percent over the year, while costs rose by six, mostly for freight."


def propose(turn):
    """Make the text longer where it was short, and shorter where it was long."""
    last = turn.last.output if turn.last is not None else None
    text = LONG if last is None or last["text"] == SHORT else SHORT
    return f"""# try {turn.number}
from tools import evaluate

text = {text!r}
return {{"text": text, "score": evaluate(text)}}
"""


def main(backend=""):
    """The result of the loop."""
    harness = Harness.from_file(HERE / "harness.yaml", backend=backend)
    return harness.loop_sync(HERE / "contract.yaml", propose)


if __name__ == "__main__":
    result = main()
    print(json.dumps({"outcome": result.outcome, "reason": result.reason, "detail": result.ending.detail}, indent=2))
