"""What `harness doctor` says of tool sources: whose process can read the host's store, keys and decisions."""

from pathlib import Path

from harness.contract.host import load_host
from harness.contract.host_tools import McpSource
from harness.core.errors import Refused
from harness.sandbox.finding import Finding, Status

__all__ = ["source_findings"]


def source_findings(host_file: Path, *, root: bool) -> list[Finding]:
    """One for each server that is a process; none where no host file loads. `root`: the host may become other users."""
    if not host_file.is_file():
        return []
    try:
        host = load_host(host_file)
    except Refused:
        return []
    return [_finding(said.mcp, root) for said in host.tools if said.mcp is not None and said.mcp.command]


def _finding(source: McpSource, root: bool) -> Finding:
    name = f"source {source.name}"
    if source.user:
        if root:
            return Finding(name, Status.WORKS, f"runs as `{source.user}`, who cannot read the store, keys and secrets")
        detail = f"wants to run as `{source.user}`, and only root can become another user: it does not start"
        return Finding(name, Status.MISSING, detail, "start the host as root, or give the source a `box` instead")
    if source.box is not None:
        return Finding(name, Status.WORKS, "runs in a box that shows neither store nor secrets")
    detail = "runs as the host's own user: it can read the store, keys, secrets and what decisions are made of"
    mend = "write `user: apart`, or `box: {}`" if root else "write `box: {}`: it shows neither store nor secrets"
    return Finding(name, Status.MISSING, detail, mend)
