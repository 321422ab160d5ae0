"""The demo and the expense example: the main job on real input."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.api import Harness
from harness.core.ending import Outcome

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "backend",
    [pytest.param("bubblewrap", marks=pytest.mark.bubblewrap), pytest.param("docker", marks=pytest.mark.docker)],
)
def test_the_demo_shows_every_step_and_is_accepted(backend: str, tmp_path: Path) -> None:
    """Stubs, snippet, each call with its verdict, the budget, the result and where it lies."""
    ran = subprocess.run(
        [sys.executable, "-m", "harness.front.cli.main", "demo", "--backend", backend, "--folder", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "COLUMNS": "200"},
        cwd=tmp_path,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for shown in ("def list_airports(", "the snippet", "REPLAYED", "DENIED", "wall_seconds", "accepted", "delivered"):
        assert shown in ran.stdout
    (written,) = (tmp_path / "results").iterdir()
    assert json.loads(written.read_text("utf-8")) == {
        "northernmost": {
            "AK": "Wiley Post Will Rogers Memorial (71.29 degrees)",
            "OR": "Astoria Regional (46.16 degrees)",
            "WA": "Dorothy Scott (48.96 degrees)",
        },
        "rows_read": 385,
        "refused": "out_of_scope",
    }


@pytest.mark.bubblewrap
def test_only_those_over_their_limit_come_back(tmp_path: Path) -> None:
    """20 employees, thousands of lines: the result is a hundredth of what single calls would put before a model."""
    folder = ROOT / "examples" / "expenses"
    harness = Harness.from_file(folder / "harness.yaml", backend="bubblewrap")
    harness.folder = tmp_path
    result = harness.run_sync(folder / "contract.yaml", (folder / "snippet.py").read_text("utf-8"))
    assert result.outcome is Outcome.ACCEPTED, result.ending
    assert [line["name"] for line in result.result] == [f"Employee {i:02}" for i in (0, 6, 7, 12, 15)]
    assert len(result.calls) == 24
