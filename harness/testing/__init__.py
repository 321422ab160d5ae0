"""Fakes for tests of contracts and tools: real classes that pass the same batteries as the real parts."""

from harness.testing.approver import FakeApprover
from harness.testing.clock import FakeClock
from harness.testing.script_box import BoxSide, ScriptBackend

__all__ = ["BoxSide", "FakeApprover", "FakeClock", "ScriptBackend"]
