"""Announcing that a bundle waits: counts and a reference to whoever listens, never an argument, never the id.

An announcement that fails changes nothing: the bundle stands, and `harness approvals list` shows it.
"""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from harness.approvals.bundle import shown
from harness.core.bundle import Bundle
from harness.core.call import Effect, Json
from harness.core.clock import utc_text
from harness.core.errors import HarnessError
from harness.outbound.client import HttpClient, NotReached, NotSent, Request

__all__ = ["ANNOUNCE_SECONDS", "Announcer", "Silent", "Webhook", "announcement"]

ANNOUNCE_SECONDS = 5.0
"""A hook that does not answer by then is given up: the bundle waits anyway."""
MAX_ANSWER_BYTES = 64 << 10
"""Of a hook's answer, which nobody reads."""
MEDIA_TYPE = "application/cloudevents+json"


class Announcer(Protocol):
    """Tells somebody that bundles wait. Blocking; called in a thread of its own."""

    def announce(self, message: dict[str, Json]) -> str:
        """Send it; why it could not be sent, or empty."""


def announcement(bundle: Bundle) -> dict[str, Json]:
    """The CloudEvent of a bundle: how many calls of which effect wait under which reference, and until when."""
    effects = [shown(ask).effect for ask in bundle.asks]
    return {
        "specversion": "1.0",
        "type": "harness.bundle.waiting",
        "source": "execution-harness",
        "id": bundle.reference,
        "time": utc_text(bundle.created_at),
        "datacontenttype": "application/json",
        "data": {
            "reference": bundle.reference,
            "run": bundle.run,
            "kind": bundle.kind,
            "calls": len(effects),
            "by_effect": {effect.value: effects.count(effect) for effect in Effect if effect in effects},
            "expires_at": utc_text(bundle.expires_at),
        },
    }


class Silent:
    """Announces nothing: people look at the list themselves."""

    def announce(self, message: dict[str, Json]) -> str:
        """Nothing is sent."""
        return ""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Posts to one URL. Private and link-local addresses are refused unless their host is listed."""

    url: str
    """May hold `${secret:NAME}`, which `fill` resolves at the moment of use; no answer of ours repeats it."""
    private_hosts: Collection[str] = ()
    hosts: Collection[str] | None = None
    """Hosts that its secrets may be sent to; None: any."""
    fill: Callable[[str], str] = str
    """Puts secrets in place. Raises HarnessError where one cannot be had."""

    def announce(self, message: dict[str, Json]) -> str:
        """Post it once, following no redirect."""
        try:
            url = self.fill(self.url)
            host = urlsplit(url).hostname or ""
        except (HarnessError, ValueError):
            return "the hook's address cannot be made: a secret of it cannot be had"
        if self.hosts is not None and host not in self.hosts:
            return "the policy does not let the hook's secrets go to its host"
        body = json.dumps(message).encode("utf-8")
        request = Request("POST", url, {"Content-Type": MEDIA_TYPE}, body, ANNOUNCE_SECONDS)
        try:
            status = HttpClient(self.private_hosts, max_answer_bytes=MAX_ANSWER_BYTES).send(request).status
        except (NotSent, NotReached) as error:
            return error.message
        return "" if 200 <= status < 300 else f"the hook answered {status}"
