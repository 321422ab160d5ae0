"""Every wall is needed: a box without it, and a named probe of the selftest falls."""

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness.front.selftest import selftest
from harness.front.selftest.machine import holders, new_marker
from harness.front.selftest.probe import Status
from harness.front.selftest.selftest import Selftest
from harness.front.selftest.table import TRIES
from harness.sandbox import boot, bubblewrap, cgroup_files, local_box, seccomp
from harness.sandbox.bubblewrap import BubblewrapBackend
from harness.sandbox.cgroup import find
from harness.sandbox.isolation import WALLS
from harness.sandbox.seccomp import Rule
from harness.sandbox.tree import BOXLIB, host_tree
from harness.walls.cache import cache_root

pytestmark = pytest.mark.bubblewrap
Command = list[str]
NO_LANDLOCK = ('    restrict_paths(boot["landlock"])\n', "")
SIZE = "size={work['bytes']},"
COVER = """        work.cover(boot["work"])
"""
DROP = """        work.drop_capabilities()
"""


@dataclass(frozen=True, slots=True)
class Without:
    """A box that lacks one wall, and the probe that must notice."""

    probe: str
    command: Callable[[Command, Path], Command] = lambda command, _: command
    """Changes bubblewrap's command; the second argument is the tree."""
    calls: str = ""
    """System calls that the filters let through as well."""
    confine: tuple[tuple[str, str], ...] = ()
    """Replacements in the text of the box's own confinement."""
    work: tuple[tuple[str, str], ...] = ()
    """Replacements in the text of how it makes its work folder."""
    boot: tuple[tuple[str, str], ...] = ()
    """Replacements in the text of its first file."""
    patches: tuple[tuple[type, str], ...] = field(default=())
    """Methods that do nothing."""


def drop(*options: str) -> Callable[[Command, Path], Command]:
    """The command without some flags."""
    return lambda command, _: [each for each in command if each not in options]


def swap(old: tuple[str, ...], new: tuple[str, ...]) -> Callable[[Command, Path], Command]:
    """The command with one run of arguments replaced; `TREE` stands for the tree."""

    def changed(command: Command, tree: Path) -> Command:
        was, now = ([str(tree) if each == "TREE" else each for each in part] for part in (old, new))
        for at in range(len(command) - len(was) + 1):
            if command[at : at + len(was)] == was:
                return [*command[:at], *now, *command[at + len(was) :]]
        raise AssertionError(f"{was} is no part of the command")

    return changed


def shared_work(command: Command, tree: Path) -> Command:
    """One work folder for every box."""
    shared = tree.with_name(tree.name + "-shared")
    shared.mkdir(mode=0o777, exist_ok=True)
    shared.chmod(0o777)
    at = next(at for at in range(len(command)) if tuple(command[at : at + 2]) == ("--tmpfs", "/tmp"))
    return [*command[: at - 2], "--bind", str(shared), "/tmp", *command[at + 2 :]]


OWN_PIDS = ("--unshare-pid", "--as-pid-1")
BOXES: dict[str, Without] = {
    "network": Without("network.loopback", drop("--unshare-net"), "socket connect bind listen", (NO_LANDLOCK,)),
    "root": Without(
        "rights.write-the-root", swap(("--ro-bind", "TREE", "/"), ("--bind", "TREE", "/")), "", (NO_LANDLOCK,)
    ),
    "work": Without("exhaustion.disk", work=((SIZE, ""),)),
    "devices": Without(
        "host.devices",
        swap(
            ("--size", "4096", "--tmpfs", "/dev", "--dev-bind", "/dev/null", "/dev/null", "--remount-ro", "/dev"),
            ("--dev-bind", "/dev", "/dev"),
        ),
        "",
        (NO_LANDLOCK,),
    ),
    "proc": Without("host.proc", swap(("--",), ("--proc", "/proc", "--")), "", (NO_LANDLOCK,)),
    "environment": Without(
        "host.environment",
        swap(("--clearenv",), ("--setenv", "DATABASE_URL", "postgresql://secret")),
        "",
        (("    os.environ.clear()\n", ""),),
    ),
    "descriptors": Without("host.descriptors", confine=(("    close_descriptors(channel)\n", ""),)),
    "user": Without(
        "rights.user",
        swap(("--uid", "1000", "--gid", "1000"), ("--uid", "0", "--gid", "0")),
        "",
        (('    assert_expected(boot["expect"])\n', ""),),
    ),
    "capabilities": Without(
        "rights.capabilities", swap(("--cap-drop", "ALL"), ("--cap-add", "ALL")), "capget", boot=((DROP, ""),)
    ),
    "privileges": Without("rights.execute", calls="execve", confine=(NO_LANDLOCK,)),
    "tracing": Without("rights.memory-of-others", calls="process_vm_readv process_vm_writev ptrace"),
    "filter": Without("host.keyrings", calls="keyctl add_key io_uring_setup bpf"),
    "paths": Without("host.other-folders", confine=(NO_LANDLOCK,)),
    "tree": Without(
        "exhaustion.double-fork",
        drop(*OWN_PIDS),
        patches=((cgroup_files._Group, "kill"), (cgroup_files.Group2, "kill")),
    ),
    "neighbours": Without("host.neighbours", drop(*OWN_PIDS)),
    "one-run": Without("host.one-run", shared_work, boot=((COVER, ""),)),
}


