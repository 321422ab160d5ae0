"""`harness mcp` over streamable HTTP: verified principals, and the official conformance suite."""

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import time
from pathlib import Path

import httpx2
import jwt
import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from harness.core.errors import ContractRefused
from harness.front.mcp.access import load_access
from tests.front_mcp.making import call, http_server, write_host

pytestmark = [pytest.mark.bubblewrap, pytest.mark.xdist_group("servers")]
CONFORMANCE = Path(__file__).parents[2] / ".ci/npm/node_modules/.bin/conformance"
OFFERED = (
    "server-initialize",
    "ping",
    "tools-list",
    "dns-rebinding-protection",
    "server-sse-multiple-streams",
    "server-sse-polling",
    "resources-list",
)
"""Scenarios of the suite that ask for nothing but what this server offers. All others call tools, prompts or resources
that the suite's own example server has, or features that are not offered: logging, sampling, elicitation, prompts."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_host(tmp_path)


@contextlib.asynccontextmanager
async def client(address: str, token: str = ""):
    """The official client, with a bearer token where one is given."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(address, http_client=http)) as made,
    ):
        yield made


def digest(token: str) -> str:
    """As the access file has it."""
    return hashlib.sha256(token.encode()).hexdigest()


def test_runs_over_http(folder: Path) -> None:
    """On loopback, open to the user of this machine because it was asked for."""

    async def whole() -> None:
        async with http_server(folder, "--unverified") as address, client(address) as made:
            answer, failed = await call(made, "harness_run_free", snippet="from tools import double\nreturn double(4)")
            assert (failed, answer["result"]) == (False, 8)
            first, second = await asyncio.gather(
                *(call(made, "harness_run_free", snippet=f"return {number}") for number in (1, 2))
            )
            assert (first[0]["result"], second[0]["result"]) == (1, 2)

    asyncio.run(whole())


def test_a_page_in_a_browser_reaches_nothing(folder: Path) -> None:
    """A foreign `Host` or `Origin` is refused."""

    async def whole() -> None:
        async with http_server(folder, "--unverified") as address, httpx2.AsyncClient(trust_env=False) as http:
            body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            headers = {"Accept": "application/json, text/event-stream"}
            for more in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
                answer = await http.post(address, json=body, headers={**headers, **more})
                assert answer.status_code in (403, 421)

    asyncio.run(whole())


def test_principals_come_from_verified_tokens(folder: Path) -> None:
    """No token, no access; a contract that a policy gives to one is not there for another; runs are not shared."""
    policy = {"policy": "tests", "version": 1, "callers": {"free": ["ada"]}, "backends": ["bubblewrap"]}
    (folder / "policy.yaml").write_text(yaml.safe_dump(policy))
    tokens = [{"sha256": digest(f"token-of-{name}"), "principal": name} for name in ("ada", "bob")]
    (folder / "access.yaml").write_text(yaml.safe_dump({"tokens": tokens}))

    async def whole() -> None:
        more = ("--access", "access.yaml", "--policy", "policy.yaml")
        async with http_server(folder, *more) as address:
            async with httpx2.AsyncClient(trust_env=False) as http:
                for headers in ({}, {"Authorization": "Bearer wrong"}):
                    answer = await http.post(address, json={}, headers=headers)
                    assert answer.status_code == 401
                    assert "resource_metadata" in answer.headers["WWW-Authenticate"]
            async with client(address, "token-of-ada") as ada, client(address, "token-of-bob") as bob:
                assert "harness_run_free" in [tool.name for tool in (await ada.list_tools()).tools]
                assert "harness_run_free" not in [tool.name for tool in (await bob.list_tools()).tools]
                answer, failed = await call(ada, "harness_run_free", snippet="return 1")
                assert (failed, answer["result"]) == (False, 1)
                stolen, failed = await call(bob, "harness_resume", run=answer["run"])
                assert (failed, stolen["status"]) == (True, "refused")

    asyncio.run(whole())


def test_signed_tokens(tmp_path: Path) -> None:
    """The right issuer, audience, key and time; claims that are named go along, no others."""
    key = Ed25519PrivateKey.generate()
    (tmp_path / "key.pem").write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    said = {"issuer": "https://id.example", "audience": "https://harness.example/mcp", "key_file": "key.pem"}
    (tmp_path / "access.yaml").write_text(yaml.safe_dump({"issuers": [said]}))
    verifier = load_access(tmp_path / "access.yaml")
    good = {
        "sub": "ada",
        "iss": said["issuer"],
        "aud": said["audience"],
        "exp": time.time() + 60,
        "tenant": "acme",
        "admin": True,
    }

    def asked(claims: dict, signer: object = key, algorithm: str = "EdDSA"):
        return asyncio.run(verifier.verify_token(jwt.encode(claims, signer, algorithm=algorithm)))

    found = asked(good)
    assert (found.subject, found.claims) == ("ada", {"tenant": "acme", "iss": "https://id.example"})
    for change in ({"iss": "https://other.example"}, {"aud": "x"}, {"exp": time.time() - 60}, {"sub": ""}):
        assert asked({**good, **change}) is None
    assert asked({name: value for name, value in good.items() if name != "exp"}) is None
    assert asked(good, Ed25519PrivateKey.generate()) is None
    assert asked(good, "a shared secret that is long enough to be one", "HS256") is None
    assert asyncio.run(verifier.verify_token("\ud800")) is None


def test_an_access_file_with_faults_is_refused(tmp_path: Path) -> None:
    """A token in the clear, for example."""
    (tmp_path / "access.yaml").write_text("tokens: [{sha256: my-token, principal: ada, claim: {}}]")
    with pytest.raises(ContractRefused) as refused:
        load_access(tmp_path / "access.yaml")
    assert len(refused.value.faults) == 2


def test_open_access_wants_loopback_and_a_word(folder: Path) -> None:
    """Without an access file the server does not listen."""

    async def whole(*more: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *("python3", "-m", "harness.front.cli.main", "mcp", "sum.yaml", *more),
            cwd=folder,
            env={**os.environ, "PATH": f"{Path(os.sys.executable).parent}:{os.environ['PATH']}"},
            stderr=asyncio.subprocess.PIPE,
        )
        _, err = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode == 2
        return err.decode()

    assert "principals are verified" in asyncio.run(whole("--http", "127.0.0.1:0"))
    assert "principals are verified" in asyncio.run(whole("--http", "0.0.0.0:0", "--unverified"))


@pytest.mark.parametrize("scenario", OFFERED)
def test_the_official_conformance_suite(folder: Path, scenario: str, tmp_path: Path) -> None:
    """npm `@modelcontextprotocol/conformance`, for what the server offers."""
    if not CONFORMANCE.exists() or shutil.which("node") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("the conformance suite is not installed: bash .ci/npm.sh", pytrace=False)
        pytest.skip("the conformance suite is not installed: bash .ci/npm.sh")

    async def whole() -> tuple[int | None, str]:
        async with http_server(folder, "--unverified") as address:
            process = await asyncio.create_subprocess_exec(
                *("node", str(CONFORMANCE), "server", "--url", address, "--scenario", scenario),
                cwd=tmp_path,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            out, _ = await asyncio.wait_for(process.communicate(), 120)
            return process.returncode, out.decode()

    status, out = asyncio.run(whole())
    assert status == 0, out[-3000:]
    assert json.dumps(scenario) or out
