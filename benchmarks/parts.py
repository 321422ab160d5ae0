"""Parts alone: the language check, the guards, import and start."""

import importlib.util
import json
import math
import statistics
import subprocess
import sys
import time
from typing import Any

from benchmarks.figure import Figure
from benchmarks.guards import guard_figures
from harness.contract.words import Language
from harness.language import check as language

__all__ = ["part_figures"]

LINES = 105
"""Lines of the snippet whose check is measured."""


def _snippet() -> str:
    block = (
        "rows = [{{'name': f'n{n}-{{i}}', 'value': i * {n}}} for i in range(10)]\n"
        "total_{n} = sum(row['value'] for row in rows)\n"
        "def pick_{n}(limit):\n"
        "    found = []\n"
        "    for row in rows:\n"
        "        if row['value'] > limit and row['name'].startswith('n'):\n"
        "            found.append((row['name'], row['value']))\n"
    )
    return "".join(block.format(n=n) for n in range(LINES // 7)) + "total_0\n"


def _ms(work: Any, rounds: int) -> list[float]:
    samples = []
    for number in range(rounds):
        start = time.perf_counter()
        work(number)
        samples.append((time.perf_counter() - start) * 1_000)
    return samples


def _check_figures() -> list[Figure]:
    source = _snippet()
    terms: dict[str, Any] = {"language": Language.RESTRICTED, "imports": (), "tools": frozenset()}
    plain = statistics.median(_ms(lambda n: compile(f"{source}# {n}\n", "<snippet>", "exec"), 30))
    first = _ms(lambda n: language.check(f"{source}# {n}\n", **terms), 30)
    language.check(source, **terms)
    again = [ms * 1_000 for ms in _ms(lambda _: language.check(source, **terms), 200)]
    return [
        Figure("check.first", first, "ms", "compile", plain, 6.0),
        Figure("check.again", again, "us", "", 1.0, 50.0),
    ]


def _start_figures() -> list[Figure]:
    def process(*arguments: str) -> list[float]:
        return _ms(lambda _: subprocess.run([sys.executable, *arguments], capture_output=True, check=True), 10)

    typer = statistics.median(process("-c", "import typer")) if importlib.util.find_spec("typer") else math.nan
    inside = [
        float(
            subprocess.run(
                [sys.executable, "-c", "import time as t;s=t.perf_counter();import harness;print(t.perf_counter()-s)"],
                capture_output=True,
                check=True,
                text=True,
            ).stdout
        )
        * 1_000
        for _ in range(10)
    ]
    figures = [Figure("import_harness", inside, "ms", "", 1.0, 60.0)]
    if not math.isnan(typer):
        command = process("-m", "harness.front.cli.main", "--help")
        figures.append(Figure("harness_help", command, "ms", "import typer", typer, 1.3))
    return figures


def part_figures() -> list[Figure]:
    """Every figure that needs no box."""
    return [*_check_figures(), *guard_figures(), *_start_figures()]


if __name__ == "__main__":
    print(json.dumps([figure.to_json() for figure in part_figures()], indent=2))
