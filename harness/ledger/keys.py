"""Key files: one random secret beside the store, closed to everybody else."""

import hashlib
import hmac
import os
import stat
from pathlib import Path

from harness.core.errors import StoreUnavailable

__all__ = ["KEY_BYTES", "closed_file", "derive", "key_path", "load_or_create", "read_key"]

KEY_BYTES = 32
"""The size of a SHA-256 block key: more is hashed down, less is weaker than the digest."""


def key_path(store: Path) -> Path:
    """Where the key of a store lies: `NAME.key` beside it."""
    return store.with_name(store.name + ".key")


def load_or_create(path: Path) -> bytes:
    """The secret in `path`, made on first use by whoever comes first.

    Raises StoreUnavailable where the file is not a closed regular file of `KEY_BYTES` bytes, or cannot be made.
    """
    try:
        return read_key(path)
    except FileNotFoundError:
        _create(path)
        return read_key(path)


def read_key(path: Path) -> bytes:
    """The secret in `path`. Raises FileNotFoundError, or StoreUnavailable where it is open, damaged or not a file."""
    closed_file(path)
    key = path.read_bytes()
    if len(key) != KEY_BYTES:
        raise StoreUnavailable(
            f"the key `{path}` has {len(key)} bytes, not {KEY_BYTES}",
            hint="restore it from a backup: what was made with it cannot be verified or replayed without it",
        )
    return key


def derive(key: bytes, purpose: str) -> bytes:
    """A key for one purpose; knowing it tells nothing of the others."""
    return hmac.digest(key, purpose.encode("ascii"), hashlib.sha256)


def closed_file(path: Path) -> None:
    """Raises StoreUnavailable unless `path` is a regular file that only its owner can read and write."""
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode):
        raise StoreUnavailable(f"`{path}` is not a regular file", hint="name a path where a file can be made")
    if found.st_mode & 0o077:
        raise StoreUnavailable(
            f"`{path}` is open to other users", hint=f"run `chmod 600 {path}` and see who could read it"
        )
    if found.st_uid not in (os.geteuid(), 0):
        raise StoreUnavailable(f"`{path}` belongs to another user", hint="use a store of your own")


def _create(path: Path) -> None:
    """Write a new secret under a name of its own, then link it: nobody ever sees half a key."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, os.urandom(KEY_BYTES))
            os.fsync(handle)
        finally:
            os.close(handle)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            os.unlink(draft)
    except OSError as error:
        raise StoreUnavailable(
            f"the key `{path}` cannot be made: {error.strerror}", hint="is the folder writable?"
        ) from None
