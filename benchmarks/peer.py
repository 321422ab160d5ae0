"""One peer in a process of its own, under the interpreter that has it: prints its figures as JSON. Standard library.

The snippet is the same for all: so many calls of one tool, one after the other, and the sum of what they gave.
"""

import asyncio
import importlib
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["PEERS", "figures", "snippet"]

ROUNDS = 20
MANY = 10_000
AT_ONCE = 100
WAITS = ["/usr/local/bin/python3", "-c", "import time; time.sleep(600)"]
"""First process of a container of `llm-sandbox`: the image has no shell, and its own entry point wants a channel."""

Run = Callable[[int], Any]
CLOSE: list[Callable[[], object]] = []
"""What a peer has to end."""


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
        settings = {"user": "0:0", "network_mode": "none", "entrypoint": WAITS, "stop_signal": "SIGKILL"}
        with library.SandboxSession(
            lang="python",
            image=image,
            keep_template=True,
            skip_environment_setup=True,
            workdir="/tmp",
            runtime_configs=settings,
        ) as box:
            return int(box.run(text).stdout)

    return run


def _ipybox() -> Run:
    """One IPython kernel for all runs, as it is meant to be used; a function of the snippet stands for the tool."""
    library = importlib.import_module("ipybox")
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    kernel = library.CodeExecutor()
    asyncio.run_coroutine_threadsafe(kernel.__aenter__(), loop).result()
    CLOSE.append(lambda: asyncio.run_coroutine_threadsafe(kernel.__aexit__(None, None, None), loop).result(20))
    turn = threading.Lock()

    def run(calls: int) -> Any:
        text = f"def read(i):\n    return i\n{snippet(calls)}\nprint(total)"
        with turn:
            for _ in range(5):  # it loses what was printed now and then
                said = asyncio.run_coroutine_threadsafe(kernel.execute(text), loop).result().text
                if said:
                    break
        return int(said.split()[-1])

    return run


PEERS: dict[str, Callable[[], Run]] = {
    "pydantic-monty": _monty,
    "smolagents local": _smolagents,
    "llm-sandbox docker": _llm_sandbox,
    "ipybox": _ipybox,
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


def figures(run: Run, rounds: int = ROUNDS, *, at_once: bool = True) -> dict[str, float]:
    """ms for one call, ten calls, 10,000 calls; s for a hundred runs of one call at once."""
    run(1)
    found = {"one": _ms(run, 1, rounds), "ten": _ms(run, 10, rounds), "many": _ms(run, MANY, 1)}
    if not at_once:
        return found
    start = time.perf_counter()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(run, [1] * AT_ONCE))
    return {**found, "hundred": time.perf_counter() - start}


if __name__ == "__main__":
    docker = "docker" in sys.argv[1]
    # A hundred of its containers at once were not done, and not gone, after two minutes.
    print(json.dumps(figures(PEERS[sys.argv[1]](), 3 if docker else ROUNDS, at_once=not docker)))
    for close in CLOSE:
        close()
