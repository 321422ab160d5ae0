"""Fixtures of the boxes' tests."""

from tests.sandbox.boxes import probe_tree
from tests.sandbox.engines import client, endpoint, probe_image

__all__ = ["client", "endpoint", "probe_image", "probe_tree"]
