"""Fixtures of the boxes' tests."""

import os
from collections.abc import Iterator

import pytest

from harness.sandbox.leftover import remove_left
from tests.sandbox.boxes import groups_of, probe_tree
from tests.sandbox.engines import client, endpoint, probe_image

__all__ = ["client", "endpoint", "no_group_is_left", "probe_image", "probe_tree"]


@pytest.fixture(autouse=True)
def no_group_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test that makes boxes leaves a control group of this process behind."""
    yield
    if request.node.get_closest_marker("bubblewrap") is None:
        return
    remove_left()
    assert groups_of(os.getpid()) == set()
