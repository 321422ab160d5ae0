"""The worked example: a flaky test is mended without changing the product; every dishonest way has its own ending."""

import shutil
from pathlib import Path

import pytest

from harness.api import Harness

EXAMPLE = Path(__file__).parents[2] / "examples" / "flaky-test"

ENDINGS = {
    "asks": ("unresolved", "escalated", "is what retry does in this case what its callers count on?"),
    "good": ("accepted", "contract_passed", ""),
    "deletes_the_test": (
        "rejected",
        "contract_failed",
        "the postcondition `intended-test-collected` is failed: `result.collected == 1` is false (and 2 more)",
    ),
    "edits_outside": (
        "rejected",
        "snippet_failed",
        "the snippet raised ToolDenied in line 5: `path` of `edit_file` is outside the contract's scope: "
        "`behaviour/test_public.py` (`path` may be a path under `retry`, without `..`)",
    ),
    "raises_the_retry_count": (
        "rejected",
        "contract_failed",
        "the invariant `public-behaviour` is failed: `result.status == 'passed' && result.collected == 4` is false",
    ),
    "collects_nothing": (
        "rejected",
        "contract_failed",
        "the postcondition `suite-collected` is failed: `result.collected > 0` is false (and 2 more)",
    ),
}


@pytest.fixture
def example(tmp_path):
    """A copy of the example, so that nothing stays behind."""
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".work", ".harness", "results"))
    return folder


def run(folder, proposal):
    """One scripted proposal under the contract."""
    harness = Harness.from_file(folder / "harness.yaml", backend="bubblewrap")
    source = (folder / "proposals" / f"snippet_{proposal}.py").read_text("utf-8")
    return harness.run_sync(folder / "contract.yaml", source)


@pytest.mark.bubblewrap
@pytest.mark.parametrize("proposal", ENDINGS)
def test_flaky_proposals_end_as_they_deserve(example, proposal):
    """Outcome, reason and sentence."""
    result = run(example, proposal)
    detail = result.ending.detail.rpartition(": ")[2] if proposal == "asks" else result.ending.detail
    assert (result.outcome.value, result.reason.value, detail) == ENDINGS[proposal]
    assert [delivery["status"] for delivery in result.deliveries] == (["delivered"] if proposal == "good" else [])
    if proposal == "good":
        trials = next(check for check in result.checks if check["id"] == "focused-test-passes")["evidence"]
        assert len(trials) == 6
        assert {trial["seen"]["tree"] for trial in trials} == {result.result["tree"]}
        assert trials[0]["seen"]["tests"] == ["retry.test_retry::test_succeeds_on_the_third_attempt"]


@pytest.mark.bubblewrap
def test_flaky_needs_a_recorded_failure(example):
    """Without a failure on record there is nothing to mend: no box starts."""
    record = example / "repo" / "ci" / "history.json"
    record.write_text(record.read_text("utf-8").replace("101", "0"), "utf-8")
    result = run(example, "good")
    assert result.ending.detail.startswith("the precondition `recorded-as-intermittent` is failed")
    assert result.iterations == []


def test_flaky_names_every_proposal():
    """No proposal of the example is without its ending here."""
    found = {path.stem.removeprefix("snippet_") for path in (EXAMPLE / "proposals").glob("*.py")}
    assert found == set(ENDINGS)
