"""What the tests of approvals are made of: a bundle of two calls, approvers with keys, a store that holds the run."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from harness.approvals.bundle import Asked, Gathered, issue
from harness.contract.policy import Approver, Policy
from harness.core.bundle import Bundle
from harness.core.call import Call, Effect, Json, Origin
from harness.core.canonical import digest

NOW = 1_700_000_000.0


@cache
def key_of(name: str) -> Ed25519PrivateKey:
    """The private key of a person of these tests."""
    return Ed25519PrivateKey.from_private_bytes(name.encode().ljust(32, b"."))


def public_line(name: str) -> str:
    """The public key of a person as OpenSSH writes it, with a comment."""
    raw = key_of(name).public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return f"{raw.decode()} {name}@example"


def policy(*names: str, **changes: Any) -> Policy:
    """A policy with these approvers."""
    approvers = tuple(Approver(name=name, keys=(public_line(name),)) for name in names)
    return Policy(policy="test", version=1, approvers=approvers, **changes)


def call(number: int, effect: Effect = Effect.WRITE, **arguments: Json) -> Call:
    """A call that waits."""
    content = digest("update", arguments)
    return Call(
        id=f"1.{number}",
        run="run-1",
        lineage="L1",
        iteration=1,
        attempt=1,
        origin=Origin.SNIPPET,
        task="0",
        tool="update",
        arguments=arguments,
        content=content,
        occurrence=1,
        received_at=NOW,
        digest=digest("digest", content),
        effect=effect,
    )


def gathered(**changes: Any) -> Gathered:
    """A turn of the run of these tests."""
    fields: dict[str, Any] = {
        "run": "run-1",
        "lineage": "L1",
        "iteration": 1,
        "attempt": 1,
        "kind": "approval",
        "now": NOW,
        "expires_s": 3600.0,
        "about": {"contract": "repair", "principal": "alice"},
    }
    return Gathered(**{**fields, **changes})


def bundle(calls: Sequence[Call] = ()) -> Bundle:
    """A bundle of two writes, or of `calls`."""
    waiting = calls or (call(1, record=42), call(2, record=43))
    return issue(gathered(), [Asked(each, f"set {each.arguments}", "always") for each in waiting])[0]
