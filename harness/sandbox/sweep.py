"""Containers that a killed host left behind: found by their labels, removed where their owner is proven dead."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from harness.sandbox.docker_args import LABEL, OWNER_LABEL
from harness.sandbox.engine import Engine, EngineRefused
from harness.sandbox.owner import Owner, proven_dead, this_owner

__all__ = ["is_abandoned", "sweep_containers"]


async def sweep_containers(engine: Engine) -> list[str]:
    """Remove them; their ids. Raises EnvironmentUnavailable where the engine cannot be asked."""
    query = {"all": "1", "filters": json.dumps({"label": [f"{LABEL}={this_owner().machine}"]})}
    removed = []
    for container in await engine.get("/containers/json", query):
        if is_abandoned(container):
            with suppress(EngineRefused):
                await engine.request("DELETE", f"/containers/{container['Id']}", query={"force": "1", "v": "1"})
                removed.append(str(container["Id"]))
    return removed


def is_abandoned(container: Mapping[str, Any]) -> bool:
    """Whether a listed container has lost its owner for good: anything unclear is left alone.

    The owner's process is gone; or the machine was started anew since, and the container runs no more.
    """
    owner = Owner.parse(str((container.get("Labels") or {}).get(OWNER_LABEL, "")))
    if owner is None:
        return False
    mine = this_owner()
    rebooted = owner.machine == mine.machine and owner.boot != mine.boot and container.get("State") != "running"
    return rebooted or proven_dead(owner)
