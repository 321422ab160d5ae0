"""Isolation is data: every wall says how it is held, against what, and names the test that tries the opposite."""

import ast
from dataclasses import astuple
from pathlib import Path

from harness.sandbox.isolation import WALLS


def test_every_wall_is_tried() -> None:
    """No line without a test in a live box, no empty word, no name twice."""
    tests = {
        node.name
        for file in ("test_box.py", "test_pool.py")
        for node in ast.parse(Path(__file__).with_name(file).read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    assert [wall.name for wall in WALLS if wall.test not in tests] == []
    assert [wall.name for wall in WALLS if not all(astuple(wall))] == []
    assert len({wall.name for wall in WALLS}) == len(WALLS)
