"""The workspace toolset: edits stay inside, whole or not at all; no link and no race leads out; suites run in a box."""

import hashlib
import os
import threading

import pytest

from harness.toolsets.folder import Folder, NoSuchFile, PathRefused, normal
from harness.toolsets.patch import BadPatch, apply_patch
from harness.toolsets.workspace import OperationReused, OutsideWriteSet, StaleDigest, Workspace

TEXT = "one\ntwo\nthree\n"
PATCH = "@@ -2,1 +2,2 @@\n-two\n+2\n+2.5\n"


def sha(text):
    """Digest of a text as the toolset shows it."""
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def folder(tmp_path):
    """A small tree, with links that lead out."""
    root = tmp_path / "repo"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.txt").write_text(TEXT)
    (root / "other.txt").write_text("other\n")
    (tmp_path / "outside.txt").write_text("secret\n")
    (root / "src" / "link.txt").symlink_to(tmp_path / "outside.txt")
    (root / "src" / "out").symlink_to(tmp_path)
    os.mkfifo(root / "src" / "pipe")
    return root


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../outside.txt", "src/../../x", "src//a.txt", "./a", "a\\b", "a\x00b", "src/"]
)
def test_paths_that_are_not_normal_are_refused(path):
    """Only the shortest relative form is a path."""
    with pytest.raises(PathRefused):
        normal(path)


@pytest.mark.parametrize("path", ["src/link.txt", "src/out/outside.txt", "src/pipe", "src"])
def test_links_and_other_things_are_no_files(folder, path):
    """Neither read nor written, on the way or at the end."""
    held = Folder(folder)
    with pytest.raises(PathRefused):
        held.read(path)
    with pytest.raises(PathRefused):
        held.replace(path, b"x")
    assert (folder.parent / "outside.txt").read_text() == "secret\n"


def test_a_race_of_links_never_leads_outside(folder):
    """While a folder is swapped for a link again and again, what is written stays inside."""
    outside = folder.parent / "elsewhere"
    outside.mkdir()
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            (folder / "src").rename(folder / "aside")
            (folder / "src").symlink_to(outside)
            (folder / "src").unlink()
            (folder / "aside").rename(folder / "src")

    thread = threading.Thread(target=swap)
    thread.start()
    held = Folder(folder)
    for number in range(300):
        try:
            held.replace("src/a.txt", str(number).encode())
        except (PathRefused, NoSuchFile):
            continue
    stop.set()
    thread.join()
    assert list(outside.iterdir()) == []


def test_an_edit_gives_a_receipt(folder):
    """Changed paths, the new digest, the digest of the tree."""
    work = Workspace(folder, ["src"])
    receipt = work.edit_file("src/a.txt", sha(TEXT), PATCH, "op-1")
    assert (folder / "src" / "a.txt").read_text() == "one\n2\n2.5\nthree\n"
    assert (receipt["paths"], receipt["digest"]) == (["src/a.txt"], sha("one\n2\n2.5\nthree\n"))
    assert work.changes()["paths"] == ["src/a.txt"]
    assert work.changes()["tree"] == receipt["tree"]


def test_an_operation_happens_once(folder):
    """The same edit under the same id gives the same receipt; another one is refused."""
    work = Workspace(folder, ["src"])
    first = work.edit_file("src/a.txt", sha(TEXT), PATCH, "op-1")
    assert work.edit_file("src/a.txt", sha(TEXT), PATCH, "op-1") == first
    with pytest.raises(OperationReused):
        work.edit_file("src/a.txt", first["digest"], "@@ -1,1 +1,1 @@\n-one\n+1\n", "op-1")


@pytest.mark.parametrize(
    ("path", "prior", "patch", "error"),
    [
        ("other.txt", "", "@@ -1,1 +1,1 @@\n-other\n+x\n", OutsideWriteSet),
        ("srcfile.txt", "", "@@ -0,0 +1,1 @@\n+x\n", OutsideWriteSet),
        ("src/../other.txt", "", PATCH, PathRefused),
        ("src/a.txt", sha("other"), PATCH, StaleDigest),
        ("src/a.txt", sha(TEXT), "two -> 2", BadPatch),
        ("src/a.txt", sha(TEXT), "@@ -2,1 +2,1 @@\n-zwei\n+2\n", BadPatch),
        ("src/a.txt", sha(TEXT), "@@ -2,2 +2,1 @@\n-two\n+2\n", BadPatch),
        ("src/missing.txt", sha("x"), PATCH, NoSuchFile),
    ],
)
def test_what_is_wrong_changes_nothing(folder, path, prior, patch, error):
    """Outside, stale, malformed: the tree stays as it was."""
    work = Workspace(folder, ["src"])
    with pytest.raises(error):
        work.edit_file(path, prior, patch, "op")
    assert work.changes()["paths"] == []
    assert list((folder / "src").glob(".*")) == []


def test_a_new_file_has_no_prior_digest(folder):
    """An empty one makes it."""
    work = Workspace(folder, ["src"])
    work.edit_file("src/new.txt", "", "@@ -0,0 +1,1 @@\n+new\n", "op")
    assert work.changes()["added"] == ["src/new.txt"]


def test_patches_fit_exactly():
    """Several hunks, in order."""
    patch = "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-one\n+1\n@@ -3,1 +3,1 @@\n-three\n+3\n"
    assert apply_patch(TEXT, patch) == "1\ntwo\n3\n"
    with pytest.raises(BadPatch):
        apply_patch(TEXT, "@@ -3,1 +3,1 @@\n-three\n+3\n@@ -1,1 +1,1 @@\n-one\n+1\n")


@pytest.mark.bubblewrap
def test_a_suite_runs_in_a_box(tmp_path):
    """No network, none of the host's files, a copy of the tree; the report says what was collected."""
    root = tmp_path / "repo"
    root.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (root / "test_box.py").write_text(
        "import os, socket, pathlib, pytest\n"
        "def test_network():\n"
        "    with pytest.raises(OSError):\n"
        "        socket.create_connection(('127.0.0.1', 1), 1)\n"
        "    assert [name for _, name in socket.if_nameindex()] == ['lo']\n"
        f"def test_files():\n    assert not os.path.exists({str(tmp_path)!r})\n"
        "def test_copy():\n    pathlib.Path('test_box.py').write_text('')\n"
        "def test_environment():\n    assert 'PATH' in os.environ and len(os.environ) < 12\n"
        "def test_fails():\n    assert False\n"
    )
    work = Workspace(root, [])
    ran = work.run_tests([])
    assert (ran["status"], ran["collected"], ran["passed"], ran["failed"]) == ("failed", 5, 4, 1), ran["output"]
    assert work.changes()["paths"] == []
    one = work.run_tests(["test_box.py::test_files"])
    assert (one["status"], one["tests"], one["tree"]) == ("passed", ["test_box::test_files"], ran["tree"])
    assert work.run_tests(["test_box.py::test_nothing"])["status"] == "nothing_collected"
    assert work.run_tests(["missing.py"])["collected"] == 0


@pytest.mark.bubblewrap
def test_a_process_that_exits_well_without_tests_has_not_passed(tmp_path):
    """What counts is what was collected, not the exit status."""
    (tmp_path / "conftest.py").write_text("import os\nos._exit(0)\n")
    ran = Workspace(tmp_path, []).run_tests([])
    assert (ran["exit_code"], ran["status"]) == (0, "nothing_collected")


def test_the_arguments_of_a_suite_are_paths(tmp_path):
    """Options and ways out are refused."""
    work = Workspace(tmp_path, [])
    with pytest.raises(PathRefused):
        work.run_tests(["../x"])
