"""Building the box's image: which base is taken, found again, and what each way to fail is called (E10)."""

import asyncio
import io
import re
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import docker
import pytest

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.endpoint import Endpoint
from harness.sandbox.engine import Engine
from harness.sandbox.image import build_image
from harness.sandbox.image_inputs import DEFAULT_BASE, DOCKERFILE, Image, Origin, find_image, host_reference
from harness.sandbox.seccomp import docker_profile
from harness.sandbox.spec import SandboxSpec
from harness.sandbox.tree import host_tree

pytestmark = pytest.mark.docker
LOAD = "load it (`docker load -i FILE`), or build on this host's Python: `harness image build --from-host`"


@pytest.fixture
def host_image(endpoint: Endpoint) -> Image:
    """The image on this host's Python, as it is now: another worker may have built it anew."""
    return build_image(endpoint, from_host=True)


@contextmanager
def registry(status: int, code: str, wait: float = 0.0) -> Iterator[str]:
    """A registry on this machine that answers every question alike; the name of an image in it."""
    released = threading.Event()

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if released.wait(wait):
                return
            body = b'{"errors":[{"code":"%s","message":"said the registry"}]}' % code.encode()
            self.send_response(200 if self.path == "/v2/" else status)
            self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}/team/box:1"
    finally:
        released.set()
        server.shutdown()
        thread.join()
        server.server_close()


def refusal(endpoint: Endpoint, base: str, seconds: float = 20.0) -> EnvironmentUnavailable:
    with pytest.raises(EnvironmentUnavailable) as refused:
        build_image(endpoint, base=base, pull_seconds=seconds)
    return refused.value


def test_an_image_that_is_nowhere_is_named(endpoint: Endpoint) -> None:
    """E10: neither here nor in its registry."""
    with registry(404, "MANIFEST_UNKNOWN") as name:
        failed = refusal(endpoint, name)
    assert failed.message == f"the image `{name}` is neither here nor in its registry"
    assert failed.hint == f"see that the name is right, or {LOAD}"


def test_a_pull_that_is_denied_is_told_apart(endpoint: Endpoint) -> None:
    """E10: the registry knows this user not."""
    with registry(401, "UNAUTHORIZED") as name:
        failed = refusal(endpoint, name)
    assert failed.message.startswith(
        f"the image `{name}` is not here, and its registry does not give it to this user: "
    )
    assert failed.hint == f"`docker login`, see that the name is right, or {LOAD}"


def test_a_registry_that_is_down_is_told_apart(endpoint: Endpoint) -> None:
    """E10: nobody answers there."""
    failed = refusal(endpoint, "127.0.0.1:9/team/box:1")
    assert failed.message.startswith(
        "the image `127.0.0.1:9/team/box:1` is not here, and its registry cannot be reached: "
    )
    assert failed.hint == f"see the engine's network, or {LOAD}"


def test_a_registry_that_hangs_is_given_up_at_the_deadline(endpoint: Endpoint) -> None:
    """E10: a pull has a deadline."""
    with registry(200, "SLOW", wait=30) as name:
        failed = refusal(endpoint, name, seconds=1)
    assert failed.message == f"the image `{name}` is not here, and its registry did not give it within 1 s"


def test_a_local_image_is_never_pulled(endpoint: Endpoint, host_image: Image) -> None:
    """E10: the base is here, so no registry is asked; the build finds what was built of the same inputs."""
    again = build_image(endpoint, base=host_reference(), pull_seconds=0.001)
    assert (again.id, again.origin) == (host_image.id, Origin.FOUND)


def test_the_image_is_found_by_its_inputs(endpoint: Endpoint, host_image: Image) -> None:
    """Built once: the next start asks the engine two questions and builds nothing."""
    found = asyncio.run(find_image(Engine(endpoint), host_reference()))
    assert found is not None
    assert (found.id, found.origin, found.base) == (host_image.id, Origin.FOUND, host_reference())
    assert asyncio.run(find_image(Engine(endpoint), "nobody/has-this:1")) is None


