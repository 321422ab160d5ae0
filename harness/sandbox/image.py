"""Building the box's image through docker-py: on a local base, else a pulled one, else on one made from this host.

Slow and rare. The path of a run only asks `image_inputs` whether the image is there.
"""

import asyncio
import io
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import docker
import requests
from docker.auth import get_config_header, resolve_repository_name
from docker.errors import APIError, DockerException, ImageNotFound
from docker.tls import TLSConfig
from docker.utils import parse_repository_tag

import sandbox_image
import tool_stubs
from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.endpoint import Endpoint
from harness.sandbox.engine import Engine, EngineRefused, unreachable
from harness.sandbox.image_inputs import (
    BOX_LABEL,
    DEFAULT_BASE,
    DOCKERFILE,
    HOST_BASE,
    INPUTS_LABEL,
    MINOR,
    ORIGIN_LABEL,
    Image,
    Origin,
    box_tag,
    from_inspect,
    host_reference,
    inputs_digest,
    preferred,
)
from harness.sandbox.tree import base_tree, box_digest
from harness.sandbox.tree_cache import cache_lock

__all__ = ["PULL_SECONDS", "build_image"]

PULL_SECONDS = 120.0
"""The official slim image is 45 MB to fetch: a slow line takes a minute; one that gives nothing must not hold a run."""
BUILD_SECONDS = 300.0
"""A build takes about a second; minutes where the disk is slow."""
KEEP_SECONDS = 14 * 86_400
"""An image of an earlier version is kept for two weeks: another installation on this machine may use it."""
DENIED = ("access denied", "unauthorized", "authentication required", "forbidden")
ABSENT = ("not found", "manifest unknown", "does not exist", "no such image")
DISK = "see the space left on the engine's disk: `docker system df`"
LOAD_HINT = "load it (`docker load -i FILE`), or build on this host's Python: `harness image build --from-host`"


def build_image(
    endpoint: Endpoint, *, base: str = "", from_host: bool = False, pull_seconds: float = PULL_SECONDS
) -> Image:
    """Build the box's image, or find the one that was built of the same inputs.

    `base`: build on this image alone. `from_host`: build on this host's Python alone. Neither: the official image where
    it is here or can be pulled, else this host's Python; the image's `note` says which and why.
    Raises EnvironmentUnavailable, with its own sentence for each cause.
    """
    with cache_lock("image"):
        try:
            with _client(endpoint, BUILD_SECONDS) as client:
                if from_host:
                    return _on(client, _host_base(client), Origin.FROM_HOST)
                return _on_named(client, endpoint, base, pull_seconds)
        except (DockerException, requests.RequestException, OSError) as error:
            raise EnvironmentUnavailable(
                f"the image cannot be built by the engine at {endpoint}: {_line(error)}",
                hint="see `docker info`, and the space left on its disk",
            ) from error


def _on_named(client: docker.APIClient, endpoint: Endpoint, base: str, pull_seconds: float) -> Image:
    """On the named base alone, or on the official image with this host's Python to fall back to."""
    wanted = base or DEFAULT_BASE
    if _local(client, wanted) is not None:
        return _on(client, wanted, Origin.LOCAL)
    try:
        _pull(client, endpoint, wanted, pull_seconds)
    except EnvironmentUnavailable as failed:
        if base:
            raise
        return _on(client, _host_base(client), Origin.FROM_HOST, f"made from this host's Python: {failed.message}")
    return _on(client, wanted, Origin.PULLED)


def _on(client: docker.APIClient, base: str, origin: Origin, note: str = "") -> Image:
    """The image on a base that is here, built unless one of the same inputs exists."""
    found = _local(client, base)
    if found is None:
        raise EnvironmentUnavailable(f"the image `{base}` went away while it was used", hint="try again")
    if BOX_LABEL in ((found.get("Config") or {}).get("Labels") or {}):
        raise EnvironmentUnavailable(
            f"the image `{base}` is a box already, not a base", hint="name the image that it was built on"
        )
    digest = inputs_digest(found["Id"])
    known = client.images(filters={"label": f"{INPUTS_LABEL}={digest}"})
    if known:
        return _described(client, preferred(known, digest), Origin.FOUND, note)
    tag = box_tag(digest)
    lines = client.build(
        fileobj=_context(),
        custom_context=True,
        dockerfile=DOCKERFILE.name,
        tag=tag,
        buildargs={"BASE_IMAGE": base, "PYTHON_MINOR": MINOR},
        labels={INPUTS_LABEL: digest, BOX_LABEL: box_digest(), ORIGIN_LABEL: base},
        network_mode="none",
        rm=True,
        forcerm=True,
        decode=True,
        use_config_proxy=False,
        timeout=int(BUILD_SECONDS),
    )
    said = ""
    for line in lines:
        if "error" in line:
            raise EnvironmentUnavailable(
                f"no box can be built on the image `{base}`: {_line(said or line['error'])}",
                hint=DISK
                if "no space left" in str(line["error"])
                else f"its /usr/local/bin/python3 must be Python {MINOR}, as in `{DEFAULT_BASE}`",
            )
        text = str(line.get("stream", "")).strip()
        said = text if text and not text.startswith(("Step ", "--->", "Removing")) else said
    _sweep(client, digest)
    return _described(client, tag, origin, note)


