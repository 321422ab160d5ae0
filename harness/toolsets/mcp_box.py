"""A box for a server that is a process: the command that starts it inside bubblewrap, with what the source declares."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.contract.host_tools import SourceBox
from harness.core.errors import EnvironmentUnavailable
from harness.outbound.egress import SOCKET_NAME
from harness.toolsets.errors import SourceUnavailable
from harness.walls.bubblewrap import find_program

__all__ = ["PROXY_ENVIRONMENT", "Private", "boxed"]

EGRESS = "/run/egress"
"""Where a box finds its way out, where it declares one."""
PORT = 3128
"""Of the forwarder, on the loopback of the box's own network: nobody else has it there."""
PROXY_ENVIRONMENT = {
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), f"http://127.0.0.1:{PORT}"),
    "NODE_USE_ENV_PROXY": "1",
}
"""By which common clients find the way out; node asks for the last one."""
_FORWARDER = Path(__file__).with_name("egress_forward.py")


@dataclass(frozen=True, slots=True)
class Private:
    """What no box of a source shows, whatever is declared."""

    store: Path
    """The folder of the journal, the audit and their keys."""
    files: tuple[Path, ...]
    """Of the host's secrets."""


def boxed(
    command: Sequence[str],
    box: SourceBox | None,
    base: Path,
    cwd: Path,
    private: Private,
    egress: Path | None = None,
) -> list[str]:
    """The command itself where no box is declared. Raises SourceUnavailable where bubblewrap is missing.

    `egress` is the folder with the socket of the host's proxy, where the box declares what it reaches.

    Inside: the host's files, read-only, but the folders of `write`; empty /tmp, /dev/shm, /run and `hide`; no other
    processes, no capabilities, and no network unless it is declared. What is `private` is empty whatever is declared.
    """
    if box is None:
        return list(command)
    try:
        program = find_program()
    except EnvironmentUnavailable as error:
        raise SourceUnavailable(f"a source wants a box: {error.message}", hint=error.hint) from error
    words = [str(program.path), "--die-with-parent", "--new-session", "--unshare-all", "--cap-drop", "ALL"]
    if box.network:
        words.append("--share-net")
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for empty in ("/tmp", "/run"):
        words += ["--tmpfs", empty]
    for path in _named(command):
        words += ["--ro-bind", path, path]
    for name in box.hide:
        words += ["--tmpfs", os.path.realpath(base / name)]
    if box.network:
        words += ["--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve"]  # where names are resolved there
    words += ["--ro-bind", str(cwd), str(cwd)]  # it may lie below a folder that is empty inside
    hidden = [os.path.realpath(base / name) for name in box.hide]
    for path in (each for each in hidden if Path(each) != cwd and Path(each).is_relative_to(cwd)):
        words += ["--tmpfs", path]  # the working folder has just brought it back
    for name in box.write:
        path = os.path.realpath(base / name)
        words += ["--bind", path, path]
    words += _way_out(egress) if egress is not None else []
    os.makedirs(private.store, 0o700, exist_ok=True)  # before its first run: what comes later would show
    words += ["--tmpfs", os.path.realpath(private.store)]
    for path in map(os.path.realpath, private.files):
        if os.path.exists(path):
            words += ["--ro-bind", os.devnull, path]
    forward = [_python(), "-I", "-S", f"{EGRESS}/forward.py", f"{EGRESS}/way/{SOCKET_NAME}", str(PORT)]
    return [*words, "--chdir", str(cwd), "--", *(forward if egress is not None else []), *command]


def _way_out(egress: Path) -> list[str]:
    """The socket, the forwarder, and the Python that runs it, wherever they lie."""
    prefix = os.path.realpath(sys.base_prefix)
    python = [] if prefix == "/usr" else ["--ro-bind", prefix, prefix]
    return [*python, "--ro-bind", str(_FORWARDER), f"{EGRESS}/forward.py", "--ro-bind", str(egress), f"{EGRESS}/way"]


def _python() -> str:
    return os.path.realpath(sys.executable)


def _named(command: Sequence[str]) -> list[str]:
    """What a command names below the folders that are empty inside: its files, and its program's whole environment."""
    found = [word for word in command if word.startswith(("/tmp/", "/run/")) and os.path.exists(word)]
    if found and found[0] == command[0] and os.path.basename(os.path.dirname(command[0])) == "bin":
        found[0] = os.path.dirname(os.path.dirname(command[0]))
    return found
