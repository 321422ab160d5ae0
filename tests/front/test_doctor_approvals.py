"""Doctor says where the agent's own user could approve."""

import json
import subprocess
from pathlib import Path

from harness.front.cli.doctor_approvals import approval_findings


def host(folder: Path, keys: Path) -> Path:
    """A host whose approver's key lies in a home."""
    (keys / ".ssh").mkdir(parents=True)
    key = keys / ".ssh" / "id_ed25519"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    approvers = [{"name": "boss", "keys": [key.with_suffix(".pub").read_text().strip()]}]
    (folder / "policy.json").write_text(json.dumps({"policy": "p", "version": 1, "approvers": approvers}))
    (folder / "harness.yaml").write_text("policy: policy.json\n")
    return folder / "harness.yaml"


def test_a_readable_key_of_an_approver_is_told(tmp_path: Path) -> None:
    """With whose it is and where it lies."""
    keys, store = approval_findings(host(tmp_path, tmp_path / "home"), tmp_path / "home")
    assert (keys.name, keys.status.value) == ("approvers", "missing")
    assert "the key of boss in" in keys.detail
    assert (store.name, store.status.value) == ("approvals store", "works")


def test_keys_that_lie_elsewhere_are_fine_and_a_store_that_can_be_written_is_told(tmp_path: Path) -> None:
    """The same user can write the record of decisions."""
    (tmp_path / ".harness").mkdir()
    keys, store = approval_findings(host(tmp_path, tmp_path / "home"), tmp_path)
    assert (keys.status.value, store.status.value) == ("works", "missing")


def test_without_a_host_file_nothing_is_said(tmp_path: Path) -> None:
    """Doctor works everywhere."""
    assert approval_findings(tmp_path / "harness.yaml") == []
