"""A folder that a tool may work in: every path is walked from its descriptor, so that no link and no race leads out.

What is refused: absolute paths, `..`, links anywhere on the way, whatever is no regular file.
"""

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

__all__ = ["MAX_FILE_BYTES", "Folder", "NoSuchFile", "PathRefused", "normal"]

MAX_FILE_BYTES = 2 << 20
"""A source file that people read has a hundredth of it."""
MAX_FILES = 20_000
"""Files of a tree that is digested or copied: the largest that a test run copies within a second."""
SKIPPED = frozenset({".git", "__pycache__", ".pytest_cache", ".hypothesis"})
"""What is made by looking at a tree, and is no part of it."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class PathRefused(ValueError):
    """The path leads out of the folder, over a link, or to something that is no file."""


class NoSuchFile(LookupError):
    """There is no such file."""


def normal(path: str) -> tuple[str, ...]:
    """The segments of a relative path. Raises PathRefused."""
    parts = path.split("/")
    if not path or path.startswith("/") or "\\" in path or "\x00" in path or len(path) > 1_000:
        raise PathRefused(f"`{path[:100]!s}` is no relative path")
    if any(part in ("", ".", "..") for part in parts):
        raise PathRefused(f"`{path[:100]}` is not written in its shortest form")
    return tuple(parts)


class Folder:
    """One folder, by its descriptor."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve(strict=True)
        self._root = os.open(self.path, _FOLDER)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._root)

    def read(self, path: str) -> bytes:
        """The whole of a file. Raises NoSuchFile, PathRefused."""
        with self._parent(path) as (folder, name):
            return _read(folder, name, path)

    def replace(self, path: str, data: bytes) -> None:
        """Put `data` in place of a file, whole or not at all. Raises PathRefused, NoSuchFile for its folder."""
        with self._parent(path) as (folder, name):
            _refuse_other(folder, name, path)
            temporary = f".{name}.{secrets.token_hex(8)}"
            handle = os.open(
                temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=folder
            )
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise
            os.fsync(folder)

    def remove(self, path: str) -> None:
        """Remove a file. Raises NoSuchFile, PathRefused."""
        with self._parent(path) as (folder, name):
            _refuse_other(folder, name, path)
            try:
                os.unlink(name, dir_fd=folder)
            except FileNotFoundError:
                raise NoSuchFile(f"there is no file `{path}`") from None

    def files(self) -> dict[str, bytes]:
        """Every regular file by its path, sorted; links are left out. Raises PathRefused where there are too many."""
        found: dict[str, bytes] = {}
        for path in sorted(_walk(self._root, "")):
            with contextlib.suppress(NoSuchFile, PathRefused):
                found[path] = self.read(path)
            if len(found) > MAX_FILES:
                raise PathRefused(f"the folder holds more than {MAX_FILES} files")
        return found

    def digests(self) -> dict[str, str]:
        """SHA-256 hex of every file, by path."""
        return {path: hashlib.sha256(data).hexdigest() for path, data in self.files().items()}

    @contextlib.contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, str]]:
        """The descriptor of the folder of `path`, and its last segment; no step of the way is a link."""
        *folders, name = normal(path)
        current = os.dup(self._root)
        try:
            for part in folders:
                try:
                    following = os.open(part, _FOLDER, dir_fd=current)
                except FileNotFoundError:
                    raise NoSuchFile(f"there is no folder of `{path}`") from None
                except OSError as error:
                    raise PathRefused(f"`{path}`: `{part}` is no folder, or a link") from error
                os.close(current)
                current = following
            yield current, name
        finally:
            os.close(current)


def _read(folder: int, name: str, path: str) -> bytes:
    try:
        handle = os.open(name, _FILE, dir_fd=folder)
    except FileNotFoundError:
        raise NoSuchFile(f"there is no file `{path}`") from None
    except OSError as error:
        word = "a link" if error.errno == errno.ELOOP else "no file"
        raise PathRefused(f"`{path}` is {word}") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise PathRefused(f"`{path}` is no regular file")
    with os.fdopen(handle, "rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise PathRefused(f"`{path}` is larger than {MAX_FILE_BYTES} bytes")
    return data


def _refuse_other(folder: int, name: str, path: str) -> None:
    """Only a regular file is replaced or removed; a race replaces a name inside the folder, never what it names."""
    try:
        mode = os.lstat(name, dir_fd=folder).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise PathRefused(f"`{path}` is no regular file")


def _walk(folder: int, prefix: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        found = sorted(
            (entry.name, entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False)) for entry in entries
        )
    for name, is_folder, is_file in found:
        if name in SKIPPED:
            continue
        if is_file:
            yield prefix + name
        elif is_folder:
            try:
                inner = os.open(name, _FOLDER, dir_fd=folder)
            except OSError:
                continue
            try:
                yield from _walk(inner, f"{prefix}{name}/")
            finally:
                os.close(inner)
