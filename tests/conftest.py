"""What every test may count on: which backends this machine has, and that a missing one is said, or fails in CI."""

import os
import shutil
from functools import cache

import pytest

BACKENDS = ("docker", "bubblewrap")


@cache
def missing(backend: str) -> str:
    """Why a backend cannot be used here; empty where it can."""
    from harness.sandbox.doctor import why_not

    return why_not(backend)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that look at the whole engine (its images, its containers) run one after the other, in one worker."""
    for item in items:
        if item.get_closest_marker("docker") is not None and "tests/sandbox/" in item.nodeid:
            item.add_marker(pytest.mark.xdist_group("engine"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test that needs a backend is skipped with the reason where it is missing; in CI that is a failure."""
    for backend in BACKENDS:
        if item.get_closest_marker(backend) is None:
            continue
        reason = missing(backend)
        if reason and os.environ.get("CI") == "true":
            pytest.fail(f"{backend} is missing, and CI has everything: {reason}", pytrace=False)
        if reason:
            pytest.skip(f"{backend}: {reason}")


@pytest.fixture
def short_tmp():
    """A folder with a short path, for sockets; gone afterwards."""
    import tempfile

    folder = tempfile.mkdtemp(prefix="hx", dir="/tmp")
    yield folder
    shutil.rmtree(folder)
