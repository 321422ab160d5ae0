"""Fixtures of the boxes' tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.sandbox.leftover import remove_left
from tests.sandbox.boxes import probe_tree
from tests.sandbox.engines import client, endpoint, probe_image

__all__ = ["client", "endpoint", "no_group_is_left", "probe_image", "probe_tree"]


@pytest.fixture(autouse=True)
def no_group_is_left() -> Iterator[None]:
    """No test leaves a control group of this process behind."""
    yield
    remove_left()
    assert list(Path("/sys/fs/cgroup").glob(f"**/execution-harness-*.{os.getpid()}.*")) == []
