"""The `file:` destination: one new file for each run, below the host file's folder, written whole or not at all.

Exactly once: a name that exists is never written over, and a retry of the same run finds its own bytes there. Links are
not followed anywhere below the folder, so that nothing that a tool left there leads a result elsewhere.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.output.destinations.refusal import DeliveryRefused

__all__ = ["MAX_NAME_BYTES", "SCHEME", "parts_of", "write", "write_faults"]

SCHEME = "file:"
MAX_NAME_BYTES = 255
"""Of one part of a path: the limit of the usual file systems (ext4, xfs, apfs)."""
_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_OLD = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_SENTENCES: dict[int, tuple[str, str, bool]] = {
    errno.EACCES: ("cannot be written: permission denied", "let this user write the folder", True),
    errno.EPERM: ("cannot be written: not permitted", "let this user write the folder", True),
    errno.EROFS: ("lies on a read-only file system", "mount it writable, or name another folder", True),
    errno.ENOSPC: ("cannot be written: the disk is full", "make room", True),
    errno.EDQUOT: ("cannot be written: the quota is used up", "make room", True),
    errno.ENAMETOOLONG: ("has a name that is too long", "shorten it", False),
    errno.ELOOP: ("leads through a link", "name a path without links", False),
    errno.ENOTDIR: ("leads through something that is not a folder", "name another path", False),
}
"""By error number: what happened, the way out, whether the same delivery can work later."""


def parts_of(url: str) -> tuple[str, ...]:
    """The parts of the path in a `file:` URL. Raises DeliveryRefused for a path that is not below the folder."""
    path = url.removeprefix(SCHEME)
    if not path or path.endswith("/"):
        raise DeliveryRefused(f"`{url}` names no file", hint="write `file:results/NAME.json`")
    if path.startswith("/"):
        raise DeliveryRefused(f"`{url}` is an absolute path", hint="write it relative to the host file's folder")
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    for part in parts:
        if part == "..":
            raise DeliveryRefused(f"`{url}` leads out of the folder by `..`", hint="name a path below the host file")
        if not part.isprintable():
            raise DeliveryRefused(f"`{url!a}` holds characters that do not print", hint="use a plain name")
        if len(part.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
            raise DeliveryRefused(f"`{url}` has a part of more than {MAX_NAME_BYTES} bytes", hint="shorten it")
    if not parts:
        raise DeliveryRefused(f"`{url}` names no file", hint="write `file:results/NAME.json`")
    return parts


def write(folder: Path, url: str, run: str, data: bytes, *, again: bool = False) -> str:
    """Write `data` as the file of `url`; the path that it now has. Raises DeliveryRefused.

    `again`: an earlier attempt of this run may have got through; then a file with the very same bytes is its own.
    """
    parts = parts_of(url)
    where = str(folder.joinpath(*parts))
    with _translated(where), _directory(folder, parts[:-1], make=True) as directory:
        refusal = _occupied(directory, parts[-1], where)
        if refusal is None:
            _place(directory, parts[-1], run, data, where)
        elif not (again and _same(directory, parts[-1], data)):
            raise refusal
    return where


def write_faults(folder: Path, url: str) -> str:
    """Why a delivery to `url` could not work as things stand; empty where it could. Changes nothing."""
    try:
        parts = parts_of(url)
        where = str(folder.joinpath(*parts))
        with _translated(where), _directory(folder, parts[:-1], make=False) as directory:
            if directory < 0:
                return ""
            refusal = _occupied(directory, parts[-1], where)
            if refusal is not None:
                raise refusal
            if not os.access(f"/proc/self/fd/{directory}", os.W_OK | os.X_OK):
                raise OSError(errno.EACCES, "")
    except DeliveryRefused as refused:
        return str(refused)
    return ""


@contextmanager
def _translated(where: str) -> Iterator[None]:
    """Our refusals for the system's errors."""
    try:
        yield
    except OSError as error:
        known = _SENTENCES.get(error.errno or 0)
        if known is None:
            message = f"`{where}` cannot be written: {(error.strerror or str(error)).lower()}"
            raise DeliveryRefused(message, hint="look at the disk", later=True) from error
        raise DeliveryRefused(f"`{where}` {known[0]}", hint=known[1], later=known[2]) from error


@contextmanager
def _directory(folder: Path, parts: tuple[str, ...], *, make: bool) -> Iterator[int]:
    """A descriptor of the folder that will hold the file, reached step by step without following a link.

    -1 where a step is missing and `make` is false.
    """
    if make:
        folder.mkdir(parents=True, exist_ok=True)
    try:
        current = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield -1
        return
    try:
        for part in parts:
            following = _step(current, part, make)
            os.close(current)
            current = following
            if current < 0:
                break
        yield current
    finally:
        if current >= 0:
            os.close(current)


def _step(current: int, part: str, make: bool) -> int:
    try:
        return os.open(part, _OPEN_DIRECTORY, dir_fd=current)
    except FileNotFoundError:
        if not make:
            return -1
    try:
        os.mkdir(part, 0o755, dir_fd=current)
        os.fsync(current)
    except FileExistsError:
        pass
    return os.open(part, _OPEN_DIRECTORY, dir_fd=current)


def _occupied(directory: int, name: str, where: str) -> DeliveryRefused | None:
    """The refusal for a name that is taken; None where it is free."""
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        return DeliveryRefused(f"`{where}` is a directory", hint="name a file in it")
    if stat.S_ISLNK(found.st_mode):
        return DeliveryRefused(f"`{where}` is a link, and links are not followed", hint="name another file")
    if not stat.S_ISREG(found.st_mode):
        return DeliveryRefused(f"`{where}` is not a regular file", hint="name another file")
    return DeliveryRefused(f"`{where}` exists", hint="put `${run.id}` into the name, or move the file away")


def _place(directory: int, name: str, run: str, data: bytes, where: str) -> None:
    """Write a draft, sync it, give it its name in one step that fails where the name is taken, sync the folder."""
    draft = f".harness-{hashlib.sha256(f'{run}/{name}'.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}.part"
    try:
        handle = os.open(draft, _OPEN_NEW, 0o600, dir_fd=directory)
    except FileExistsError:
        os.unlink(draft, dir_fd=directory)  # of an earlier attempt of this run, which died
        handle = os.open(draft, _OPEN_NEW, 0o600, dir_fd=directory)
    try:
        try:
            _write_all(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
        _name(directory, draft, name, where)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=directory)
    os.fsync(directory)


def _name(directory: int, draft: str, name: str, where: str) -> None:
    """Give the draft its name: by a link, which never replaces; where links are unknown, by a rename onto a claim."""
    try:
        os.link(draft, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
        return
    except FileExistsError:
        raise _occupied(directory, name, where) or DeliveryRefused(f"`{where}` exists") from None
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
    try:
        os.close(os.open(name, _OPEN_NEW, 0o600, dir_fd=directory))
    except FileExistsError:
        raise _occupied(directory, name, where) or DeliveryRefused(f"`{where}` exists") from None
    os.rename(draft, name, src_dir_fd=directory, dst_dir_fd=directory)


def _write_all(handle: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]


def _same(directory: int, name: str, data: bytes) -> bool:
    """True where the file holds exactly `data`."""
    try:
        handle = os.open(name, _OPEN_OLD, dir_fd=directory)
    except OSError:
        return False
    with open(handle, "rb") as file:
        found = os.fstat(file.fileno())
        return stat.S_ISREG(found.st_mode) and found.st_size == len(data) and file.read(len(data) + 1) == data
