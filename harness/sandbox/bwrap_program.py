"""Whether this machine lets bubblewrap make a box; where not, one sentence and the mend."""

import os
import subprocess
from pathlib import Path

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.users import box_user
from harness.walls.bubblewrap import INSTALL, Program, find_program

__all__ = ["NAMESPACES", "explain", "probe"]

PROBE_SECONDS = 10.0
"""Making and leaving the namespaces takes 5 ms."""
NAMESPACES = (
    "--unshare-user",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
)
"""The namespaces of every box: its own users, IPC, processes, network (not even loopback is up), host name, groups."""

_SWITCHES = (
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor closes user namespaces to unprivileged programs",
        "give bubblewrap an AppArmor profile (`apt install apparmor-profiles`, profile `bwrap-userns-restrict`), "
        "or open them: `sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
    ),
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "the kernel closes user namespaces to unprivileged programs",
        "open them: `sysctl kernel.unprivileged_userns_clone=1`",
    ),
    (
        "/proc/sys/user/max_user_namespaces",
        "0",
        "this machine allows no user namespaces",
        "raise the limit: `sysctl user.max_user_namespaces=10000`",
    ),
)
"""(switch, value that closes, what it means, the mend)."""
_CLOSED_WORDS = ("namespace", "uid map", "ermission denied", "ermissions", "not permitted")
"""What bubblewrap's last words hold where the kernel, AppArmor or a container's profile said no."""


def probe() -> Program:
    """The program, tried: it made a box's namespaces and left them. Raises EnvironmentUnavailable with the mend."""
    program = find_program()
    command = [
        str(program.path),
        *NAMESPACES,
        "--cap-drop",
        "ALL",
        "--ro-bind",
        "/",
        "/",
        str(program.path),
        "--version",
    ]
    user = box_user()
    try:
        done = subprocess.run(
            command,
            env={},
            cwd="/",
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentUnavailable(f"bubblewrap does not start: {error}", hint=INSTALL) from None
    if done.returncode != 0:
        raise explain(done.stderr.decode("utf-8", "replace"))
    return program


def explain(words: str) -> EnvironmentUnavailable:
    """What bubblewrap's own last words mean on this machine, and the mend."""
    said = words.strip().splitlines()[-1] if words.strip() else "it said nothing"
    closed = any(word in said for word in _CLOSED_WORDS)
    for switch, closes, meaning, mend in _SWITCHES:
        if closed and _switch(switch) == closes:
            return EnvironmentUnavailable(f"no bubblewrap box here: {meaning} (`{said}`)", hint=mend)
    if closed and (os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv")):
        return EnvironmentUnavailable(
            f"no bubblewrap box here: this container may not make namespaces (`{said}`)",
            hint="let the container unshare and mount (its seccomp and AppArmor profiles), or use the docker backend",
        )
    return EnvironmentUnavailable(
        f"no bubblewrap box here: `{said}`", hint="run `harness doctor`, or use the docker backend"
    )


def _switch(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
