"""The one place that chooses a backend. Nothing ever runs without one: where none works, both mends are named."""

import asyncio
from collections.abc import Callable
from enum import StrEnum

from harness.core.errors import EnvironmentUnavailable
from harness.core.ports import Backend
from harness.sandbox.bwrap_program import probe
from harness.sandbox.docker_pool import DockerPool
from harness.sandbox.pool import SlotPool
from harness.sandbox.spec import SandboxSpec

__all__ = ["Choice", "choose"]


class Choice(StrEnum):
    """`sandbox.backend` of the host file."""

    AUTO = "auto"
    DOCKER = "docker"
    BUBBLEWRAP = "bubblewrap"


async def choose(
    setting: Choice, spec: SandboxSpec | None = None, *, told: Callable[[str], None] | None = None
) -> Backend:
    """A backend that works on this machine, looked at before it is given out.

    AUTO takes a Docker engine that answers, holds every limit and has or can make the image; else bubblewrap. A runtime
    in `spec` is the engine's: then AUTO takes nothing else. `told` hears, in a sentence, what was passed over and why,
    and which image was taken where it is not the first choice.
    Raises EnvironmentUnavailable with the way out for each backend that was tried.
    """
    wanted = spec if spec is not None else SandboxSpec()
    hear = told if told is not None else _nobody
    if setting is Choice.DOCKER:
        return await _docker(wanted, hear)
    if setting is Choice.BUBBLEWRAP:
        return await _bubblewrap(wanted)
    try:
        return await _docker(wanted, hear)
    except EnvironmentUnavailable as no_docker:
        if wanted.runtime or wanted.image:
            raise
        hear(f"docker is passed over: {no_docker.message}")
        try:
            return await _bubblewrap(wanted)
        except EnvironmentUnavailable as no_bubblewrap:
            raise EnvironmentUnavailable(
                "no backend works on this machine, and nothing runs without one: "
                f"docker: {no_docker.message}; bubblewrap: {no_bubblewrap.message}",
                hint=f"for docker: {no_docker.hint}; or for bubblewrap: {no_bubblewrap.hint}",
            ) from no_bubblewrap


async def _docker(spec: SandboxSpec, hear: Callable[[str], None]) -> Backend:
    backend = DockerPool()
    image = await backend.image(spec)
    if image.note:
        hear(image.note)
    return backend


async def _bubblewrap(spec: SandboxSpec) -> Backend:
    if spec.runtime or spec.image:
        setting = "runtime" if spec.runtime else "image"
        raise EnvironmentUnavailable(
            f"`sandbox.{setting}` means nothing to bubblewrap", hint=f"leave `{setting}` out, or use the docker backend"
        )
    await asyncio.to_thread(probe)
    return SlotPool()


def _nobody(_: str) -> None:
    """Hears nothing."""
