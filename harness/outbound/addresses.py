"""The addresses that a host may be reached at. †A private one only where it is listed, whichever way it is written."""

import ipaddress
import socket
from collections.abc import Collection

from harness.core.errors import HarnessError

__all__ = ["NotSent", "reachable"]


class NotSent(HarnessError):
    """The request never left: refused by us, or nobody could be reached. It had no effect."""


def reachable(host: str, port: int, private: Collection[str]) -> list[str]:
    """The addresses of a host, resolved now: connect to one of these, for a second look-up could give another.

    `private` lists, in lower case, hosts and `host:port` that may lie at addresses that are not global. Raises NotSent.
    """
    listed = {host.lower(), f"{host.lower()}:{port}"} & set(private)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotSent(f"`{host}` cannot be resolved") from error
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    if not listed and not all(map(_is_global, addresses)):
        hint = "list the host under `private` of the source, or `private_hosts` of the policy"
        raise NotSent(f"`{host}` lies at an address that is not public", hint=hint)
    return addresses


def _is_global(address: str) -> bool:
    """Whether an address is public; an IPv4 address inside an IPv6 one counts as what it is."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if inner is not None:
            return inner.is_global
        if found in ipaddress.ip_network("64:ff9b::/96"):
            return ipaddress.IPv4Address(int(found) & 0xFFFFFFFF).is_global
    return found.is_global and not found.is_multicast
