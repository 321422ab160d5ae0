"""The box's root file system, made from this host: Python, its standard library, shared libraries and the box packages.

No shell, no package manager, no setuid file, no path of the host. Found by a digest of its inputs; built once, by one
process, in a cache that every user can read. Layers: `base-…` is Python alone, `tree-…` adds the box packages.
"""

import hashlib
import json
import os
import py_compile
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import sandbox_image
import tool_stubs
from harness.sandbox.libraries import Libraries, closure
from harness.sandbox.tree_cache import building, hold, locked, reported, sweep
from harness.walls.cache import cache_root, prepare

__all__ = [
    "BOXLIB",
    "GATEWAY",
    "PYTHON",
    "base_tree",
    "box_digest",
    "copy_boxlib",
    "host_tree",
]

PYTHON = "/usr/local/bin/python3"
"""The interpreter in the box: the place that the official images use."""
BOXLIB = "/opt/box"
"""Folder in the box that holds `boot.py` and the packages `sandbox_image` and `tool_stubs`."""
GATEWAY = "/run/gateway"
"""Empty folder in the box, over which the folder of the run's socket can be mounted."""

FORMAT = "1"
"""Rises when the way a tree is made changes: trees of another format are not used."""

MOUNT_POINTS = ("proc", "dev", "sys", "tmp", "etc", "run/gateway")
UNWANTED = (
    "test",
    "tests",
    "idlelib",
    "tkinter",
    "turtledemo",
    "turtle.py",
    "pydoc_data",
    "curses",
    "dbm",
    "antigravity.py",
)
INSTALLERS = ("site-packages", "dist-packages", "ensurepip", "lib2to3", "distutils", "venv")
LEFT_OUT = frozenset((*UNWANTED, *INSTALLERS, "__pycache__"))
"""Of the standard library: what tests it, draws windows or installs packages."""
LEFT_OUT_MODULES = ("_test", "_xxtest", "_ctypes_test", "_tkinter", "_curses", "_dbm", "_gdbm", "readline", "xxlimited")
"""Extension modules, by the start of their names: for tests, windows and terminals."""
ZONES = Path("/usr/share/zoneinfo")
ZONES_LEFT_OUT = frozenset(("posix", "right"))
SYSCONFIG = "build_time_vars = {'TZPATH': '/usr/share/zoneinfo'}\n"
"""Stands in for the recorded build settings, which name folders of the build host."""

_ready: dict[Path, Path] = {}


def host_tree(folder: Path | None = None) -> Path:
    """The root file system with Python and the box packages, built where it is not there yet.

    Raises EnvironmentUnavailable where it cannot be built, or lies where a box's user cannot reach it.
    """
    root = folder if folder is not None else cache_root()
    if root not in _ready:
        with reported(root):
            _ready[root] = _tree(root)
    return _ready[root]


def base_tree(folder: Path | None = None) -> Path:
    """The layer below `host_tree`: Python without the box packages. Raises EnvironmentUnavailable as that does."""
    root = folder if folder is not None else cache_root()
    with reported(root):
        prepare(root)
        return _base(root)


@cache
def box_digest() -> str:
    """SHA-256 hex over the contents of the packages that go into the box, as this process first found them."""
    digest = hashlib.sha256(FORMAT.encode())
    for name, file in _box_files():
        content = file.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def copy_boxlib(target: Path) -> None:
    """Write the box packages and their compiled forms into the new folder `target`, readable by everybody."""
    for name, file in _box_files():
        _copy(file, target / name)
        _compile(target / name, f"{BOXLIB}/{name}")
    boot = target / "sandbox_image" / "boot.py"
    if boot.exists():
        _copy(boot, target / "boot.py")
    _settle_modes(target)


def _tree(root: Path) -> Path:
    prepare(root)
    base = _base(root)
    tree = root / f"tree-{_digest(base.name, box_digest())}"
    if not tree.exists():
        with locked(root):
            if not tree.exists():
                sweep(root)
                with building(root, tree) as work:
                    shutil.copytree(base, work, copy_function=os.link, dirs_exist_ok=True)
                    copy_boxlib(work / BOXLIB.lstrip("/"))
    hold(tree)
    return tree


