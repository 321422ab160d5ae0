"""`make bench-peers`: the harness beside its peers, in one run, over the same snippet; what each leaves out."""

import asyncio
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.baselines import python_start
from benchmarks.peer import AT_ONCE, MANY, PEERS, ROUNDS
from benchmarks.work import CONTRACT, POLICY, Stamps, registry, snippet
from harness.api import Harness
from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.backends import Choice, choose
from harness.sandbox.spec import SandboxSpec

__all__ = ["main"]

INTERPRETER = os.environ.get("BENCH_PEERS_PYTHON", str(Path(__file__).parent.parent / ".venv-peers" / "bin" / "python"))
"""Has the peers; ours must not depend on them."""
CHILD_SECONDS = 180
NOTES = {
    "harness bubblewrap": "kernel boundary, contract, checks, journal, audit, file delivered",
    "harness docker": "the same in a single-use container",
    "pydantic-monty": "a subset of Python; a worker process that serves many; no contract, record or delivery",
    "smolagents local": "no boundary: interprets the tree in this process; no contract, record or delivery",
    "llm-sandbox docker": "container a run, root in it; no tools, so no calls cross it; no contract or record",
    "ipybox": "one kernel for all runs, unboxed unless asked; a function of the snippet for the tool; no record",
    "docker run": "container a run; no calls, no checks, no record",
    "docker exec": "one container for all runs; no calls, no checks, no record",
}
UNTRIED = {
    "adk-code-mode": "its containers are a published image with its own shim, which cannot be had without a registry",
}
WITH_PYTHON = """FROM {image}
COPY --from={image} /usr/local/bin/python3 /usr/local/bin/python
"""
"""For `llm-sandbox`, which calls `python` by that name."""
Row = dict[str, float]


async def _ours(name: str) -> Row:
    backend: Any = await choose(Choice(name))
    with tempfile.TemporaryDirectory() as folder:
        async with Harness(registry(Stamps()), folder=folder, policy=POLICY, backend=backend) as harness:
            await backend.warm(SandboxSpec.from_limits(harness.bind(CONTRACT).limits), 2)

            async def ms(calls: int, rounds: int) -> float:
                samples = []
                for _ in range(rounds):
                    start = time.perf_counter()
                    await harness.run(CONTRACT, snippet(calls))
                    samples.append((time.perf_counter() - start) * 1_000)
                    await asyncio.sleep(0.3 if name == "docker" else 0.02)
                return statistics.median(samples)

            await ms(1, 2)
            found = {"one": await ms(1, ROUNDS), "ten": await ms(10, ROUNDS), "many": await ms(MANY, 1)}
            start = time.perf_counter()
            await asyncio.gather(*(harness.run(CONTRACT, snippet(1)) for _ in range(AT_ONCE)))
            found["hundred"] = time.perf_counter() - start
    await backend.close()
    return found


def _peer(name: str, image: str) -> Row | str:
    try:
        done = subprocess.run(
            [INTERPRETER, str(Path(__file__).with_name("peer.py")), name, image],
            capture_output=True,
            text=True,
            timeout=CHILD_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
    return {key: float(value) for key, value in json.loads(done.stdout.splitlines()[-1]).items()}


def _times(arguments: list[str], rounds: int) -> float:
    samples = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run(arguments, check=True, capture_output=True)
        samples.append((time.perf_counter() - start) * 1_000)
    return statistics.median(samples)


def _bare(image: str) -> dict[str, Row | str]:
    """`docker run` and `docker exec` of a Python that does nothing."""
    docker = shutil.which("docker")
    if docker is None or not image:
        return dict.fromkeys(("docker run", "docker exec"), "no engine, or no command `docker`")
    python = ["/usr/local/bin/python3", "-c", "pass"]
    plain = [docker, "run", "--rm", "--network", "none", "--log-driver", "none", "--entrypoint", python[0], image]
    kept = [docker, "run", "-d", "--rm", "--network", "none", "--entrypoint", python[0], image]
    try:
        run = _times([*plain, *python[1:]], 5)
        box = subprocess.run(
            [*kept, "-c", "import time; time.sleep(600)"], check=True, capture_output=True, text=True
        ).stdout.strip()
        try:
            return {"docker run": {"one": run}, "docker exec": {"one": _times([docker, "exec", box, *python], 5)}}
        finally:
            subprocess.run([docker, "kill", box], check=False, capture_output=True)
    except subprocess.CalledProcessError as error:
        words = (error.stderr or b"").strip().splitlines()[-1:]
        return {"docker run": f"{words}", "docker exec": f"{words}"}


async def _image() -> str:
    try:
        backend: Any = await choose(Choice.DOCKER)
    except EnvironmentUnavailable:
        return ""
    try:
        return str((await backend.image(SandboxSpec())).id)
    finally:
        await backend.close()


def _with_python(image: str) -> str:
    """The boxes' image with `python` in it; empty where none can be made."""
    docker = shutil.which("docker")
    if docker is None or not image:
        return ""
    command = [docker, "build", "-q", "--network", "none", "-"]
    made = subprocess.run(command, input=WITH_PYTHON.format(image=image), capture_output=True, text=True)
    return made.stdout.strip()


def _print(name: str, row: Row | str) -> None:
    if isinstance(row, str):
        print(f"{name:20} did not run here: {row[:90]}")
        return
    cells = " ".join(f"{row[key]:10.2f}" if key in row else f"{'-':>10}" for key in ("one", "ten", "many", "hundred"))
    print(f"{name:20} {cells}  {NOTES[name]}")


def main() -> None:
    """Measure all, one after the other, and print the table."""
    print(f"P = {python_start():.1f} ms; one, ten and {MANY} calls in ms, {AT_ONCE} runs at once in s")
    print(f"{'':20} {'one':>10} {'ten':>10} {'many':>10} {'hundred':>10}")
    image = asyncio.run(_image())
    for name in ("bubblewrap", "docker"):
        try:
            _print(f"harness {name}", asyncio.run(_ours(name)))
        except EnvironmentUnavailable as error:
            _print(f"harness {name}", str(error))
    named = _with_python(image)
    for name in PEERS:
        _print(name, _peer(name, named))
    for name, why in UNTRIED.items():
        _print(name, why)
    for name, row in _bare(image).items():
        _print(name, row)


if __name__ == "__main__":
    main()