def _sweep(client: docker.APIClient, current: str) -> None:
    """Remove boxes' images of earlier versions, once they are old; one that is in use stays."""
    limit = time.time() - KEEP_SECONDS
    for image in client.images(filters={"label": INPUTS_LABEL}):
        if image["Created"] < limit and (image.get("Labels") or {}).get(INPUTS_LABEL) != current:
            with suppress(APIError):
                client.remove_image(image["Id"])


def _pull(client: docker.APIClient, endpoint: Endpoint, name: str, seconds: float) -> None:
    """Fetch an image, giving up at the deadline. Raises EnvironmentUnavailable, a sentence for each cause."""
    repository, tag = parse_repository_tag(name)
    registry, _ = resolve_repository_name(repository)
    credentials = (get_config_header(client, registry) or b"").decode()
    try:
        said = asyncio.run(Engine(endpoint).pull(repository, tag or "latest", credentials, seconds))
    except EngineRefused as refused:
        raise _pull_failed(name, refused.message) from refused
    except EnvironmentUnavailable as late:
        raise _too_slow(name, seconds) from late
    for line in said:
        if "error" in line:
            raise _pull_failed(name, str(line["error"]))


def _pull_failed(name: str, said: str) -> EnvironmentUnavailable:
    text = said.lower()
    if any(word in text for word in DENIED):
        return EnvironmentUnavailable(
            f"the image `{name}` is not here, and its registry does not give it to this user: {_line(said)}",
            hint=f"`docker login`, see that the name is right, or {LOAD_HINT}",
        )
    if any(word in text for word in ABSENT) and "lookup" not in text:
        return EnvironmentUnavailable(
            f"the image `{name}` is neither here nor in its registry",
            hint=f"see that the name is right, or {LOAD_HINT}",
        )
    return EnvironmentUnavailable(
        f"the image `{name}` is not here, and its registry cannot be reached: {_line(said)}",
        hint=f"see the engine's network, or {LOAD_HINT}",
    )


def _too_slow(name: str, seconds: float) -> EnvironmentUnavailable:
    return EnvironmentUnavailable(
        f"the image `{name}` is not here, and its registry did not give it within {seconds:g} s",
        hint=f"pull it beforehand (`docker pull {name}`), or {LOAD_HINT}",
    )


def _host_base(client: docker.APIClient) -> str:
    """Name of the base made from this host's Python, imported where the engine does not have it."""
    reference = host_reference()
    if _local(client, reference) is None:
        with tempfile.TemporaryFile() as packed:
            with tarfile.open(fileobj=packed, mode="w") as archive:
                archive.add(base_tree(), arcname=".", filter=_root_owned)
            packed.seek(0)
            answer = client.import_image(packed, repository=HOST_BASE, tag=reference.partition(":")[2])
        if "error" in str(answer):
            raise EnvironmentUnavailable(
                f"the engine does not take this host's Python as an image: {_line(answer)}",
                hint=DISK,
            )
    return reference


def _root_owned(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = 0
    return member


def _context() -> IO[bytes]:
    """What the build reads: the Dockerfile and the sources of the box packages, nothing else of this host."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(DOCKERFILE, arcname=DOCKERFILE.name, filter=_root_owned)
        for package in (sandbox_image, tool_stubs):
            folder = Path(package.__path__[0])
            for file in sorted(folder.rglob("*.py")):
                archive.add(file, arcname=f"{folder.name}/{file.relative_to(folder)}", filter=_readable)
    packed.seek(0)
    return packed


def _readable(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mode = 0o444
    return _root_owned(member)


def _local(client: docker.APIClient, name: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = client.inspect_image(name)  # type: ignore[no-untyped-call]  # its stubs lack types
    except ImageNotFound:
        return None
    return found


def _described(client: docker.APIClient, name: str, origin: Origin, note: str) -> Image:
    found = _local(client, name)
    if found is None:
        raise EnvironmentUnavailable(f"the image `{name}` went away while it was used", hint="try again")
    return from_inspect(found, origin, note)


@contextmanager
def _client(endpoint: Endpoint, seconds: float) -> Iterator[docker.APIClient]:
    tls: TLSConfig | bool = False
    if endpoint.certificates:
        folder = endpoint.certificates
        tls = TLSConfig(
            client_cert=(f"{folder}/cert.pem", f"{folder}/key.pem"), ca_cert=f"{folder}/ca.pem", verify=endpoint.verify
        )
    try:
        client = docker.APIClient(base_url=endpoint.url, version="auto", timeout=int(seconds), tls=tls)
    except DockerException as error:
        raise unreachable(endpoint, _first_cause(error)) from error
    try:
        yield client
    finally:
        client.close()


def _first_cause(error: BaseException) -> Exception:
    """The operating system's error below the client's own layers, where there is one."""
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, OSError) and link.errno:
            return link
        link = link.__cause__ or link.__context__
    return ValueError(str(error))


def _line(error: object) -> str:
    return " ".join(str(getattr(error, "explanation", None) or error).split())[:300]
