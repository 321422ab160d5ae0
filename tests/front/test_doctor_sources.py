"""Doctor says which server's process can read what is the host's alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.front.cli.doctor_sources import source_findings

OWN = "runs as the host's own user: it can read the store, keys, secrets and what decisions are made of"


@pytest.mark.parametrize(
    ("more", "root", "status", "words"),
    [
        ({}, True, "missing", (OWN, "write `user: apart`, or `box: {}`")),
        ({}, False, "missing", (OWN, "write `box: {}`: it shows neither store nor secrets")),
        ({"user": "apart"}, True, "works", ("runs as `apart`, who cannot read the store, keys and secrets", "")),
        ({"box": {}}, False, "works", ("runs in a box that shows neither store nor secrets", "")),
    ],
)
def test_each_process_is_told_apart(
    more: dict[str, Any], root: bool, status: str, words: tuple[str, str], tmp_path: Path
) -> None:
    """With the mend that is possible for this host."""
    source = {"mcp": {"name": "clock", "command": "clock-server", **more}}
    (tmp_path / "harness.yaml").write_text(json.dumps({"tools": [source]}))
    (found,) = source_findings(tmp_path / "harness.yaml", root=root)
    assert (found.name, found.status.value, (found.detail, found.hint)) == ("source clock", status, words)


def test_a_user_that_cannot_be_had_is_told(tmp_path: Path) -> None:
    """Such a source does not start."""
    source = {"mcp": {"name": "clock", "command": "clock-server", "user": "apart"}}
    (tmp_path / "harness.yaml").write_text(json.dumps({"tools": [source]}))
    (found,) = source_findings(tmp_path / "harness.yaml", root=False)
    assert (found.status.value, "does not start" in found.detail) == ("missing", True)


def test_an_address_and_no_host_are_nothing_to_tell(tmp_path: Path) -> None:
    """Only processes of this machine run as somebody."""
    assert source_findings(tmp_path / "harness.yaml", root=True) == []
    (tmp_path / "harness.yaml").write_text(json.dumps({"tools": [{"mcp": {"name": "far", "url": "https://x.org"}}]}))
    assert source_findings(tmp_path / "harness.yaml", root=True) == []
