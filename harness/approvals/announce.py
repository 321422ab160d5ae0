"""Announcing that a bundle waits: counts and a reference to whoever listens, never an argument, never the id.

An announcement that fails changes nothing: the bundle stands, and `harness approvals list` shows it.
"""

import http.client
import ipaddress
import json
import socket
import ssl
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import SplitResult, urlsplit

from harness.approvals.bundle import shown
from harness.core.bundle import Bundle
from harness.core.call import Effect, Json
from harness.core.clock import utc_text
from harness.core.errors import HarnessError

__all__ = ["Announcer", "Silent", "Webhook", "announcement"]

WEBHOOK_SECONDS = 5.0
"""A hook that does not answer by then is given up: the bundle waits anyway."""


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
            parts = urlsplit(self.fill(self.url))
        except (HarnessError, ValueError):
            return "the hook's address cannot be made: a secret of it cannot be had"
        host = parts.hostname or ""
        if parts.scheme not in ("http", "https") or not host:
            return "the hook is no http(s) address"
        if self.hosts is not None and host not in self.hosts:
            return "the policy does not let the hook's secrets go to its host"
        try:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0]
            if not ipaddress.ip_address(address).is_global and host not in self.private_hosts:
                return "the hook's address is private, and the policy does not list its host"
            return self._post(parts, port, str(address), message)
        except (OSError, ValueError, http.client.HTTPException) as error:
            return f"the hook did not take it ({type(error).__name__})"

    def _post(self, parts: SplitResult, port: int, address: str, message: dict[str, Json]) -> str:
        """To the very address that was looked at: a second look-up could give another."""
        host = parts.hostname or ""
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection = http.client.HTTPConnection(host, port, timeout=WEBHOOK_SECONDS)
        sock = socket.create_connection((address, port), WEBHOOK_SECONDS)
        try:
            if parts.scheme == "https":
                sock = ssl.create_default_context().wrap_socket(sock, server_hostname=host)
            connection.sock = sock
            body = json.dumps(message).encode("utf-8")
            connection.request("POST", path, body, {"Content-Type": "application/cloudevents+json"})
            status = connection.getresponse().status
            return "" if 200 <= status < 300 else f"the hook answered {status}"
        finally:
            connection.close()
            sock.close()
