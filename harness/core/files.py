"""Files that a person names on a command line or in a document: never waited for, never read without end."""

import os
from pathlib import Path

__all__ = ["read_start"]


def read_start(path: Path | str, most: int) -> bytes:
    """The first `most` bytes of a file. A named pipe that nobody writes to reads as empty: opening it waits for nobody.

    A pipe that has its writer, as the shell's `<(command)` has, is read to its end. Raises OSError, ValueError.
    """
    with open(path, "rb", opener=_without_waiting) as file:
        os.set_blocking(file.fileno(), True)
        return file.read(most)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
