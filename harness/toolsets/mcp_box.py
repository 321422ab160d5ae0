"""A box for a server that is a process: the command that starts it inside bubblewrap, with what the source declares."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.contract.host_tools import SourceBox
from harness.toolsets.errors import SourceUnavailable

__all__ = ["Private", "boxed"]


@dataclass(frozen=True, slots=True)
class Private:
    """What no box of a source shows, whatever is declared."""

    store: Path
    """The folder of the journal, the audit and their keys."""
    files: tuple[Path, ...]
    """Of the host's secrets."""


def boxed(command: Sequence[str], box: SourceBox | None, base: Path, cwd: Path, private: Private) -> list[str]:
    """The command itself where no box is declared. Raises SourceUnavailable where bubblewrap is missing.

    Inside: the host's files, read-only, but the folders of `write`; empty /tmp, /dev/shm, /run and `hide`; no other
    processes, no capabilities, and no network unless it is declared. What is `private` is empty whatever is declared.
    """
    if box is None:
        return list(command)
    program = shutil.which("bwrap")
    if program is None:
        raise SourceUnavailable("a source wants a box, and there is no `bwrap`", hint="install bubblewrap")
    words = [program, "--die-with-parent", "--new-session", "--unshare-all", "--cap-drop", "ALL"]
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
    os.makedirs(private.store, 0o700, exist_ok=True)  # before its first run: what comes later would show
    words += ["--tmpfs", os.path.realpath(private.store)]
    for path in map(os.path.realpath, private.files):
        if os.path.exists(path):
            words += ["--ro-bind", os.devnull, path]
    return [*words, "--chdir", str(cwd), "--", *command]


def _named(command: Sequence[str]) -> list[str]:
    """What a command names below the folders that are empty inside: its files, and its program's whole environment."""
    found = [word for word in command if word.startswith(("/tmp/", "/run/")) and os.path.exists(word)]
    if found and found[0] == command[0] and os.path.basename(os.path.dirname(command[0])) == "bin":
        found[0] = os.path.dirname(os.path.dirname(command[0]))
    return found
