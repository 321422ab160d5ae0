"""Fixtures of the boxes' tests."""

from tests.sandbox.boxes import probe_tree

__all__ = ["probe_tree"]
