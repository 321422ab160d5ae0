"""Which image a box needs, by the digest of what goes into it, and whether the engine has it. Builds nothing."""

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import quote

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.engine import Engine, EngineRefused
from harness.sandbox.tree import base_tree, box_digest

__all__ = [
    "BOX_LABEL",
    "DEFAULT_BASE",
    "DOCKERFILE",
    "HOST_BASE",
    "INPUTS_LABEL",
    "MINOR",
    "ORIGIN_LABEL",
    "Image",
    "Origin",
    "box_tag",
    "find_image",
    "from_inspect",
    "host_reference",
    "inputs_digest",
    "preferred",
]

DOCKERFILE = Path(__file__).parent / "Dockerfile.sandbox"
INPUTS_LABEL = "execution-harness.inputs"
"""Digest of everything that went into a built image."""
REPOSITORY = "execution-harness-box"
BOX_LABEL = "execution-harness.box"
"""Digest of the box packages in it: the host must speak with its own version of them."""
ORIGIN_LABEL = "execution-harness.origin"
MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"
DEFAULT_BASE = f"python:{MINOR}-slim"
"""The official image of this Python's minor version: the host sends compiled code."""
HOST_BASE = "execution-harness-host"
"""Repository of the base that is made from this host's Python; its tag is the digest of that tree."""


class Origin(StrEnum):
    """Where an image's base came from."""

    FOUND = "found"
    LOCAL = "local"
    PULLED = "pulled"
    FROM_HOST = "from_host"


@dataclass(frozen=True, slots=True)
class Image:
    """An image that boxes can be made of."""

    id: str
    """`sha256:…`."""
    origin: Origin
    """FOUND where an earlier start had built it."""
    base: str
    """What it was built on, as a person names it."""
    variables: tuple[str, ...] = ()
    """Environment variables that the image sets, by name: each container unsets them."""
    note: str = ""
    """One sentence where another image than the first choice was taken, and why."""


def inputs_digest(base_id: str) -> str:
    """SHA-256 hex over the Dockerfile, the box packages, the Python version and the base's own digest."""
    parts = (DOCKERFILE.read_text(), box_digest(), MINOR, base_id)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def host_reference() -> str:
    """Name and tag of the base that is made from this host."""
    return f"{HOST_BASE}:{base_tree().name.removeprefix('base-')}"


async def find_image(engine: Engine, name: str = "") -> Image | None:
    """The image for `name` (a base, or an image built for boxes; empty: the default choice), if the engine has it.

    Raises EnvironmentUnavailable where the named image was built for another version of the harness.
    """
    for base in (name,) if name else (DEFAULT_BASE, host_reference()):
        local = await _inspect(engine, base)
        if local is None:
            continue
        labels = (local.get("Config") or {}).get("Labels") or {}
        if BOX_LABEL in labels:
            if labels[BOX_LABEL] != box_digest():
                raise EnvironmentUnavailable(
                    f"the image `{base}` holds the box of another version of the harness",
                    hint=f"build it again: harness image build --base {labels.get(ORIGIN_LABEL, 'BASE')}",
                )
            return from_inspect(local, Origin.FOUND)
        digest = inputs_digest(local["Id"])
        found = await engine.get("/images/json", {"filters": f'{{"label":["{INPUTS_LABEL}={digest}"]}}'})
        if found and (built := await _inspect(engine, preferred(found, digest))):
            return from_inspect(built, Origin.FOUND)
    return None


def box_tag(digest: str) -> str:
    """The name of the image that is built of these inputs."""
    return f"{REPOSITORY}:{digest[:16]}"


def preferred(found: Sequence[Mapping[str, Any]], digest: str) -> str:
    """The id of always the same one of several images of the same inputs, as two hosts that built at once leave them.

    `found`: the engine's list; not empty.
    """
    tag = box_tag(digest)
    ranked = min(found, key=lambda each: (tag not in (each.get("RepoTags") or ()), each.get("Created", 0), each["Id"]))
    return str(ranked["Id"])


def from_inspect(found: dict[str, Any], origin: Origin, note: str = "") -> Image:
    """The image that the engine describes."""
    config = found.get("Config") or {}
    names = tuple(sorted({item.partition("=")[0] for item in config.get("Env") or ()}))
    base = str((config.get("Labels") or {}).get(ORIGIN_LABEL, ""))
    return Image(str(found["Id"]), origin, base, names, note)


async def _inspect(engine: Engine, reference: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = await engine.get(f"/images/{quote(reference)}/json")
    except EngineRefused as refused:
        if refused.status == 404:
            return None
        raise
    return found
