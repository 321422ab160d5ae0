"""The work folder of a box that makes it for itself: bubblewrap can bound its size, but neither its files nor its code.

Standard library only. Needs the right to mount, which `drop_capabilities` gives up again.
"""

import ctypes
import os

__all__ = ["cover", "drop_capabilities", "mount"]

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
CLOSED = MS_NOSUID | MS_NODEV | MS_NOEXEC
CAPABILITY_VERSION_3 = 0x20080522
PR_CAPBSET_DROP = 24
LAST_CAPABILITY = 40
"""CAP_CHECKPOINT_RESTORE: the highest that there is."""
FOLDER = "/tmp"

_libc = ctypes.CDLL(None, use_errno=True)


def cover(work: "dict[str, int]") -> None:
    """A tmpfs of the box's own: `bytes`, `inodes`; nothing in it is executed or mapped. Raises OSError."""
    owner = f"uid={os.getuid()},gid={os.getgid()}"
    mount(FOLDER, CLOSED, f"size={work['bytes']},nr_inodes={work['inodes']},mode=0700,{owner}")
    os.chdir(FOLDER)


def mount(target: str, flags: int, options: str) -> None:
    """A tmpfs over `target`. Raises OSError."""
    if _libc.mount(b"tmpfs", target.encode(), b"tmpfs", ctypes.c_ulong(flags), options.encode()) < 0:
        raise _refused(target)


def drop_capabilities() -> None:
    """None in any set, and none to be had again. Raises OSError."""
    for number in range(LAST_CAPABILITY + 1):
        _libc.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(number), 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    if _libc.capset(header, (ctypes.c_uint32 * 6)()) < 0:
        raise _refused("capabilities")


def _refused(what: str) -> OSError:
    return OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
