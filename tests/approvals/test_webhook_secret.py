"""A secret in a host's webhook: put in when it is used, where the policy lets it stand, told to nobody else."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from harness.api import Harness
from harness.contract.host import HostFile, SecretSource
from harness.contract.policy import Policy, SecretRule
from harness.core.errors import ContractRefused
from harness.registry.registry import Registry

SECRET = "s3cr3t-of-the-hook"
RULE = SecretRule(fields=("webhook",), hosts=("127.0.0.1",))


@pytest.fixture
def hook() -> Iterator[tuple[int, list[str]]]:
    """A server that takes anything: its port, and the paths that were asked for."""
    asked: list[str] = []

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = HTTPServer(("127.0.0.1", 0), Taking)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port, asked
    server.shutdown()
    thread.join()
    server.server_close()


def harness(
    folder: Path, url: str, rule: SecretRule | None = RULE, private: tuple[str, ...] = ("127.0.0.1",)
) -> Harness:
    """A host whose webhook is `url`, under a policy with one rule for its secret."""
    host = HostFile(announce=url, secrets={"HOOK": SecretSource(file="hook.key")})
    rules = {} if rule is None else {"HOOK": rule}
    policy = Policy(policy="p", version=1, private_hosts=private, secrets=rules)
    return Harness(Registry(), folder=folder, host=host, policy=policy)


def test_the_secret_is_put_in_when_it_is_used(tmp_path: Path, hook: tuple[int, list[str]]) -> None:
    """In path and query; a new value counts at once, since nothing is kept."""
    port, asked = hook
    announcer = harness(tmp_path, f"http://127.0.0.1:{port}/${{secret:HOOK}}?t=${{secret:HOOK}}")._herald().announcer
    for value in (SECRET, "another"):
        (tmp_path / "hook.key").write_text(value + "\n")
        assert announcer.announce({"id": "1"}) == ""
    assert asked == [f"/{SECRET}?t={SECRET}", "/another?t=another"]
    assert SECRET not in repr(announcer)


@pytest.mark.parametrize(
    ("rule", "url", "code"),
    [
        (None, "https://hooks.example.com/${secret:HOOK}", "secret_not_allowed"),
        (SecretRule(fields=("destination",)), "https://hooks.example.com/${secret:HOOK}", "secret_not_allowed"),
        (RULE, "https://hooks.example.com/${secret:OTHER}", "unknown_secret"),
        (RULE, "https://hooks.example.com/${run.id}", "bad_reference"),
    ],
)
def test_where_the_policy_does_not_let_it_stand_there_is_no_host(
    rule: SecretRule | None, url: str, code: str, tmp_path: Path
) -> None:
    """Refused when the host is made, whichever way it is made."""
    with pytest.raises(ContractRefused) as refused:
        harness(tmp_path, url, rule)
    assert code in [fault.code for fault in refused.value.faults]


@pytest.mark.parametrize(
    ("rule", "value", "said"),
    [
        (
            SecretRule(fields=("webhook",), hosts=("hooks.example.com",)),
            SECRET,
            "the policy does not let the hook's secrets go to its host",
        ),
        (RULE, None, "the hook's address cannot be made: a secret of it cannot be had"),
    ],
)
def test_what_cannot_be_sent_is_told_without_the_secret(
    rule: SecretRule, value: str | None, said: str, tmp_path: Path, hook: tuple[int, list[str]]
) -> None:
    """Nothing is sent: another host than the policy names, or no value."""
    port, asked = hook
    if value is not None:
        (tmp_path / "hook.key").write_text(value)
    announcer = harness(tmp_path, f"http://127.0.0.1:{port}/${{secret:HOOK}}", rule)._herald().announcer
    assert (announcer.announce({}), asked) == (said, [])
