"""The first file that runs in a box: opens the channel, gives up every right, and hands over to the runner.

Started as `python -I -B boot.py BOOT` from the folder that holds the box's packages; BOOT is one JSON argument of the
host, and there is no other input.
"""

import json
import os
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# asyncio would load it, 5 ms and 3 MB of a cold start; there is no network that it could speak over.
sys.modules["ssl"] = None  # type: ignore[assignment]

from sandbox_image import confine, runner, work  # noqa: E402 (what stands above decides where it is and what it loads)

__all__ = ["confined", "main"]


def main() -> None:
    """Never returns. Raises where the channel cannot be opened or a wall cannot be put up; then the process ends."""
    runner.serve(confined(json.loads(sys.argv[1])))


def confined(boot: confine.Boot) -> socket.socket:
    """The channel of a box that has given up every right but to it. Raises as `main` does."""
    channel = _channel(boot)
    if boot["work"] is not None:
        work.cover(boot["work"])
        work.drop_capabilities()
    confine.confine(boot, channel.fileno())
    return channel


def _channel(boot: confine.Boot) -> socket.socket:
    """The descriptor that the box was given, or a connection to the path that it was given."""
    if "fd" in boot:
        given = int(str(boot["fd"]))
        lowest = os.dup(given)  # whatever number the host gave it, the box's own limit of descriptors counts it
        os.close(given)
        return socket.socket(fileno=lowest)
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    channel.connect(str(boot["connect"]))
    return channel


if __name__ == "__main__":
    main()
