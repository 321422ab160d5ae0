"""Probes of the network, from inside a box."""

import os
import socket
from typing import Any


def _reach(family: int, kind: int, address: Any) -> str:
    try:
        with socket.socket(family, kind) as made:
            made.settimeout(0.5)
            made.connect(address)
            return f"{address} answers"
    except OSError:
        return ""


def loopback(box: Any) -> str:
    """Connect to a service that listens on the host's loopback."""
    return _reach(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", box.facts["listener"]))


def own_loopback(box: Any) -> str:
    """Listen on a port of one's own: not even that network is up."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as made:
            made.bind(("127.0.0.1", 0))
            made.listen()
            return "a port is open"
    except OSError:
        return ""


def metadata_address(box: Any) -> str:
    """Connect to the address at which clouds give out credentials."""
    return _reach(socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80))


def public_address(box: Any) -> str:
    """Send a datagram to a public address."""
    return _reach(socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 53))


def name_service(box: Any) -> str:
    """Look a name up."""
    try:
        found = socket.getaddrinfo("example.org", 80)
    except OSError:
        return ""
    return f"{found[0][4]} was found"


def internet_sockets(box: Any) -> str:
    """Make a socket of version 4 or 6."""
    return _made(socket.AF_INET, socket.AF_INET6)


def unix_sockets(box: Any) -> str:
    """Make a local socket: the channel is the only one."""
    return _made(socket.AF_UNIX)


def abstract_sockets(box: Any) -> str:
    """Connect to a local socket without a path, such as a desktop's message bus."""
    return _reach(socket.AF_UNIX, socket.SOCK_STREAM, "\0execution-harness-selftest")


def every_family(box: Any) -> str:
    """Make a socket of any of the 46 families: netlink, packets, virtual machines, Bluetooth and the others."""
    return _made(*range(46))


def _made(*families: int) -> str:
    for family in families:
        for kind in (1, 2, 3, 5):
            try:
                with socket.socket(family, kind):
                    return f"a socket of family {family} and kind {kind} was made"
            except OSError:
                continue
    return ""


def datagram_pairs(box: Any) -> str:
    """Make a pair of datagram sockets, whose ends could be pointed elsewhere."""
    try:
        for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM):
            end.close()
        return "a pair was made"
    except OSError:
        return ""


def send_to_an_address(box: Any) -> str:
    """Use a stream pair to send to an address."""
    ends = socket.socketpair()
    try:
        ends[0].sendto(b"x", "/tmp/nowhere")
        return "the kernel took an address"
    except PermissionError:
        return ""
    except OSError as error:
        return "" if error.errno in (38, 106) else f"the kernel looked at the address: {error}"
    finally:
        for end in ends:
            end.close()


def interfaces(box: Any) -> str:
    """List the network interfaces of the host."""
    return str(box.unlistable("/sys/class/net")) or str(box.unreadable("/proc/net/dev", "/proc/self/net/tcp"))


def rendezvous(box: Any) -> str:
    """Find the socket of another run: the folder of one's own holds at most one's own."""
    try:
        names = os.listdir("/run/gateway")
    except OSError:
        return ""
    return f"{len(names)} sockets can be seen" if len(names) > 1 else ""
