"""Forks boxes ahead of time: each fork is the first process of its own namespaces, confined before it speaks.

Runs in a bubblewrap root of its own and holds nothing of any run: what a slot needs comes over the slot's own channel.
Standard library only.
"""

import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
from types import ModuleType
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from sandbox_image import confine, pages, work

__all__ = ["main"]

MESSAGE_BYTES = 1 << 16
"""A request holds a filter and some numbers: 6 KB."""
MAX_DESCRIPTORS = 16
"""The channel, and one entrance for each controller."""
CLONE_NEWPID = 0x20000000
OTHER_NAMESPACES = 0x5E020000
"""Mounts, control groups, host name, IPC, users, network: all that a process can leave by itself."""
USER = 1000
"""User and group in every box."""

_libc = ctypes.CDLL(None, use_errno=True)


class _ForkFailed(RuntimeError):
    """A slot could not be made; its word goes to the host and the fork ends."""


def main() -> None:
    """Warm up, then fork on request until the host hangs up. The one argument is JSON: `control`, `runner`."""
    settings = json.loads(sys.argv[1])
    control = socket.socket(fileno=settings["control"])
    runner = importlib.import_module(settings["runner"])
    if hasattr(runner, "warm"):
        runner.warm()
    gc.collect()
    gc.freeze()
    if hasattr(runner, "rehearsal"):
        pages.learn(runner.rehearsal())
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    wake, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, _note)
    signal.set_wakeup_fd(woken)
    _say(control, ready=True)
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(wake, select.POLLIN)
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == wake:
                os.read(wake, 4096)
                _reap(control)
            elif not _answer(control, own, runner):
                return


def _note(number: int, frame: object) -> None:
    """A child ended: the wake-up descriptor says so."""


def _say(control: socket.socket, **message: object) -> None:
    control.send(json.dumps(message).encode())


def _reap(control: socket.socket) -> None:
    """Collect every child that has ended, and tell how."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        _say(control, ended=pid, status=status)


def _answer(control: socket.socket, own: int, runner: ModuleType) -> bool:
    """Serve one request; False where the host has hung up."""
    content, descriptors, _, _ = socket.recv_fds(control, MESSAGE_BYTES, MAX_DESCRIPTORS)
    if not content:
        return False
    request = json.loads(content)
    try:
        first = _fork(own)
    except OSError as error:
        _say(control, slot=request["slot"], failed=str(error))
        first = -1
    if first == 0:
        _become(request, descriptors, control, runner)
    for descriptor in descriptors:
        os.close(descriptor)
    if first > 0:
        _say(control, slot=request["slot"], inner=first)
    return True


def _fork(own: int) -> int:
    """Fork the first process of a new pid namespace; 0 in it."""
    if _libc.unshare(CLONE_NEWPID) < 0:
        raise OSError(ctypes.get_errno(), "a pid namespace")
    first = os.fork()
    if first and _libc.setns(own, CLONE_NEWPID) < 0:
        raise OSError(ctypes.get_errno(), "the way back to the own pid namespace")
    return first


def _become(request: dict[str, Any], descriptors: list[int], control: socket.socket, runner: ModuleType) -> None:
    """Be a slot: leave everything that is shared, say who it is, confine itself, run. Never returns."""
    status = 70
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        channel = _prepare(request, descriptors, control)
        runner.serve(channel)
        status = 0
    finally:
        os._exit(status)


def _prepare(request: dict[str, Any], descriptors: list[int], control: socket.socket) -> socket.socket:
    """Every step up to the first word; the host is told of one that fails."""
    channel = descriptors[0]
    try:
        confine.enter_groups(descriptors[1:])
        _leave_namespaces()
        work.mount("/proc", work.CLOSED | work.MS_RDONLY, "size=4096,nr_inodes=1,mode=0")
        work.cover(request["work"])
        work.drop_capabilities()
        _say(control, slot=request["slot"], up=True)
        confine.confine({**request["boot"], "groups": ()}, channel)
    except (confine.ConfinementFailed, _ForkFailed, OSError) as error:
        _complain(control, request["slot"], str(error))
        raise
    control.detach()
    return socket.socket(fileno=channel)


def _complain(control: socket.socket, slot: int, text: str) -> None:
    """Say why, where the way to the host is still open."""
    try:
        _say(control, slot=slot, failed=text)
    except OSError:
        return


def _leave_namespaces() -> None:
    if _libc.unshare(OTHER_NAMESPACES) < 0:
        raise _ForkFailed(f"namespaces: {os.strerror(ctypes.get_errno())}")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{USER} {USER} 1"), ("gid_map", f"{USER} {USER} 1")):
        descriptor = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
        os.write(descriptor, text.encode())
        os.close(descriptor)


if __name__ == "__main__":
    main()
