"""Decisions: the signed document with which an approver answers a bundle, and what becomes of one that comes in.

Pure: documents, keys and facts in, a judgement out. The store takes a decision, once.

| the document                                              | what becomes of the bundle |
|-----------------------------------------------------------|----------------------------|
| is no decision, names no live bundle                      | nothing changes            |
| unsigned, signed by a stranger, by the asker, or falsely  | nothing changes            |
| approver's, a call missing, unknown, twice, wrong digest  | all its calls are rejected |
| approver's, whole                                         | it is taken, once          |
"""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_ssh_private_key,
    load_ssh_public_key,
)

from harness.approvals.bundle import shown
from harness.approvals.grants import grants_in
from harness.contract.policy import Approver, Policy
from harness.core.bundle import Bundle, CallDecision, Decided
from harness.core.call import Effect, Json
from harness.core.canonical import canonical
from harness.core.errors import Fault, HostileInput, Refused

__all__ = ["MAX_DOCUMENT_BYTES", "Ignored", "bundle_id", "decision_document", "judge", "load_key", "sign"]

MAX_DOCUMENT_BYTES = 1_000_000
"""A decision over the largest bundle takes a seventh of it."""
PURPOSE = b"execution-harness decision 1\n"
"""Stands before what is signed, so that no signature for anything else is one of a decision."""


# --- making --------------------------------------------------------------------------------------------------


def decision_document(bundle: Bundle, approver: str, approved: Mapping[str, bool], reason: str = "") -> dict[str, Json]:
    """An unsigned decision: `approved` says yes or no of each call id of the bundle."""
    return {
        "v": 1,
        "bundle": bundle.id,
        "approver": approver,
        "reason": reason,
        "calls": [{"call": ask.call, "digest": ask.digest, "approve": approved[ask.call]} for ask in bundle.asks],
    }


def load_key(data: bytes) -> Ed25519PrivateKey:
    """A private key as `ssh-keygen -t ed25519` writes it. Raises Refused."""
    try:
        key = load_ssh_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        hint = "use a key of `ssh-keygen -t ed25519` without a passphrase"
        raise Refused([Fault("bad_key", "the key cannot be read", hint)]) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise Refused([Fault("bad_key", "the key is no ssh-ed25519 key", "make one with `ssh-keygen -t ed25519`")])
    return key


def sign(document: Mapping[str, Json], key: Ed25519PrivateKey) -> bytes:
    """The document with the public key and the signature over all the rest of it."""
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode("ascii")
    whole = {**document, "key": public}
    signature = key.sign(PURPOSE + canonical(whole))
    return canonical({**whole, "signature": base64.b64encode(signature).decode("ascii")})


# --- judging -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ignored:
    """A document that changes nothing."""

    code: str
    """`not_a_decision`, `unknown_bundle`, `unsigned`, `bad_signature`, `not_an_approver`, `asker`, `not_his_effect`,
    `not_his_question`."""
    why: str
    """One sentence."""


def bundle_id(document: bytes) -> str:
    """The id that a document names; empty where it names none."""
    read = _read(document)
    return "" if isinstance(read, Ignored) else str(read["bundle"])


def judge(document: bytes, bundle: Bundle | None, policy: Policy, asker: str, source: str) -> Decided | Ignored:
    """What a document comes to: a decision that wants to be taken, or the reason why it changes nothing.

    `bundle` is the one that the document names; `asker` the principal of its run, who never decides it.
    """
    read = _read(document)
    if isinstance(read, Ignored):
        return read
    if bundle is None or bundle.id != read["bundle"]:
        return Ignored("unknown_bundle", "no bundle has the id that the document names")
    approver = _signer(read, policy, asker)
    if isinstance(approver, Ignored):
        return approver
    if any(shown(ask).effect not in approver.effects for ask in bundle.asks):
        return Ignored("not_his_effect", f"`{approver.name}` may not decide about effects of this kind")
    owner = _asked_of(bundle)
    if not approver.may_answer(owner):
        return Ignored(
            "not_his_question", f"the question is put to `{owner}`, and `{approver.name}` does not answer it"
        )
    calls = _calls(read.get("calls"), bundle)
    if calls is None or (read.get("grants") and not _may_grant(document, bundle, policy)):
        return Decided(bundle.id, (), approver.name, source, document, all_rejected=True)
    needed = {ask.id: policy.approvals_needed for ask in bundle.asks if shown(ask).effect is Effect.DESTRUCTIVE}
    return Decided(bundle.id, calls, approver.name, source, document, approvals_needed=needed)


