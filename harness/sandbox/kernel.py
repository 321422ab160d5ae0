"""What this machine's kernel has: asked once, not guessed from versions."""

import ctypes
from functools import cache
from pathlib import Path

from harness.sandbox.kernel_files import read_text

__all__ = ["has_swap", "landlock_version"]

_LANDLOCK_CREATE = 444
"""`landlock_create_ruleset`, on every architecture."""
_VERSION_FLAG = 1


@cache
def landlock_version() -> int:
    """Version of Landlock's interface; 0 where the kernel has none, or has it switched off."""
    return max(0, int(ctypes.CDLL(None).syscall(_LANDLOCK_CREATE, None, 0, _VERSION_FLAG)))


def has_swap(swaps: Path = Path("/proc/swaps")) -> bool:
    """Whether this machine has swap on; assumed where it cannot be read."""
    try:
        return len(read_text(str(swaps)).splitlines()) > 1
    except OSError:
        return True
