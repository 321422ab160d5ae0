"""The host file `harness.yaml`: where tools come from, and how this machine runs contracts.

Paths in it are relative to its folder.
"""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from harness.contract.amounts import refuse
from harness.contract.host_tools import ToolSource
from harness.contract.load import build_model, read_document
from harness.contract.sections import Section, Text
from harness.core.errors import ContractRefused, Fault

__all__ = ["BackendChoice", "HostFile", "HostSandbox", "SecretSource", "ToolSource", "load_host"]


class BackendChoice(StrEnum):
    """Which way of making boxes this host uses."""

    AUTO = "auto"
    """Docker where an engine answers, else bubblewrap; never none."""
    DOCKER = "docker"
    BUBBLEWRAP = "bubblewrap"


class HostSandbox(Section):
    """The boxes of this host."""

    backend: BackendChoice = BackendChoice.AUTO
    image: Text = ""
    """Image by digest or name; unstated is the harness's own."""
    runtime: Text = ""
    """Runtime of the engine; unstated is its default."""


class SecretSource(Section):
    """Where a secret's value comes from when it is needed. Exactly one key."""

    env: Text = ""
    """Environment variable of the host process."""
    file: Text = ""

    @model_validator(mode="after")
    def _one(self) -> "SecretSource":
        if bool(self.env) == bool(self.file):
            raise refuse("bad_secret", "a secret comes from one place", "write `env: VARIABLE` or `file: PATH`")
        return self


class HostFile(Section):
    """One host. Every key has a default; a host without tools can check contracts."""

    tools: tuple[ToolSource, ...] = ()
    policy: Text = ""
    """Policy file; none: the built-in one."""
    store: Text = ".harness"
    """Folder of the journal and the audit."""
    announce: Text = ""
    """Webhook that hears of waiting bundles: counts and a reference, no arguments; none: nobody is told.
    May hold `${secret:NAME}`, where the policy lets it stand in a `webhook`."""
    sandbox: HostSandbox = HostSandbox()
    secrets: Mapping[str, SecretSource] = Field(default_factory=dict)


def load_host(path: Path | str | Mapping[str, Any]) -> HostFile:
    """The host file at `path`. Raises ContractRefused with every fault."""
    document = read_document(path)
    host = build_model(HostFile, document, {})
    faults = [
        Fault("bad_source", f"two sources are called `{name}`", "give each its own name", document.places.of("tools"))
        for name, count in Counter(source.name for source in host.tools if not source.python).items()
        if count > 1
    ]
    if faults:
        raise ContractRefused(faults)
    return host
