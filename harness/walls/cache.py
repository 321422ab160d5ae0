"""The folder outside any home in which the harness keeps what boxes need: where it is, and that it is ours."""

import os
import stat
from pathlib import Path

from harness.core.errors import EnvironmentUnavailable

__all__ = ["CACHE_VARIABLE", "cache_root", "owned", "prepare"]

CACHE_VARIABLE = "HARNESS_CACHE"


def cache_root() -> Path:
    """Where trees are kept: `HARNESS_CACHE`, else a folder of this user outside any home."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given).absolute()
    if os.geteuid() == 0:
        return Path("/var/cache/execution-harness")
    return Path(f"/var/tmp/execution-harness-{os.geteuid()}")


def prepare(root: Path) -> None:
    """The cache folder: ours, closed to other writers, and reachable by whoever a box runs as.

    Raises EnvironmentUnavailable.
    """
    owned(root)
    for parent in (root, *root.parents):
        if not parent.stat().st_mode & stat.S_IXOTH:
            raise EnvironmentUnavailable(
                f"the cache `{root}` lies below `{parent}`, which other users cannot enter, and a box runs as another",
                hint=f"set {CACHE_VARIABLE} to a folder outside any home",
            )


def owned(root: Path) -> None:
    """The cache folder: ours, and closed to other writers, so that nobody else chooses what is executed from it.

    Raises EnvironmentUnavailable.
    """
    if not root.exists():
        root.mkdir(parents=True, exist_ok=True)
        root.chmod(0o755)
    found = root.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise EnvironmentUnavailable(
            f"the cache `{root}` is not a folder that only this user can write",
            hint=f"remove it, or set {CACHE_VARIABLE} to a folder of your own",
        )