def _base(root: Path) -> Path:
    program = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    files = tuple(_stdlib_files(os.path.dirname(os.path.realpath(os.__file__))))
    inputs = _digest(FORMAT, sys.version, *(_identity(file) for file in (program, *(f for _, f in files), str(ZONES))))
    modules = [Path(file) for name, file in files if name.endswith(".so")]
    libraries = _libraries(root / f"libraries-{inputs}.json", Path(program), modules)
    linked = (libraries.loader, *libraries.files.values())
    base = root / f"base-{_digest(inputs, *(_identity(str(file)) for file in linked))}"
    if not base.exists():
        with locked(root):
            if not base.exists():
                with building(root, base) as work:
                    _fill(work, Path(program), files, libraries)
                os.sync()
    os.utime(base)
    return base


def _fill(work: Path, program: Path, files: tuple[tuple[str, str], ...], libraries: Libraries) -> None:
    home = f"usr/local/lib/python{sys.version_info.major}.{sys.version_info.minor}"
    _copy(program, work / PYTHON.lstrip("/"), 0o555)
    _copy(libraries.loader, work / str(libraries.loader).lstrip("/"), 0o555)
    for name, library in libraries.files.items():
        _copy(library, work / str(libraries.folder).lstrip("/") / name, 0o555)
    for name, file in files:
        target = work / home / name
        _copy(file, target)
        if name.startswith("_sysconfigdata"):
            target.chmod(0o644)
            target.write_text(SYSCONFIG)
        if name.endswith(".py"):
            _compile(target, f"/{home}/{name}")
    for directory, folders, names in os.walk(ZONES):
        folders[:] = [name for name in folders if name not in ZONES_LEFT_OUT]
        for name in names:
            _copy(Path(directory, name), work / directory.lstrip("/") / name)
    for point in MOUNT_POINTS:
        (work / point).mkdir(parents=True, exist_ok=True)
    _settle_modes(work)


def _box_files() -> Iterator[tuple[str, Path]]:
    """Name inside the box's library, and file, of every module that goes in; in a fixed order."""
    for package in (sandbox_image, tool_stubs):
        folder = Path(package.__path__[0])
        for file in sorted(folder.rglob("*.py")):
            yield f"{folder.name}/{file.relative_to(folder)}", file


def _stdlib_files(library: str) -> Iterator[tuple[str, str]]:
    """Name below the library, and path, of what is copied; plain text, for this runs at every start."""
    for directory, folders, names in os.walk(library):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT and not name.startswith("config-"))
        for name in sorted(names):
            kept = name.endswith((".py", ".so")) and name not in LEFT_OUT and not name.startswith(LEFT_OUT_MODULES)
            if kept:
                file = f"{directory}/{name}"
                yield file[len(library) + 1 :], file


def _libraries(note: Path, program: Path, modules: list[Path]) -> Libraries:
    """The closure, from the note of an earlier start where that still describes files that are there."""
    try:
        known = json.loads(note.read_text())
        libraries = Libraries(
            Path(known["loader"]), Path(known["folder"]), {name: Path(path) for name, path in known["files"].items()}
        )
        if all(path.exists() for path in libraries.files.values()):
            return libraries
    except (OSError, ValueError, KeyError):
        pass
    libraries = closure(program, modules)
    text = {
        "loader": str(libraries.loader),
        "folder": str(libraries.folder),
        "files": {name: str(path) for name, path in libraries.files.items()},
    }
    descriptor, temporary = tempfile.mkstemp(dir=note.parent, prefix="new-")
    with os.fdopen(descriptor, "w") as file:
        json.dump(text, file)
    os.replace(temporary, note)
    return libraries


def _identity(file: str) -> str:
    try:
        found = os.stat(file)
    except FileNotFoundError:
        return f"{file} missing"
    return f"{file} {found.st_size} {found.st_mtime_ns}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _copy(source: Path | str, target: Path, mode: int = 0o444) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def _compile(file: Path, name: str) -> None:
    """Write the compiled form that is loaded without a look at the source's time."""
    py_compile.compile(
        str(file), dfile=name, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )


def _settle_modes(folder: Path) -> None:
    """Everything below readable by everybody and writable by nobody, folders still removable by their owner."""
    for directory, _, names in os.walk(folder):
        os.chmod(directory, 0o755)
        for name in names:
            file = os.path.join(directory, name)
            if not os.path.islink(file):
                os.chmod(file, 0o555 if os.stat(file).st_mode & stat.S_IXUSR else 0o444)
