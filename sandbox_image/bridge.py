"""The box's first process where no socket of the host can be carried in: it moves bytes, and knows nothing of them.

Descriptors 0 and 1 are the engine's attached stream. A child gets one end of a pair as its channel and becomes the box;
this process confines itself just as far, copies both ways, and ends as the child ends.
"""

import base64
import json
import os
import runpy
import select
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from sandbox_image import confine

__all__ = ["CHANNEL", "main"]

CHANNEL = 3
"""The descriptor at which the box finds its channel; the boot argument says the same."""
CHUNK = 65536
"""Bytes that may be on their way in each direction."""
SIGNAL_BASE = 128
"""An end by a signal is passed on as a shell does: the first process of a namespace cannot end so itself."""


def main() -> None:
    """Become two processes: the bridge, and the box's own runner."""
    boot = json.loads(sys.argv[1])
    here, there = socket.socketpair()
    confine.forbid_tracing()
    child = os.fork()
    if child == 0:
        here.close()
        channel = there.detach()
        os.dup2(channel, CHANNEL)
        if channel != CHANNEL:
            os.close(channel)
        program = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "boot.py")
        sys.argv = [program, sys.argv[1]]
        runpy.run_path(program, run_name="__main__")
        return
    there.close()
    _confine(boot)
    here.setblocking(False)
    _pump(here, child)


def _confine(boot: confine.Boot) -> None:
    """The box's own walls, but for three descriptors in place of one."""
    confine.forbid_new_privileges()
    confine.assert_one_thread()
    confine.set_limits(boot["rlimits"])
    confine.restrict_paths({"read": [], "write": [], "required": boot["landlock"]["required"]})
    confine.install_filter(base64.b64decode(boot["filter"]))


def _pump(pair: socket.socket, child: int) -> None:
    """Copy 0 to the pair and the pair to 1 until the pair is closed and the child has ended."""
    inward = _Lane(0, pair.fileno())
    outward = _Lane(pair.fileno(), 1)
    os.set_blocking(0, False)
    os.set_blocking(1, False)
    while outward.open:
        poller = select.poll()
        for descriptor, events in _wanted(inward, outward).items():
            poller.register(descriptor, events)
        for descriptor, happened in poller.poll():
            for lane in (inward, outward):
                lane.move(descriptor, happened)
        if not inward.open and not inward.told:
            inward.told = True
            pair.shutdown(socket.SHUT_WR)
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else SIGNAL_BASE - code)


class _Lane:
    """One direction: what was read and is not yet written; nothing more is read before it is."""

    def __init__(self, source: int, target: int) -> None:
        self.source = source
        self.target = target
        self.held = memoryview(b"")
        self.ended = False
        self.told = False

    @property
    def open(self) -> bool:
        """Whether something may still come through."""
        return bool(self.held) or not self.ended

    def move(self, descriptor: int, happened: int) -> None:
        """Read or write once, as far as this descriptor is ready for it."""
        try:
            if descriptor == self.source and not self.held and not self.ended and happened & ~select.POLLOUT:
                self.held = memoryview(os.read(self.source, CHUNK))
                self.ended = not self.held
            elif descriptor == self.target and self.held and happened & ~select.POLLIN:
                self.held = self.held[os.write(self.target, self.held) :]
        except BlockingIOError:
            return
        except OSError:
            self.held = memoryview(b"")
            self.ended = True


def _wanted(*lanes: _Lane) -> dict[int, int]:
    wanted: dict[int, int] = {}
    for lane in lanes:
        if lane.held:
            wanted[lane.target] = wanted.get(lane.target, 0) | select.POLLOUT
        elif not lane.ended:
            wanted[lane.source] = wanted.get(lane.source, 0) | select.POLLIN
    return wanted


if __name__ == "__main__":
    main()
