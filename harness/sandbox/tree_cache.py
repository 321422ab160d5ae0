"""The cache in which trees lie: one folder outside any home, locked while it changes, swept of what nobody uses."""

import fcntl
import os
import py_compile
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.core.errors import EnvironmentUnavailable
from harness.walls.cache import CACHE_VARIABLE, cache_root, prepare

__all__ = ["building", "cache_lock", "hold", "locked", "reported", "sweep"]

KEEP_SECONDS = 3 * 86_400
"""An unused tree is removed after three days: a tree is 45 MB, and building one takes about two seconds."""

_held: list[int] = []
"""Descriptors of the trees in use, each with a shared lock: the sweep of another process leaves those alone."""


@contextmanager
def cache_lock(name: str) -> Iterator[None]:
    """Hold the lock `name` of the cache: one process at a time makes what others then find."""
    root = cache_root()
    with reported(root):
        prepare(root)
    with locked(root, f"{name}.lock"):
        yield


@contextmanager
def locked(root: Path, name: str = "lock") -> Iterator[None]:
    """Hold a lock of the cache at `root`."""
    descriptor = os.open(root / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def building(root: Path, target: Path) -> Iterator[Path]:
    """A folder that becomes `target` in one step when the block ends well, and is removed when it does not."""
    work = Path(tempfile.mkdtemp(dir=root, prefix="new-"))
    try:
        yield work
        work.chmod(0o755)
        os.rename(work, target)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise


@contextmanager
def reported(root: Path) -> Iterator[None]:
    """What goes wrong with the cache, as EnvironmentUnavailable."""
    try:
        yield
    except (OSError, py_compile.PyCompileError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise EnvironmentUnavailable(
            f"the box's file tree cannot be made in `{root}`: {why.lower()}",
            hint=f"free some space (60 MB), or set {CACHE_VARIABLE} to a folder that you can write, outside any home",
        ) from error


def hold(tree: Path) -> None:
    """Keep the sweep of other processes off a tree until this process ends."""
    descriptor = os.open(tree, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    os.utime(tree)
    _held.append(descriptor)


def sweep(root: Path) -> None:
    """Remove what a killed build left, and trees that nobody has used for a while or holds now."""
    limit = time.time() - KEEP_SECONDS
    for folder in (*root.glob("tree-*"), *root.glob("new-*"), *root.glob("base-*")):
        try:
            if folder.stat().st_mtime > limit or not folder.is_dir():
                continue
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(descriptor)
