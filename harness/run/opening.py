"""Opening a run: its row with all that a later attempt needs, and the same run opened again from it."""

import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from harness.contract.effective import Effective, Terms, bind
from harness.contract.load import load_contract
from harness.contract.policy import Policy
from harness.contract.principal import Principal
from harness.contract.tool import ToolContract
from harness.core.canonical import canonical
from harness.core.clock import utc_text
from harness.core.errors import ContractRefused, Fault, Place, StoreError
from harness.core.ports import RunRow
from harness.run.history import Past
from harness.run.state import Parts

__all__ = [
    "REPLAY_VERSION",
    "Resumption",
    "SameRun",
    "is_alive",
    "new_row",
    "refuse_living",
    "terms_again",
    "this_process",
]

REPLAY_VERSION = 1
"""Of the rules of replay and of the box's chance and clocks: a run is resumed by the version that began it."""


class SameRun(Exception):
    """A submission with the caller's key of an earlier one: it is that run."""

    def __init__(self, row: RunRow) -> None:
        super().__init__(row.id)
        self.row = row


@dataclass(frozen=True, slots=True)
class Resumption:
    """A run that goes on in this process."""

    row: RunRow
    past: Past
    attempt: int
    """The new attempt; the store has fenced the earlier ones."""
    proven_ended: bool
    """Whether the process of the former attempt is proven ended."""


def new_row(parts: Parts, terms: Terms, *, caller_key: str, snippet: str, now: float) -> RunRow:
    """The row of a new run."""
    effective = terms.effective
    contract, principal = effective.contract, effective.principal
    document: dict[str, Any] = {
        "contract": effective.stated,
        "inputs": terms.inputs,
        "principal": {"name": principal.name, "claims": dict(principal.claims), "source": principal.source},
        "claims": dict(principal.claims),
        "policy": {"policy": effective.policy.policy, "version": effective.policy.version},
        "snippet": snippet,
        "pins": _pins(parts),
    }
    return RunRow(
        id=terms.run,
        contract=contract.contract,
        version=contract.version,
        digest=effective.digest,
        principal=principal.name,
        created_at=now,
        status="running",
        attempt=1,
        owner=this_process(),
        document=canonical(document),
        caller_key=caller_key,
    )


def _pins(parts: Parts) -> dict[str, Any]:
    return {"replay": REPLAY_VERSION, "python": ".".join(map(str, sys.version_info[:2])), "image": parts.image}


def terms_again(row: RunRow, parts: Parts, policy: Policy, tools: Mapping[str, ToolContract]) -> Terms:
    """The terms of an earlier run under today's policy and tools. Raises ContractRefused, StoreError."""
    document = json.loads(row.document)
    if document.get("pins") != _pins(parts):
        was = document.get("pins") or {}
        raise StoreError(
            f"the run `{row.id}` was begun by Python {was.get('python')} with replay {was.get('replay')}",
            hint="resume it with the version and image that began it",
        )
    who = document["principal"]
    contract = load_contract(document["contract"], tools=tools)
    effective: Effective = bind(contract, policy, Principal(who["name"], who["claims"], who["source"]), tools)
    if effective.digest != row.digest:
        message = f"the contract of the run `{row.id}` reads differently today"
        raise ContractRefused([Fault("contract_changed", message, "start a new run", Place())])
    return effective.for_run(row.id, document["inputs"])


# --- owners --------------------------------------------------------------------------------------------------


def this_process() -> str:
    """Host, process id and start time: a name that no later process has."""
    return _named(os.getpid())


@cache
def _named(pid: int) -> str:
    """Looked at once; a fork has another id."""
    return f"{platform.node()}:{pid}:{_start_ticks(pid)}"


def is_alive(owner: str) -> bool | None:
    """Whether the process that `owner` names lives; None where that cannot be seen from here."""
    host, _, rest = owner.rpartition(":")[0].rpartition(":")
    if not owner:
        return False
    if host != platform.node() or not rest.isdigit():
        return None
    return _start_ticks(int(rest)) == owner.rpartition(":")[2]


def _start_ticks(pid: int) -> str:
    """Field 22 of the process's stat; empty where there is no such process, or it is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


def refuse_living(row: RunRow, force: bool) -> bool:
    """Whether the former owner is proven ended. Raises StoreError where it lives, or may live elsewhere."""
    alive = is_alive(row.owner)
    if alive is False:
        return True
    if alive is None and force:
        return False
    where = row.owner.split(":")[0]
    if alive:
        raise StoreError(f"the run `{row.id}` is running here, in {row.owner}", hint="wait for it, or cancel it")
    raise StoreError(
        f"the run `{row.id}` belongs to a process on `{where}`, since {utc_text(row.created_at)}",
        hint="resume it there; where that host is gone for good, use `--force`",
    )
