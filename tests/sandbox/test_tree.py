"""The box's root file system: complete, readable, without anything to abuse, and quick to find again."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox import tree
from harness.sandbox.tree import BOXLIB, PYTHON, copy_boxlib, host_tree
from harness.walls.cache import cache_root

CHROOT = shutil.which("chroot") or ""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder of this test's own that every user can enter (pytest's own are closed)."""
    folder = Path(tempfile.mkdtemp(prefix="tree-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def below(folder: Path) -> list[Path]:
    """Every file and folder, links not followed."""
    return [Path(place, name) for place, folders, files in os.walk(folder) for name in (*folders, *files)]


def test_everything_is_readable_by_everybody_and_nothing_is_setuid_or_writable() -> None:
    """A32: whichever user the box runs as can read the tree; no file gives rights or takes a change."""
    modes = {stat.S_IMODE(path.lstat().st_mode) for path in below(host_tree()) if not path.is_symlink()}
    assert modes == {0o755, 0o555, 0o444}


def test_there_is_no_shell_and_no_other_program() -> None:
    """Beside Python and its loader nothing in the tree is a program."""
    found = {path.name for path in below(host_tree()) if path.parent.name in ("bin", "sbin")}
    assert found == {"python3"}


def test_no_file_names_a_folder_of_the_host() -> None:
    """Compiled modules and recorded settings name the box's own paths."""
    home = os.path.dirname(os.path.realpath(os.__file__)).encode()
    if home.startswith(b"/usr/"):
        pytest.skip("the standard library lies at a path that the box has too")
    naming = [path for path in below(host_tree()) if path.suffix in (".py", ".pyc") and home in path.read_bytes()]
    assert naming == []


@pytest.mark.skipif(os.geteuid() != 0 or not CHROOT, reason="chroot needs root")
def test_its_python_starts_with_every_module_of_the_standard_library_that_it_holds() -> None:
    """In an otherwise empty root the interpreter runs, has the host's version, and finds what snippets import."""
    code = (
        "import sys, json, ssl, ctypes, zoneinfo, decimal, sqlite3, asyncio, uuid, hashlib, statistics, csv\n"
        "print(sys.version_info[:3], sys.prefix, sys.flags.isolated, zoneinfo.ZoneInfo('Asia/Tokyo'), json.__cached__)"
    )
    ran = subprocess.run([CHROOT, host_tree(), PYTHON, "-I", "-B", "-c", code], capture_output=True, text=True, env={})
    minor = f"{sys.version_info[0]}.{sys.version_info[1]}"
    cached = f"/usr/local/lib/python{minor}/json/__pycache__/__init__.cpython-{minor.replace('.', '')}.pyc"
    assert (ran.stdout, ran.stderr) == (f"{sys.version_info[:3]} /usr/local 1 Asia/Tokyo {cached}\n", "")


def test_the_box_packages_lie_in_it_compiled() -> None:
    """Both packages are there, each module with its compiled form beside it."""
    library = host_tree() / BOXLIB.lstrip("/")
    sources = sorted(path.relative_to(library) for path in library.rglob("*.py") if path.parent != library)
    compiled = sorted(path for path in library.rglob("*.pyc") if path.parent.parent != library)
    assert {source.parts[0] for source in sources} == {"sandbox_image", "tool_stubs"}
    assert len(compiled) == len(sources)


def test_the_second_start_builds_nothing_and_is_quick() -> None:
    """The tree of an earlier start is found again within 20 ms (best of three)."""
    first = host_tree()
    took = []
    for _ in range(3):
        tree._ready.clear()
        begun = time.perf_counter()
        assert host_tree() == first
        took.append(time.perf_counter() - begun)
    assert min(took) < 0.020


def test_other_contents_of_the_box_packages_make_another_tree(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tree is found by the digest of what goes into it; Python is built once and shared by links."""
    extra = open_folder / "extra.py"
    extra.write_text("ANSWER = 42\n")
    cache = open_folder / "cache"
    first = host_tree(cache)
    files = [*tree._box_files(), ("sandbox_image/extra.py", extra)]
    monkeypatch.setattr(tree, "_box_files", lambda: iter(files))
    tree._ready.clear()
    tree.box_digest.cache_clear()
    second = host_tree(cache)
    tree._ready.clear()
    tree.box_digest.cache_clear()
    python = PYTHON.lstrip("/")
    assert second != first
    assert (second / python).samefile(first / python)
    assert (second / "opt/box/sandbox_image/extra.py").read_text() == "ANSWER = 42\n"
    assert not (first / "opt/box/sandbox_image/extra.py").exists()


def test_a_cache_below_a_closed_folder_is_refused(tmp_path: Path) -> None:
    """A home that others cannot enter would make a tree that no box can read."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(EnvironmentUnavailable) as refused:
        host_tree(closed / "cache")
    assert refused.value.hint == "set HARNESS_CACHE to a folder outside any home"


def test_a_cache_that_others_can_write_is_refused(open_folder: Path) -> None:
    """Somebody else's folder, or one open to everybody, is not trusted with what runs in the box."""
    shared = open_folder / "cache"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(EnvironmentUnavailable) as refused:
        host_tree(shared)
    assert str(refused.value) == (
        f"the cache `{shared}` is not a folder that only this user can write "
        "(remove it, or set HARNESS_CACHE to a folder of your own)"
    )


def test_the_cache_can_be_moved_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """`HARNESS_CACHE` names the folder; without it the place is outside any home."""
    monkeypatch.setenv("HARNESS_CACHE", "/srv/trees")
    assert cache_root() == Path("/srv/trees")
    monkeypatch.delenv("HARNESS_CACHE")
    assert cache_root().parts[:2] == ("/", "var")


def test_boxlib_can_be_written_beside_a_docker_build(tmp_path: Path) -> None:
    """The same packages go into an image's build context."""
    copy_boxlib(tmp_path / "box")
    assert (tmp_path / "box/sandbox_image/__init__.py").exists()
    assert (tmp_path / "box/tool_stubs/__init__.py").exists()
