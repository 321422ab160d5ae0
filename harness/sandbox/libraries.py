"""The shared libraries that a set of ELF files needs: the loader, and every file that it would map.

The loader itself is asked (`ld.so --list`, which runs no code of the files), so that no rule of its search is guessed.
"""

import re
import struct
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import EnvironmentUnavailable

__all__ = ["Libraries", "closure", "loader_of"]

LIST_SECONDS = 30.0
"""Deadline for one listing; it takes about 3 ms."""

PT_INTERP = 3
ELF64_LITTLE_ENDIAN = b"\x7fELF\x02\x01"
RESOLVED = re.compile(r"^\s*(?P<name>\S+) => (?P<path>/\S+) \(0x[0-9a-f]+\)$")
MISSING = re.compile(r"^\s*(?P<name>\S+) => not found$")


@dataclass(frozen=True, slots=True)
class Libraries:
    """What must lie beside a program so that it starts in an otherwise empty root."""

    loader: Path
    """The program's interpreter, `/lib64/ld-linux-x86-64.so.2`; it must keep this path."""
    folder: Path
    """Where the loader finds libraries without being told: the folder of the C library."""
    files: Mapping[str, Path]
    """Name that is looked for (`libz.so.1`) to the file on this host."""


def closure(program: Path, modules: Iterable[Path]) -> Libraries:
    """Libraries of `program` and of the extension modules; a module that lacks one on this host too adds none.

    Raises EnvironmentUnavailable where the program is not a dynamic 64-bit ELF file or its loader fails.
    """
    loader = loader_of(program)
    found = _list(loader, program)
    for module in modules:
        found.update(_list(loader, module))
    libc = next((path for name, path in found.items() if name.startswith(("libc.so", "libc.musl"))), None)
    folder = libc.parent if libc is not None else Path("/lib")
    found.pop(loader.name, None)
    return Libraries(loader, folder, found)


def loader_of(program: Path) -> Path:
    """The path in the PT_INTERP header of an ELF file. Raises EnvironmentUnavailable where there is none."""
    try:
        with program.open("rb") as file:
            header = file.read(64)
            if not header.startswith(ELF64_LITTLE_ENDIAN):
                raise _unusable(program, "it is not a 64-bit little-endian ELF file")
            (table,) = struct.unpack_from("<Q", header, 32)
            size, count = struct.unpack_from("<HH", header, 54)
            for index in range(count):
                file.seek(table + index * size)
                kind, _flags, offset, _virtual, _physical, length = struct.unpack("<IIQQQQ", file.read(40))
                if kind == PT_INTERP:
                    file.seek(offset)
                    return Path(file.read(length).rstrip(b"\0").decode())
    except OSError as error:
        raise _unusable(program, error.strerror or "it cannot be read") from error
    raise _unusable(program, "it is linked statically")


def _list(loader: Path, file: Path) -> dict[str, Path]:
    listed = subprocess.run(
        [str(loader), "--list", str(file)],
        env={},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIST_SECONDS,
        check=False,
    )
    if any(MISSING.match(line) for line in listed.stdout.splitlines()):
        return {}
    if listed.returncode != 0:
        raise _unusable(file, f"its libraries cannot be listed: {listed.stderr.strip()[:200]}")
    matches = (RESOLVED.match(line) for line in listed.stdout.splitlines())
    return {match["name"]: Path(match["path"]) for match in matches if match is not None}


def _unusable(file: Path, why: str) -> EnvironmentUnavailable:
    return EnvironmentUnavailable(
        f"the box's file tree cannot be made from `{file}`: {why}",
        hint="use a CPython that is dynamically linked, as Debian's python3 or pyenv's are, or a Docker image",
    )