def test_an_image_of_another_version_of_the_box_is_refused(
    endpoint: Endpoint, host_image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Host and box speak one version of the wire: an old image is named, not used."""
    monkeypatch.setattr("harness.sandbox.image_inputs.box_digest", lambda: "another")
    with pytest.raises(EnvironmentUnavailable) as refused:
        asyncio.run(find_image(Engine(endpoint), host_image.id))
    assert refused.value.message == f"the image `{host_image.id}` holds the box of another version of the harness"
    assert refused.value.hint == f"build it again: harness image build --base {host_reference()}"


def test_a_box_is_no_base(endpoint: Endpoint, host_image: Image) -> None:
    """A box on a box would hide what it was built on."""
    assert refusal(endpoint, host_image.id).message == f"the image `{host_image.id}` is a box already, not a base"


def test_a_base_without_the_right_python_is_refused(endpoint: Endpoint, client: docker.DockerClient) -> None:
    """The host sends compiled code: another minor version, or none, is said while building."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("empty"), io.BytesIO())
    client.api.import_image_from_data(packed.getvalue(), repository="execution-harness-test-empty", tag="1")
    try:
        failed = refusal(endpoint, "execution-harness-test-empty:1")
    finally:
        client.images.remove("execution-harness-test-empty:1", force=True)
    assert failed.message.startswith("no box can be built on the image `execution-harness-test-empty:1`: ")
    assert failed.hint == f"its /usr/local/bin/python3 must be Python {DEFAULT_BASE[7:-5]}, as in `{DEFAULT_BASE}`"


def test_without_the_official_image_the_hosts_python_is_taken_and_said(
    endpoint: Endpoint, client: docker.DockerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Local first, then the pull, then this host: the note says which, and why."""
    with registry(404, "MANIFEST_UNKNOWN") as name:
        monkeypatch.setattr("harness.sandbox.image.DEFAULT_BASE", name)
        built = build_image(endpoint)
    assert built.base == host_reference()
    assert built.note == f"made from this host's Python: the image `{name}` is neither here nor in its registry"


def test_a_foreign_base_loses_what_a_box_does_not_need(endpoint: Endpoint, client: docker.DockerClient) -> None:
    """A32: shells, package managers and setuid bits go while the image is built; Python stays and works."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(host_tree(), arcname=".", filter=lambda item: None if item.name.startswith("./opt") else item)
        for name, mode in (("bin/sh", 0o755), ("usr/bin/apt-get", 0o755), ("usr/bin/helper", 0o4755)):
            member = tarfile.TarInfo(name)
            member.mode = mode
            archive.addfile(member, io.BytesIO())
    client.api.import_image_from_data(packed.getvalue(), repository="execution-harness-test-full", tag="1")
    built = ""
    try:
        built = build_image(endpoint, base="execution-harness-test-full:1").id
        container = client.containers.create(built)
        try:
            with tarfile.open(fileobj=io.BytesIO(b"".join(container.export())), mode="r") as exported:
                files = {member.name: member.mode & 0o7777 for member in exported.getmembers()}
        finally:
            container.remove()
    finally:
        for image in (built, "execution-harness-test-full:1"):
            if image:
                client.images.remove(image, force=True)
    assert {name for name in files if name.endswith(("/sh", "apt-get"))} == set()
    assert files["usr/bin/helper"] == 0o755
    assert "usr/local/bin/python3" in files
    assert "opt/box/boot.py" in files


def test_the_dockerfile_names_a_base_argument_and_no_root_user() -> None:
    """By hand it builds as well: the base is an argument, the last user is not root."""
    text = DOCKERFILE.read_text()
    assert re.findall(r"^ARG BASE_IMAGE=(\S+)$", text, re.MULTILINE) == ["python:3.11-slim"]
    assert re.findall(r"^USER (\S+)$", text, re.MULTILINE)[-1] == "65534:65534"
    assert (Path(__file__).parents[2] / "Dockerfile.sandbox").read_text() == text


def test_the_image_starts_the_boxs_own_first_file(endpoint: Endpoint, host_image: Image) -> None:
    """The program of the request lies in the image, compiled."""
    assert SandboxSpec().image == ""
    assert docker_profile()["defaultAction"] == "SCMP_ACT_ERRNO"
    assert host_image.variables == ("PATH",)
