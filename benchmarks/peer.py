"""One peer in a process of its own, under the interpreter that has it: prints its figures as JSON. Standard library.

The snippet is the same for all: so many calls of one tool, one after the other, and the sum of what they gave.
"""

import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["PEERS", "figures", "snippet"]

ROUNDS = 20
MANY = 10_000
AT_ONCE = 100

Run = Callable[[int], Any]


def snippet(calls: int) -> str:
    """So many calls; the last expression is the result."""
    return f"total = 0\nfor i in range({calls}):\n    total += read(i)\ntotal"


def _read(i: int) -> int:
    return i


def _monty() -> Run:
    monty = importlib.import_module("pydantic_monty")
    pool = monty.Monty().__enter__()

    def run(calls: int) -> Any:
        with pool.checkout(limits={"max_suspensions": 2 * MANY}) as session:
            return session.feed_run(snippet(calls), external_lookup={"read": _read}, skip_type_check=True)

    return run


def _smolagents() -> Run:
    executor = importlib.import_module("smolagents.local_python_executor").LocalPythonExecutor

    def run(calls: int) -> Any:
        made = executor([])
        made.send_tools({"read": _read})
        return made(snippet(calls)).output

    return run


def _llm_sandbox() -> Run:
    """It has no tools: a function of the same name stands in the snippet, so nothing crosses the boundary."""
    library = importlib.import_module("llm_sandbox")
    image = sys.argv[2]

    def run(calls: int) -> Any:
        text = f"def read(i):\n    return i\n{snippet(calls)}\nprint(total)"
        with library.SandboxSession(lang="python", image=image, keep_template=True, skip_environment_setup=True) as box:
            return int(box.run(text).stdout)

    return run


PEERS: dict[str, Callable[[], Run]] = {
    "pydantic-monty": _monty,
    "smolagents local": _smolagents,
    "llm-sandbox docker": _llm_sandbox,
}


def _ms(run: Run, calls: int, rounds: int) -> float:
    samples = []
    for _ in range(rounds):
        start = time.perf_counter()
        value = run(calls)
        samples.append((time.perf_counter() - start) * 1_000)
        if value != sum(range(calls)):
            raise RuntimeError(f"{calls} calls gave {value!r}")
    return statistics.median(samples)


def figures(run: Run, rounds: int = ROUNDS) -> dict[str, float]:
    """ms for one call, ten calls, 10,000 calls; s for a hundred runs of one call at once."""
    run(1)
    found = {"one": _ms(run, 1, rounds), "ten": _ms(run, 10, rounds), "many": _ms(run, MANY, 1)}
    start = time.perf_counter()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(run, [1] * AT_ONCE))
    return {**found, "hundred": time.perf_counter() - start}


if __name__ == "__main__":
    print(json.dumps(figures(PEERS[sys.argv[1]](), 5 if "docker" in sys.argv[1] else ROUNDS)))
