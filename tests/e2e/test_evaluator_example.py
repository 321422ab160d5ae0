"""An evaluator and an optimiser that would swing for ever: the contract ends it, and the record says why."""

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

from harness.ledger.sqlite import SqliteStore

EXAMPLE = Path(__file__).parents[2] / "examples" / "evaluator"


@pytest.mark.bubblewrap
def test_it_stops_as_stuck(tmp_path):
    """After four iterations without a better score, of the twenty that it may have."""
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".harness", "results", "__pycache__"))
    spec = importlib.util.spec_from_file_location("optimise_example", folder / "optimise.py")
    optimise = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(optimise)
    result = optimise.main("bubblewrap")
    assert (result.outcome.value, result.reason.value) == ("rejected", "stuck")
    assert result.ending.detail == "no progress in 4 iterations: the best measure is still 0.89"
    assert [line.output["score"] for line in result.iterations] == [0.89, 0.88, 0.89, 0.88, 0.89]
    assert result.deliveries == []

    store = SqliteStore(folder / ".harness" / "journal.db")
    stopped = [json.loads(entry.data) for entry in store.entries(result.run) if entry.kind == "stopped"]
    store.close()
    assert stopped == [{"detail": "no progress in 4 iterations: the best measure is still 0.89"}]
