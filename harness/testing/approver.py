"""An approver of a test: a key of its own, and decisions signed with it as a person's would be."""

from collections.abc import Callable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from harness.approvals.decision import decision_document, sign
from harness.contract.policy import Approver
from harness.core.bundle import Ask, Bundle

__all__ = ["FakeApprover"]


def _everything(ask: Ask) -> bool:
    return True


class FakeApprover:
    """Named in a policy through `entry`; what it signs passes the same checks as anybody's decision."""

    def __init__(self, name: str = "approver") -> None:
        self.name = name
        self._key = Ed25519PrivateKey.generate()

    @property
    def entry(self) -> Approver:
        """The line of a policy that names it, with its public key as OpenSSH writes it."""
        public = self._key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        return Approver(name=self.name, keys=(public.decode("ascii"),))

    def decide(self, bundle: Bundle, approves: Callable[[Ask], bool] = _everything) -> bytes:
        """A signed decision over every call of `bundle`; `approves` says which may run."""
        words = {ask.call: approves(ask) for ask in bundle.asks}
        return sign(decision_document(bundle, self.name, words), self._key)
