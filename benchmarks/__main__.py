"""`make bench`: every figure with its goal, its ratio and the baselines of the same run; also as JSON."""

import asyncio
import json
import os
import platform
from pathlib import Path

from benchmarks.baselines import commit, echo, pinned, python_start
from benchmarks.figure import Figure
from benchmarks.memory import memory_figures
from benchmarks.parts import part_figures
from benchmarks.replay import figures as replay_rows
from benchmarks.runs import call_figures, run_figures

RESULTS = Path(__file__).parent / "results" / "latest.json"


async def _figures(base: dict[str, float]) -> list[Figure]:
    return [
        *await call_figures(base["U1"], base["U2"]),
        *await run_figures("bubblewrap", base["P"]),
        *await run_figures("docker", base["P"]),
        *await memory_figures(),
        *part_figures(),
    ]


def main() -> None:
    """Measure, print, write."""
    with pinned():
        u1 = echo()
    base = {"P": python_start(), "U1": u1, "U2": echo(), "C": commit()}
    rows = [*(figure.to_json() for figure in asyncio.run(_figures(base))), *replay_rows()]
    print(
        "baselines: "
        + ", ".join(f"{name} = {value:.1f} {'ms' if name == 'P' else 'us'}" for name, value in base.items())
    )
    print(f"{'figure':28} {'p50':>10} {'p95':>10} {'p99':>10} {'n':>6}  unit    {'ratio':>8} {'goal':>8}  met")
    for row in rows:
        sign = "≥" if row["at_least"] else "≤"
        beside = f"{row['ratio']:.2f} {row['baseline']}" if row["baseline"] else f"{row['ratio']:.1f}"
        print(
            f"{row['name']:28} {row['p50']:10.2f} {row['p95']:10.2f} {row['p99']:10.2f} {row['n']:6}  {row['unit']:7}"
            f" {beside:>8} {sign}{row['goal']:>7}  {'yes' if row['met'] else 'NO'}  {row['note']}"
        )
    RESULTS.parent.mkdir(exist_ok=True)
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "kernel": platform.release()}
    document = {"machine": machine, "baselines": base, "figures": rows}
    RESULTS.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
    print(f"written to {RESULTS}")


if __name__ == "__main__":
    main()
