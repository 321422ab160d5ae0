"""The principal: who asked for the run. A verified name with claims, never a value that the agent chooses."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from harness.core.call import Json
from harness.core.canonical import canonical

__all__ = ["TENANT", "Principal"]

TENANT = "tenant"
"""The claim that parts principals of one name."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asked, as the way in has verified it."""

    name: str
    """As the source knows it: a user of the operating system, a subject of a token."""
    claims: Mapping[str, Json]
    """What else is verified (tenant, team): JSON values, usable in scopes as `${principal.tenant}`."""
    source: str
    """The way in that verified it: `os`, `token`, `python`."""

    @property
    def holder(self) -> str:
        """Name and tenant as one text in which idempotency keys live; two principals never share one."""
        tenant = self.claims.get(TENANT)
        if tenant is None:
            return quote(self.name, safe="")
        if isinstance(tenant, str):
            return f"{quote(self.name, safe='')}@{quote(tenant, safe='')}"
        return f"{quote(self.name, safe='')}@={quote(canonical(tenant), safe='')}"

    def to_cel(self) -> dict[str, Json]:
        """The variable `principal` of predicates: the claims, and `name`, which no claim hides."""
        return {**self.claims, "name": self.name}
