"""Policies, host files and principals: what they take, and what they refuse."""

from pathlib import Path

import pytest

from harness.contract.host import HostFile, load_host
from harness.contract.load import load_policy
from harness.contract.policy import BUILT_IN, Ceilings
from harness.contract.principal import Principal
from harness.core.budget import Dimension
from harness.core.errors import Fault, Place
from tests.contract.making import faults_of, short

POLICY = """\
policy: platform
version: 4
ceilings: {tokens: 200_000, cost_usd: "5", wall_seconds: 600}
effects: [read, write]
tools: [read_record, update_record]
approval: {write: before_execute}
tool_approval: {update_record: always}
approvers:
  - {name: ann, keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI ann@host"]}
callers: {record-repair: [bob]}
claims:
  bob: {tenant: acme, team: support}
backends: [bubblewrap]
languages: [restricted]
imports: [json, math]
destinations: ["file:results/"]
secrets:
  RESULTS_DB: {fields: [destination]}
"""


def test_a_policy_file_loads(tmp_path: Path) -> None:
    """Every key of a platform team's file; what it leaves out is the built-in value."""
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    policy = load_policy(file)
    assert (policy.policy, policy.version, policy.ceilings.tokens) == ("platform", 4, 200_000)
    assert policy.ceilings.calls == Ceilings().calls
    assert policy.claims["bob"] == {"tenant": "acme", "team": "support"}


def test_every_fault_of_a_policy_is_named_at_once(tmp_path: Path) -> None:
    """Keys are closed there too; a private key, or one of another kind, is no approver's key."""
    file = tmp_path / "policy.yaml"
    file.write_text(
        POLICY.replace("wall_seconds: 600", "wall_second: 600")
        .replace("ssh-ed25519", "ssh-rsa")
        .replace("[read,", "[rea,")
    )
    assert short(faults_of(load_policy, file)) == [
        ("unknown_key", 3, "ceilings.wall_second"),
        ("unknown_word", 4, "effects[0]"),
        ("bad_key", 9, "approvers[0]"),
    ]


def test_a_policy_has_a_digest_over_what_it_states() -> None:
    """It goes with a run, so that a reader knows under which rules it ran."""
    first = load_policy({"policy": "p", "version": 1})
    assert first.digest == load_policy({"version": 1, "policy": "p"}).digest
    assert first.digest != load_policy({"policy": "p", "version": 2}).digest


def test_the_built_in_ceilings_are_finite_and_named() -> None:
    """Where there is no policy file every dimension still has a limit."""
    assert {each: BUILT_IN.ceilings.limit(each) > 0 for each in Dimension} == dict.fromkeys(Dimension, True)


def test_the_built_in_policy_lets_no_module_out() -> None:
    """A10: helpers that reach past guards are not on its list."""
    hostile = {
        "operator",
        "string.templatelib",
        "inspect",
        "gc",
        "importlib",
        "pickle",
        "ctypes",
        "os",
        "sys",
        "subprocess",
    }
    assert hostile & set(BUILT_IN.imports) == set()


def test_a_host_file_loads(tmp_path: Path) -> None:
    """Sources, policy, store, sandbox and secrets."""
    file = tmp_path / "harness.yaml"
    file.write_text(
        "tools:\n  - python: tools.py:read\npolicy: policy.yaml\nstore: state\n"
        "sandbox: {backend: bubblewrap}\nsecrets: {DB: {env: DB_URL}, KEY: {file: key.txt}}\n"
    )
    host = load_host(file)
    assert host.tools[0].python == "tools.py:read"
    assert (host.policy, host.store, host.sandbox.backend) == ("policy.yaml", "state", "bubblewrap")
    assert (host.secrets["DB"].env, host.secrets["KEY"].file) == ("DB_URL", "key.txt")


def test_a_host_without_a_file_has_defaults() -> None:
    """The parts of a host that is built in Python."""
    host = HostFile()
    assert (host.tools, host.policy, host.store, host.sandbox.backend) == ((), "", ".harness", "auto")


@pytest.mark.parametrize(
    ("text", "code", "key"),
    [
        ("tools: [{}]", "bad_source", "tools[0]"),
        ("tools: [{pyhton: x}]", "unknown_key", "tools[0].pyhton"),
        ("sandbox: {backend: none}", "unknown_word", "sandbox.backend"),
        ("secrets: {A: {env: X, file: y}}", "bad_secret", "secrets.A"),
        ("secrets: {A: plain-text}", "wrong_type", "secrets.A"),
        ("stroe: x", "unknown_key", "stroe"),
    ],
)
def test_a_host_file_that_is_wrong_is_refused(tmp_path: Path, text: str, code: str, key: str) -> None:
    """A backend without isolation does not exist, and a secret's value cannot stand in the file."""
    file = tmp_path / "harness.yaml"
    file.write_text(text + "\n")
    assert (code, 1, key) in short(faults_of(load_host, file))


def test_a_missing_host_file_says_so() -> None:
    """With the path, and nothing else goes wrong."""
    said = "`no/harness.yaml` cannot be read: No such file or directory"
    assert faults_of(load_host, Path("no/harness.yaml")) == [
        Fault("unreadable", said, "check the path", Place("no/harness.yaml"))
    ]


def test_two_principals_never_share_a_holder() -> None:
    """Keys live inside name and tenant; no name can be built that looks like another's."""
    people = [
        Principal("ann", {}, "os"),
        Principal("ann", {"tenant": "acme"}, "os"),
        Principal("ann@acme", {}, "os"),
        Principal("ann", {"tenant": 8}, "os"),
        Principal("ann", {"tenant": "8"}, "os"),
        Principal("ann", {"tenant": "=8"}, "os"),
        Principal("ann", {"tenant": ""}, "os"),
        Principal("ann%40acme", {}, "os"),
        Principal("", {"tenant": "ann"}, "os"),
    ]
    assert len({each.holder for each in people}) == len(people)


def test_the_way_in_does_not_part_a_principal_from_its_keys() -> None:
    """One person over the command line and over HTTP holds the same keys; no claim hides the name."""
    assert Principal("ann", {"team": "x"}, "os").holder == Principal("ann", {}, "token").holder
    assert Principal("ann", {"name": "bob"}, "os").to_cel() == {"name": "ann"}
