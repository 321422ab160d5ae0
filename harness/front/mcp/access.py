"""Who asks: bearer tokens of the access file, or signed tokens of an issuer, become principals. No token, no access."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jwt
from mcp.server.auth.provider import AccessToken
from pydantic import Field

from harness.contract.load import build_model, read_document
from harness.contract.principal import Principal
from harness.contract.sections import Section, Text

__all__ = ["Access", "Issuer", "StaticToken", "Verifier", "load_access"]

ALGORITHMS = ("EdDSA", "ES256", "RS256")
"""Of signed tokens: with public keys only, so that whoever can check a token cannot make one."""
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class StaticToken(Section):
    """One bearer token that somebody was given."""

    sha256: Sha256
    """Of the token: the file holds no token that could be used."""
    principal: Text
    claims: Mapping[str, Any] = Field(default_factory=dict)


class Issuer(Section):
    """Whose signed tokens count."""

    issuer: Text
    audience: Text
    """The address of this server as its tokens name it."""
    key_file: Text
    """Public key in PEM, relative to the access file."""
    name_claim: Text = "sub"
    claims: tuple[Text, ...] = ("tenant", "team")
    """Claims that go into the principal; no others do."""


class Access(Section):
    """The access file."""

    tokens: tuple[StaticToken, ...] = ()
    issuers: tuple[Issuer, ...] = ()


@dataclass(frozen=True, slots=True)
class _Known:
    issuer: Issuer
    key: bytes


def load_access(path: Path) -> "Verifier":
    """The verifier of an access file. Raises ContractRefused with every fault."""
    access = build_model(Access, read_document(path), {})
    return Verifier(access, [_Known(each, (path.parent / each.key_file).read_bytes()) for each in access.issuers])


class Verifier:
    """Checks tokens; what it does not know is nobody."""

    def __init__(self, access: Access, issuers: list[_Known]) -> None:
        self.access = access
        self._issuers = issuers

    async def verify_token(self, token: str) -> AccessToken | None:
        """The principal of a token, as the protocol's own word; None where it is none of ours."""
        found = self._static(token) or self._signed(token)
        if found is None:
            return None
        return AccessToken(
            token="", client_id=found.name, scopes=[], subject=found.name, claims={**found.claims, "iss": found.source}
        )

    def _static(self, token: str) -> Principal | None:
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
        found: Principal | None = None
        for each in self.access.tokens:
            if hmac.compare_digest(each.sha256, digest):
                found = Principal(each.principal, dict(each.claims), "token")
        return found

    def _signed(self, token: str) -> Principal | None:
        for known in self._issuers:
            try:
                claims = jwt.decode(
                    token,
                    known.key,
                    algorithms=list(ALGORITHMS),
                    audience=known.issuer.audience,
                    issuer=known.issuer.issuer,
                    options={"require": ["exp", "iss", "aud", known.issuer.name_claim]},
                )
            except (jwt.PyJWTError, ValueError):
                continue
            name = claims.get(known.issuer.name_claim)
            if isinstance(name, str) and name:
                kept = {each: claims[each] for each in known.issuer.claims if each in claims}
                return Principal(name, kept, known.issuer.issuer)
        return None
