"""The pytest plugin: "this snippet under this contract must end as X", for the tests of tools and contracts."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.api import Harness
from harness.core.ending import Outcome, ReasonCode
from harness.report import RunResult

__all__ = ["Ends", "must_end", "pytest_addoption"]

Ends = Callable[..., RunResult]


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--harness-host`: the host file whose tools, policy and backend the fixture uses."""
    parser.addoption("--harness-host", default="harness.yaml", help="host file of the must_end fixture")


@pytest.fixture
def must_end(request: pytest.FixtureRequest, tmp_path: Path) -> Ends:
    """A function `(contract, snippet, outcome, reason, inputs=None, host=None)` that runs and compares the ending.

    Results and record go to a temporary folder. It returns the result for further looks.
    """
    default = str(request.config.getoption("--harness-host"))

    def ends(
        contract: Path | str | Mapping[str, Any],
        snippet: str,
        ending: tuple[Outcome | str, ReasonCode | str],
        inputs: Mapping[str, Any] | None = None,
        host: Path | str | None = None,
    ) -> RunResult:
        harness = Harness.from_file(host or default)
        harness.folder = tmp_path
        result = harness.run_sync(contract, snippet, inputs)
        got = (result.outcome.value, result.reason.value)
        assert got == tuple(str(each) for each in ending), f"{got}: {result.ending.detail}"
        return result

    return ends
