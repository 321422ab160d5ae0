"""Run once, as root, while an image is built: compiles the box's packages and takes away what a box never needs.

Not a boundary: the box's user, its read-only root and its filters are. What is not there cannot be reached for.
"""

import os
import py_compile
import shutil
import stat
import sys
from collections.abc import Iterator

__all__ = ["compile_box", "main", "seal"]

BOXLIB = "/opt/box"
OWN_MOUNTS = ("proc", "sys", "dev")
SHELLS = ("sh", "bash", "dash", "rbash", "ash", "busybox", "perl")
INSTALLERS = ("apk", "dpkg", "rpm", "dnf", "yum", "pip", "pip3")
RIGHTS = (
    "su",
    "sudo",
    "mount",
    "umount",
    "chroot",
    "nsenter",
    "unshare",
    "setpriv",
    "newgrp",
    "passwd",
    "chsh",
    "chfn",
)
TOOLS = frozenset((*SHELLS, *INSTALLERS, *RIGHTS))
"""What is removed, by name: no program but Python is ever started in a box."""
TOOL_STARTS = ("apt", "dpkg-", "perl5", "pip3.", "python3-config", "idle3", "pydoc3")
KEPT = "/usr/local/bin/python3"


def main() -> None:
    """Seal the root file system of the image that is being built; exits with a sentence where it is not usable."""
    wanted = os.environ.get("PYTHON_MINOR", "")
    found = f"{sys.version_info.major}.{sys.version_info.minor}"
    if wanted and wanted != found:
        sys.exit(f"the image's Python is {found}, and the host's is {wanted}")
    seal("/")
    compile_box(BOXLIB)


def seal(root: str) -> None:
    """Remove tools, site packages and setuid bits below `root`."""
    for path in tuple(_files(root)):
        mode = os.lstat(path).st_mode
        if _is_tool(path):
            os.unlink(path)
        elif stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
            os.chmod(path, stat.S_IMODE(mode) & 0o777)
    library = os.path.join(root, f"usr/local/lib/python{sys.version_info.major}.{sys.version_info.minor}")
    for name in ("site-packages", "ensurepip", "idlelib", "tkinter"):
        shutil.rmtree(os.path.join(library, name), ignore_errors=True)


def compile_box(folder: str) -> None:
    """Compile every module below `folder`, and lay `boot.py` at its top."""
    boot = os.path.join(folder, "sandbox_image", "boot.py")
    if os.path.exists(boot):
        shutil.copyfile(boot, os.path.join(folder, "boot.py"))
    for path in tuple(_files(folder)):
        if path.endswith(".py"):
            py_compile.compile(path, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)


def _is_tool(path: str) -> bool:
    folder, name = os.path.split(path)
    if os.path.basename(folder) not in ("bin", "sbin") or path == KEPT:
        return False
    return name in TOOLS or name.startswith(TOOL_STARTS)


def _files(root: str) -> Iterator[str]:
    """Every file on the root's own file system."""
    for directory, folders, names in os.walk(root):
        if directory == "/":
            folders[:] = [name for name in folders if name not in OWN_MOUNTS]
        for name in names:
            yield os.path.join(directory, name)


if __name__ == "__main__":
    main()
