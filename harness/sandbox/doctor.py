"""What this machine offers to boxes: each thing looked at, said in a sentence, with the mend where it is missing.

It changes nothing but this: the live check starts one box on each backend that works, and removes it.
"""

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from harness.core.errors import EnvironmentUnavailable
from harness.core.ports import Backend
from harness.sandbox.backends import Choice, choose
from harness.sandbox.bwrap_program import probe
from harness.sandbox.cgroup import find
from harness.sandbox.endpoint import find_endpoint
from harness.sandbox.engine import Engine
from harness.sandbox.engine_info import read_info, shortfalls
from harness.sandbox.finding import Finding, Status
from harness.sandbox.image_inputs import DEFAULT_BASE, find_image
from harness.sandbox.kernel import has_swap, landlock_version
from harness.sandbox.machine import machine_findings, path_lengths
from harness.sandbox.rendezvous import LONGEST_NAME, SOCKET_NAME, run_folder
from harness.sandbox.seccomp import architecture
from harness.sandbox.spec import SandboxSpec
from harness.walls.bubblewrap import find_program
from harness.walls.cache import cache_root

__all__ = ["Finding", "Status", "doctor", "examine", "why_not"]

GVISOR = "runsc"


def doctor(*, live: bool = True) -> list[Finding]:
    """Look at everything. `live`: start a box on each backend that works, and verify it. Call outside a loop."""
    return asyncio.run(examine(live=live))


async def examine(*, live: bool = True) -> list[Finding]:
    """As `doctor`, inside a running loop."""
    findings = [*_docker_findings(await _engine()), *_local_findings()]
    if live:
        for finding in list(findings):
            if finding.name in (Choice.DOCKER, Choice.BUBBLEWRAP) and finding.status is Status.WORKS:
                findings.append(await _live(Choice(finding.name)))
    return findings


def why_not(backend: str) -> str:
    """Why a backend cannot be used here, in a sentence; empty where it can. Starts no box. Call outside a loop.

    Raises ValueError where there is no such backend.
    """
    if Choice(backend) is Choice.BUBBLEWRAP:
        findings = [_bubblewrap_finding()]
    else:
        findings = [finding for finding in asyncio.run(_engine()) if finding.name == Choice.DOCKER]
    return next((finding.detail for finding in findings if finding.status is Status.MISSING), "")


async def _engine() -> list[Finding]:
    """The engine, its image and its other runtime."""
    try:
        engine = Engine(find_endpoint())
        info = await engine.get("/info")
    except EnvironmentUnavailable as error:
        return [Finding("docker", Status.MISSING, error.message, error.hint)]
    facts = read_info(info)
    lacking = shortfalls(info, runtime="", swap=not engine.endpoint.socket or has_swap())
    if lacking:
        return [Finding("docker", Status.MISSING, item.message, item.hint) for item in lacking]
    manner = "rootless, " if facts.rootless else ""
    detail = f"version {facts.version} at {engine.endpoint}, {manner}control groups version {facts.cgroup}"
    found = [Finding("docker", Status.WORKS, detail)]
    try:
        image = await find_image(engine)
        found.append(
            Finding("docker image", Status.WORKS, f"{image.id[:19]}, built on `{image.base}`")
            if image is not None
            else Finding(
                "docker image",
                Status.OPTIONAL,
                f"not built yet; the first run builds it on `{DEFAULT_BASE}`, or on this host's Python",
                "build it beforehand: harness image build",
            )
        )
    except EnvironmentUnavailable as error:
        found.append(Finding("docker image", Status.MISSING, error.message, error.hint))
    gvisor = shortfalls(info, runtime=GVISOR, swap=False)
    if gvisor:
        found.append(Finding("gvisor", Status.OPTIONAL, gvisor[0].message, gvisor[0].hint))
    else:
        found.append(
            Finding("gvisor", Status.WORKS, f"the engine has the runtime `{GVISOR}`: `sandbox.runtime: {GVISOR}`")
        )
    return found


def _docker_findings(found: list[Finding]) -> Iterator[Finding]:
    yield from found
    if found[0].status is Status.WORKS:
        try:
            folder = run_folder()
            yield Finding("sockets", Status.WORKS, f"in `{folder}`")
            yield path_lengths(folder, len(f"ffffffff{LONGEST_NAME}/{SOCKET_NAME}"))
        except EnvironmentUnavailable as error:
            yield Finding("sockets", Status.MISSING, error.message, error.hint)


def _local_findings() -> Iterator[Finding]:
    yield _bubblewrap_finding()
    yield _groups_finding()
    yield _kernel_finding()
    yield _landlock_finding()
    yield from machine_findings(now=time.time(), installed=Path(__file__).stat().st_mtime)
    minor = f"{sys.version_info.major}.{sys.version_info.minor}"
    yield Finding("python", Status.WORKS, f"{minor}, here and in every box; trees in `{cache_root()}`")


def _bubblewrap_finding() -> Finding:
    try:
        program = find_program()
        probe()
    except EnvironmentUnavailable as error:
        return Finding("bubblewrap", Status.MISSING, error.message, error.hint)
    user = "as root, boxes under users of their own" if os.geteuid() == 0 else "as this user"
    return Finding("bubblewrap", Status.WORKS, f"`{program.path}` ({program.source}), {user}")


def _groups_finding() -> Finding:
    try:
        parent = find()
    except (OSError, ValueError):
        parent = None
    if parent is None:
        return Finding(
            "control groups",
            Status.OPTIONAL,
            "this process may make none: a bubblewrap box is a single process, held by its address space",
            "run under `systemd-run --user --scope -p Delegate=yes`, as root, or use the docker backend",
        )
    return Finding("control groups", Status.WORKS, "bubblewrap boxes get one each: memory, processes, processor")


def _kernel_finding() -> Finding:
    try:
        architecture()
    except EnvironmentUnavailable as error:
        return Finding("seccomp", Status.MISSING, error.message, error.hint)
    if not any(line.startswith("Seccomp:") for line in Path("/proc/self/status").read_text().splitlines()):
        return Finding(
            "seccomp", Status.MISSING, "the kernel has no seccomp", "use a kernel with CONFIG_SECCOMP_FILTER"
        )
    return Finding("seccomp", Status.WORKS, f"filters for {os.uname().machine}, kernel {os.uname().release}")


def _landlock_finding() -> Finding:
    version = landlock_version()
    if version < 1:
        return Finding(
            "landlock",
            Status.OPTIONAL,
            "the kernel has none: boxes stand without this second wall around files",
            "kernel 5.13 or later with `landlock` in its `lsm=` list",
        )
    return Finding("landlock", Status.WORKS, f"version {version}")


async def _live(choice: Choice) -> Finding:
    """One box: started, its confinement and limits read back from the host, removed."""
    name = f"{choice} live box"
    backend: Backend | None = None
    try:
        spec = SandboxSpec()
        backend = await choose(choice, spec)
        box = await backend.start(spec)
        try:
            await box.verify()
        finally:
            await box.close()
    except EnvironmentUnavailable as error:
        return Finding(name, Status.MISSING, error.message, error.hint)
    finally:
        if backend is not None:
            await backend.close()
    return Finding(name, Status.WORKS, "started, confined as the kernel says, limits read back, removed")