@pytest.fixture
def weak_tree() -> Iterator[Path]:
    """A tree of one's own, whose files may be changed."""
    target = Path(tempfile.mkdtemp(dir=cache_root(), prefix="weak-"))
    shutil.copytree(host_tree(), target, copy_function=os.link, dirs_exist_ok=True, symlinks=True)
    target.chmod(0o777)
    yield target
    shutil.rmtree(target)
    shutil.rmtree(target.with_name(target.name + "-shared"), ignore_errors=True)


def weaken(box: Without, tree: Path, patch: pytest.MonkeyPatch) -> None:
    """Take the wall away, and the host's own reading of what is left."""
    library = tree / BOXLIB.lstrip("/") / "sandbox_image"
    rewrite(library, "confine", box.confine)
    rewrite(library, "work", box.work)
    rewrite(library.parent, "boot", box.boot)
    if box.calls:
        patch.setattr(seccomp, "RULES", (*seccomp.RULES, Rule(box.calls, "the wall is taken away")))
    whole = bubblewrap.arguments
    patch.setattr(bubblewrap, "arguments", lambda program, root, *rest: box.command(whole(program, root, *rest), root))

    async def believe(_: object) -> None:
        """The host would not have given such a box a snippet."""

    patch.setattr(local_box.LocalBox, "verify", believe)
    for owner, name in box.patches:
        patch.setattr(owner, name, lambda _: None)


def rewrite(folder: Path, name: str, changes: tuple[tuple[str, str], ...]) -> None:
    """One file of the tree with other text; it is linked with the whole tree's, and must not be written through."""
    file = folder / f"{name}.py"
    text = file.read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    for compiled in folder.rglob(f"{name}*.pyc"):
        compiled.unlink()
    file.unlink()
    file.write_text(text, "utf-8")


def answer(tree: Path, probe: str) -> tuple[Status, str]:
    """What the probe says in a cold box of that tree."""

    async def body() -> tuple[Status, str]:
        backend = BubblewrapBackend(tree=tree)
        try:
            answers = {each.name: each for each in await Selftest(backend, only=[probe]).run()}
            return answers[probe].status, answers[probe].detail
        finally:
            await backend.close()

    markers: list[str] = []

    def remembered() -> str:
        markers.append(new_marker())
        return markers[-1]

    boot.boot_argument.cache_clear()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(selftest, "new_marker", remembered)
            return asyncio.run(body())
    finally:
        boot.boot_argument.cache_clear()
        for pid in (
            pid for marker in markers for pid in holders(marker)
        ):  # of this battery alone: others may run beside it
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("wall", BOXES)
def test_without_the_wall_its_probe_falls(wall: str, weak_tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B03, B14, A22, A30, A31, A32: the probe holds in a whole box of this tree, and falls where the wall is gone."""
    box = BOXES[wall]
    assert box.probe in TRIES[wall]
    if wall == "tree" and find() is None:
        pytest.skip("a box of one process cannot fork")
    assert answer(weak_tree, box.probe)[0] is Status.HELD
    weaken(box, weak_tree, monkeypatch)
    status, detail = answer(weak_tree, box.probe)
    assert status is Status.FELL, detail


def test_every_wall_is_taken_away_once() -> None:
    """No line of the isolation is there for show."""
    assert list(BOXES) == [wall.name for wall in WALLS]