def _asked_of(bundle: Bundle) -> str:
    """Whom a question is put to, as the contract names them; empty for anything else, and where nobody is named."""
    about = json.loads(bundle.document) if bundle.kind == "question" and bundle.document else {}
    return str(about.get("to", ""))


def _may_grant(document: bytes, bundle: Bundle, policy: Policy) -> bool:
    """Whether the bounded grants of a document are whole, and the policy lets an approver give any."""
    return policy.grants and bundle.kind == "approval" and grants_in(document, bundle, "", 0.0) is not None


def _read(document: bytes) -> dict[str, Any] | Ignored:
    no = Ignored("not_a_decision", "the document is no decision of this version")
    if len(document) > MAX_DOCUMENT_BYTES:
        return no
    try:
        read = json.loads(document.decode("utf-8"), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return no
    if not isinstance(read, dict) or read.get("v") != 1 or not isinstance(read.get("bundle"), str):
        return no
    return read


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice")
    return made


def _signer(read: dict[str, Any], policy: Policy, asker: str) -> Approver | Ignored:
    """The approver who signed. The name in the document proves nothing: the key does."""
    key, signature = read.get("key"), read.get("signature")
    if not isinstance(key, str) or not isinstance(signature, str):
        return Ignored("unsigned", "the document is not signed")
    public = _public(key)
    approver = next((each for each in policy.approvers if public in map(_public, each.keys)), None)
    if public is None or approver is None:
        return Ignored("not_an_approver", "the key is none of an approver of the policy")
    body = {name: value for name, value in read.items() if name != "signature"}
    try:
        raw = base64.b64decode(signature, validate=True)
        Ed25519PublicKey.from_public_bytes(public).verify(raw, PURPOSE + canonical(body))
    except (binascii.Error, InvalidSignature, HostileInput, ValueError):
        return Ignored("bad_signature", "the signature does not fit the document")
    if approver.name == asker:
        return Ignored("asker", f"`{asker}` asked for the run, and cannot decide about it")
    return approver


def _public(line: str) -> bytes | None:
    """The raw bytes of an OpenSSH public key, its comment left out; None where it is none of ours."""
    try:
        key = load_ssh_public_key(line.encode("utf-8"))
    except (ValueError, UnsupportedAlgorithm):
        return None
    return key.public_bytes_raw() if isinstance(key, Ed25519PublicKey) else None


def _calls(listed: object, bundle: Bundle) -> tuple[CallDecision, ...] | None:
    """One decision for each call of the bundle and no other; None where anything is wrong."""
    if not isinstance(listed, Sequence) or isinstance(listed, str) or len(listed) != len(bundle.asks):
        return None
    asks = {ask.call: ask for ask in bundle.asks}
    made: dict[str, CallDecision] = {}
    for each in listed:
        if not isinstance(each, Mapping) or set(each) != {"call", "digest", "approve"}:
            return None
        call, approve = each["call"], each["approve"]
        ask = asks.get(call) if isinstance(call, str) else None
        if ask is None or call in made or each["digest"] != ask.digest or not isinstance(approve, bool):
            return None
        made[call] = CallDecision(ask.id, approve, ask.digest)
    return tuple(made[ask.call] for ask in bundle.asks)
