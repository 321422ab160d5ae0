"""The folder and socket over which one box finds the gateway: closed to others, short, gone after one connection.

RUN FOLDER (0700)  /  OWNER-NUMBER (0711, mounted into that box alone)  /  s
"""

import itertools
import os
import shutil
import socket
import stat
import struct
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.owner import Owner, proven_dead, this_owner

__all__ = ["LONGEST_NAME", "SOCKET_NAME", "Peer", "Rendezvous", "peer_of", "run_folder", "sweep_run_folder"]

MAX_PATH = 100
"""Bytes of a socket's path. The kernel takes 107; some are left for an engine that prefixes its own root."""
SOCKET_NAME = "s"
RUN_VARIABLE = "HARNESS_RUN_DIR"
LONGEST_NAME = "-4194304-99999999999-9999999"
"""Process ids have at most 7 digits, start times 11; boxes of one host are counted."""
_serial = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end of a Unix socket, as the kernel says."""

    pid: int
    """0 where the peer is not in a pid namespace that this process can see."""
    uid: int
    gid: int


class Rendezvous:
    """A listening socket of one box. Whatever happens, call `close`."""

    def __init__(self, folder: Path) -> None:
        owner = this_owner()
        self.folder = folder / f"{owner.namespace:x}-{owner.pid}-{owner.started}-{next(_serial)}"
        self.folder.mkdir(mode=0o711)
        self.folder.chmod(0o711)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.listener.setblocking(False)
            path = self.folder / SOCKET_NAME
            self.listener.bind(str(path))
            path.chmod(0o666)
            self.listener.listen(1)
        except OSError as error:
            self.close()
            raise EnvironmentUnavailable(
                f"no socket can be made in `{folder}`: {(error.strerror or 'unknown error').lower()}",
                hint=f"set {RUN_VARIABLE} to a short path on a local file system",
            ) from error

    def shut(self) -> None:
        """No second connection: the path is gone and nobody listens."""
        self.listener.close()
        (self.folder / SOCKET_NAME).unlink(missing_ok=True)

    def close(self) -> None:
        """Remove socket and folder. Idempotent."""
        self.listener.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def peer_of(connection: socket.socket) -> Peer:
    """The credentials that the kernel noted when the peer connected."""
    size = struct.calcsize("3i")
    return Peer(*struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)))


def run_folder(environ: Mapping[str, str] | None = None) -> Path:
    """A folder of this user alone, whose sockets have short enough paths; made where it is not there.

    The first that is short enough of: HARNESS_RUN_DIR, the user's run-time folder or /run for root, TMPDIR, /tmp.
    Raises EnvironmentUnavailable where HARNESS_RUN_DIR is too long, or none can be made or trusted.
    """
    env = os.environ if environ is None else environ
    given = env.get(RUN_VARIABLE)
    if given and _length(Path(given)) > MAX_PATH:
        raise EnvironmentUnavailable(
            f"{RUN_VARIABLE} makes socket paths of {_length(Path(given))} bytes, and {MAX_PATH} is the most",
            hint=f"set it to a path of at most {MAX_PATH - _length(Path('/'))} bytes",
        )
    refused: OSError | EnvironmentUnavailable | None = None
    for folder in [Path(given)] if given else _candidates(env):
        if _length(folder) > MAX_PATH:
            continue
        try:
            return _own(folder)
        except (OSError, EnvironmentUnavailable) as error:
            refused = refused or error
    raise EnvironmentUnavailable(
        f"there is no folder for the boxes' sockets: {refused}",
        hint=f"set {RUN_VARIABLE} to a short path that only this user can write",
    )


def sweep_run_folder(folder: Path) -> int:
    """Remove what hosts left that are proven dead; how many."""
    swept = 0
    mine = this_owner()
    for left in folder.iterdir():
        parts = left.name.split("-")
        if len(parts) != 4 or not all(part.isalnum() for part in parts):
            continue
        try:
            owner = Owner(mine.machine, mine.boot, int(parts[0], 16), int(parts[1]), int(parts[2]))
        except ValueError:
            continue
        if proven_dead(owner):
            shutil.rmtree(left, ignore_errors=True)
            swept += 1
    return swept


def _candidates(env: Mapping[str, str]) -> Iterator[Path]:
    uid = os.geteuid()
    if uid == 0:
        yield Path("/run/execution-harness")
    elif env.get("XDG_RUNTIME_DIR"):
        yield Path(env["XDG_RUNTIME_DIR"], "execution-harness")
    yield Path(env.get("TMPDIR") or tempfile.gettempdir(), f"execution-harness-{uid}")
    yield Path(f"/tmp/execution-harness-{uid}")


def _length(folder: Path) -> int:
    """Bytes of the longest socket path below `folder`."""
    name = f"{0xFFFFFFFF:x}{LONGEST_NAME}/{SOCKET_NAME}"
    return len(os.fsencode(folder)) + 1 + len(name)


def _own(folder: Path) -> Path:
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise EnvironmentUnavailable(
            f"`{folder}` is not a folder that only this user can enter", hint="remove it, or close it: chmod 700"
        )
    return folder
