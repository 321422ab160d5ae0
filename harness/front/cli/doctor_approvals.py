"""What `harness doctor` says of approvals: where this user, as whom an agent may act, could approve by itself."""

import os
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from harness.api import Harness
from harness.approvals.decision import load_key
from harness.contract.policy import Policy
from harness.core.errors import Refused
from harness.sandbox.finding import Finding, Status

__all__ = ["approval_findings"]

MAX_KEY_BYTES = 100_000
"""Files in `~/.ssh` above it are no keys."""


def approval_findings(host_file: Path, home: Path | None = None) -> list[Finding]:
    """The findings over a host file; none where there is none, or it does not load: `harness check` says why."""
    if not host_file.is_file():
        return []
    try:
        harness = Harness.from_file(host_file)
    except Refused:
        return []
    return [_keys(harness.policy, (home or Path.home()) / ".ssh"), _store(harness.folder / harness.host.store)]


def _keys(policy: Policy, folder: Path) -> Finding:
    name = "approvers"
    if not policy.approvers:
        return Finding(name, Status.OPTIONAL, "the policy names no approver: nobody can decide", "list `approvers`")
    theirs = {" ".join(key.split()[:2]): each.name for each in policy.approvers for key in each.keys}
    readable = sorted({theirs[key] for key in _readable(folder) if key in theirs})
    if readable:
        names = ", ".join(readable)
        detail = f"this user can read the key of {names} in {folder}: an agent that acts as it could approve"
        return Finding(name, Status.MISSING, detail, "keep approvers' keys with another user, or on another machine")
    return Finding(name, Status.WORKS, f"{len(policy.approvers)} in the policy; no key of theirs lies in {folder}")


def _readable(folder: Path) -> list[str]:
    """Public halves of the private keys that can be read without a passphrase."""
    found: list[str] = []
    for path in sorted(folder.iterdir()) if os.access(folder, os.R_OK | os.X_OK) else ():
        try:
            if not path.is_file() or path.stat().st_size > MAX_KEY_BYTES:
                continue
            key = load_key(path.read_bytes())
        except (OSError, Refused):
            continue
        found.append(key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode("ascii"))
    return found


def _store(folder: Path) -> Finding:
    name = "approvals store"
    if not folder.exists():
        return Finding(name, Status.WORKS, f"{folder} is not made yet", "")
    if os.access(folder, os.W_OK):
        detail = (
            f"this user can write {folder}: an agent that acts as it could write decisions; the audit would show it"
        )
        hint = "run agents as another user, who reaches the harness over MCP or HTTP"
        return Finding(name, Status.MISSING, detail, hint)
    return Finding(name, Status.WORKS, f"{folder} is closed to this user", "")
