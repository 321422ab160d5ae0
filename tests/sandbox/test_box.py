"""A live bubblewrap box: what it can reach, what it is refused, what holds its limits, how its end is told."""

import asyncio
import os
import socket
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.core.errors import EnvironmentUnavailable
from harness.core.ports import BoxExit, ExitKind
from harness.sandbox.bubblewrap import BubblewrapBackend
from harness.sandbox.cgroup import find
from harness.sandbox.confinement import require_confined
from harness.sandbox.spec import SandboxSpec
from harness.walls import bubblewrap
from tests.sandbox.boxes import GROUPED, SINGLE, WAYS, Way, ask, box_of, descriptors, groups_of, probe, run

DEAF = """
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    pass
"""
pytestmark = pytest.mark.bubblewrap
SMALL = SandboxSpec(memory_mb=96, disk_mb=16, pids=24, open_files=64)


def ends_as(tree: Path, way: Way, text: str, spec: SandboxSpec = SMALL) -> BoxExit:
    """How a box ends that executes `text` and is not killed before it is gone."""

    async def body() -> BoxExit:
        async with box_of(tree, way, spec) as box:
            assert await ask(box, text) is None
            return await box.close()

    return run(body)


@pytest.mark.parametrize("way", WAYS)
def test_the_box_sees_nothing_of_the_host(probe_tree: Path, way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    """A30, A31, A32: no environment, no descriptors but its own, no /proc, no host name, no devices, another user."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://secret")
    text = """
import os, socket
def open_ones():
    for number in range(1024):
        try:
            os.fstat(number)
        except OSError:
            continue
        yield number
found.update(
    environ=dict(os.environ), descriptors=sorted(set(open_ones()) - {channel.fileno()}), proc=os.path.exists('/proc/1'),
    sys=os.path.exists('/sys/kernel'), name=os.uname().nodename, cwd=os.getcwd(), user=[os.getuid(), os.getgid()],
    groups=sorted(set(os.getgroups()) - {os.getgid(), 65534}), null=os.path.samestat(os.fstat(1), os.stat('/dev/null')),
    device=os.path.exists('/dev/zero'),
)
"""
    assert probe(probe_tree, way, text) == {
        "environ": {},
        "descriptors": [0, 1, 2],
        "proc": False,
        "sys": False,
        "name": "box",
        "cwd": "/tmp",
        "user": [1000, 1000],
        "groups": [],
        "null": True,
        "device": False,
    }


@pytest.mark.parametrize("way", WAYS)
def test_nothing_can_be_written_but_the_work_folder(probe_tree: Path, way: Way) -> None:
    """B14: the root is read-only, also to mode and time changes; the work folder is not."""
    text = """
import os
for name in ('/x', '/opt/box/x', '/usr/x', '/dev/x', '/run/x', '/etc/x', '/tmp/x'):
    try:
        open(name, 'w').close()
        found[name] = 'written'
    except OSError as error:
        found[name] = 'refused'
try:
    os.chmod('/opt/box/boot.py', 0o777)
    found['mode'] = 'changed'
except OSError:
    found['mode'] = 'refused'
"""
    refused = dict.fromkeys(("/x", "/opt/box/x", "/usr/x", "/dev/x", "/run/x", "/etc/x", "mode"), "refused")
    assert probe(probe_tree, way, text) == {**refused, "/tmp/x": "written"}


@pytest.mark.parametrize("way", WAYS)
def test_no_way_out_through_a_system_call(probe_tree: Path, way: Way) -> None:
    """A02, A32: with the C library in hand, every call that leads out gives EPERM, and no socket can be made."""
    text = """
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
calls = dict(socket=41, connect=42, bind=49, listen=50, accept=43, ptrace=101, mount=165, umount2=166, unshare=272,
    setns=308, keyctl=250, bpf=321, io_uring_setup=425, userfaultfd=323, perf_event_open=298, memfd_create=319,
    prctl=157, seccomp=317, execve=59, chroot=161, pidfd_open=434, process_vm_readv=310, open_by_handle_at=304,
    shmget=29, setuid=105, capset=126, syslog=103, personality=135)
for name, number in calls.items():
    ctypes.set_errno(0)
    result = libc.syscall(number, 1, 1, 0, 0, 0)
    if (result, ctypes.get_errno()) != (-1, 1):
        found[name] = [result, ctypes.get_errno()]
for family in range(46):
    for kind in (1, 2, 3, 5):
        try:
            socket.socket(family, kind)
            found[f'socket {family} {kind}'] = 'made'
        except OSError:
            pass
pair = socket.socketpair()
pair[0].send(b'x')
found['pair'] = pair[1].recv(1).decode()
"""
    if os.uname().machine != "x86_64":
        pytest.skip("the probe's numbers are those of x86_64")
    assert probe(probe_tree, way, text) == {"pair": "x"}


@pytest.mark.parametrize("way", WAYS)
def test_ordinary_python_works_in_the_box(probe_tree: Path, way: Way) -> None:
    """Threads, asyncio, files, random numbers, time zones, sqlite and a large import: the walls are not in the way."""
    text = """
import asyncio, concurrent.futures, decimal, json, pathlib, random, sqlite3, subprocess, tempfile, threading, uuid
import zoneinfo, hashlib, secrets, statistics, csv, zipfile, shutil
async def main():
    await asyncio.sleep(0)
    return await asyncio.gather(*(asyncio.to_thread(lambda n=n: n * n) for n in range(4)))
found['gather'] = asyncio.run(main())
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    found['pool'] = list(pool.map(str, range(3)))
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, 'a.txt')
    path.write_text('text')
    shutil.copyfile(path, path.with_name('b.txt'))
    found['copied'] = path.with_name('b.txt').read_text()
found['sql'] = sqlite3.connect(':memory:').execute('select 1 + 1').fetchone()[0]
found['zone'] = str(zoneinfo.ZoneInfo('Europe/Berlin'))
found['random'] = [len(secrets.token_hex(4)), len(uuid.uuid4().hex)]
"""
    assert probe(probe_tree, way, text) == {
        "gather": [0, 1, 4, 9],
        "pool": ["0", "1", "2"],
        "copied": "text",
        "sql": 2,
        "zone": "Europe/Berlin",
        "random": [8, 32],
    }


@pytest.mark.parametrize("way", SINGLE)
def test_without_a_group_the_box_stays_one_process(probe_tree: Path, way: Way) -> None:
    """B10: where no group can hold it, fork answers as at a limit, and threads still run."""
    text = """
import os, threading
try:
    os.fork()
    found['fork'] = 'forked'
except OSError as error:
    found['fork'] = type(error).__name__
thread = threading.Thread(target=lambda: found.update(thread='ran'))
thread.start()
thread.join()
"""
    assert probe(probe_tree, way, text) == {"fork": "BlockingIOError", "thread": "ran"}


@pytest.mark.parametrize("way", WAYS)
def test_tasks_are_limited(probe_tree: Path, way: Way) -> None:
    """B10: threads (and processes, where there may be any) end at the limit, which shows as such."""
    text = """
import threading, time
stop = threading.Event()
count = 1
try:
    while count < 200:
        threading.Thread(target=stop.wait).start()
        count += 1
except RuntimeError as error:
    found['error'] = str(error)
stop.set()
found['within'] = 4 < count <= 24
"""
    spec = SandboxSpec(memory_mb=512, disk_mb=16, pids=24)
    assert probe(probe_tree, way, text, spec) == {"error": "can't start new thread", "within": True}


@pytest.mark.parametrize("way", WAYS)
def test_descriptors_and_file_sizes_are_limited(probe_tree: Path, way: Way) -> None:
    """B10, B14: the work folder ends at its size, a sparse file at the same, descriptors at their number."""
    text = """
import errno, os
kept = []
try:
    while True:
        kept.append(open('/dev/null'))
except OSError as error:
    found['descriptors'] = [errno.errorcode[error.errno], len(kept) + 4]
kept.clear()
def fill(step, at):
    try:
        with open('/tmp/big', 'wb', buffering=0) as file:
            file.seek(at)
            for _ in range(64):
                if file.write(bytes(step)) < step:
                    return 'short'
    except OSError as error:
        return errno.errorcode[error.errno]
    return 'written'
found['sparse'] = fill(1, 1 << 40)
found['full'] = fill(1 << 20, 0)
"""
    with ExitStack() as held:  # a host with more open than the box may have gives it the channel under a high number
        for _ in range(80):
            held.enter_context(open(os.devnull))
        found = probe(probe_tree, way, text, SMALL)
    assert found == {"descriptors": ["EMFILE", 64], "sparse": "EFBIG", "full": "EFBIG"}


@pytest.mark.parametrize("way", SINGLE)
def test_a_full_work_folder_says_so(probe_tree: Path, way: Way) -> None:
    """B14: several files together end at the size of the folder."""
    text = """
import errno
try:
    for number in range(8):
        with open(f'/tmp/{number}', 'wb', buffering=0) as file:
            file.write(bytes(4 << 20))
except OSError as error:
    found['error'] = [errno.errorcode[error.errno], number]
"""
    spec = SandboxSpec(memory_mb=96, disk_mb=16)
    found = probe(probe_tree, way, text, spec)
    assert found is not None
    assert found["error"] in (["ENOSPC", 4], ["ENOSPC", 3])


@pytest.mark.parametrize("way", WAYS)
def test_the_work_folder_counts_files_and_runs_nothing(probe_tree: Path, way: Way) -> None:
    """B14: empty files end at a number, and no code is mapped from what a box has written."""
    text = """
import errno, mmap, os
with open('/tmp/code', 'wb') as file: file.write(bytes(4096))
with open('/tmp/code', 'rb') as file:
    try: mmap.mmap(file.fileno(), 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
    except OSError as error: found['mapped'] = errno.errorcode[error.errno]
made = 0
try:
    while made < 1000:
        os.close(os.open(f'/tmp/{made}', os.O_CREAT | os.O_WRONLY))
        made += 1
except OSError as error: found['made'] = [errno.errorcode[error.errno], made]
"""
    found = probe(probe_tree, way, text, SandboxSpec(memory_mb=96, disk_mb=16, inodes=100))
    assert found == {"mapped": "EPERM", "made": ["ENOSPC", 98]}


@pytest.mark.parametrize("way", GROUPED)
def test_too_much_memory_ends_the_box_and_says_so(probe_tree: Path, way: Way) -> None:
    """B06, B08: touched page by page, without swap: the kernel kills, and the exit names the reason."""
    text = "block = bytearray(400 << 20)\nfor at in range(0, len(block), 4096): block[at] = 1"
    assert ends_as(probe_tree, way, text) == BoxExit(
        ExitKind.OUT_OF_MEMORY, "the kernel ended 1 process for want of memory"
    )


@pytest.mark.parametrize("way", GROUPED)
def test_a_child_that_dies_for_memory_counts(probe_tree: Path, way: Way) -> None:
    """B08: the first process ends well, and the exit still says what happened."""
    text = """
import os
child = os.fork()
if child == 0:
    block = bytearray(400 << 20)
    for at in range(0, len(block), 4096): block[at] = 1
    os._exit(0)
os.waitpid(child, 0)
os._exit(0)
"""
    assert ends_as(probe_tree, way, text).kind is ExitKind.OUT_OF_MEMORY


@pytest.mark.parametrize("way", SINGLE)
def test_without_a_group_memory_ends_at_the_address_space(probe_tree: Path, way: Way) -> None:
    """B06: one process, whose address space and work folder together stay under the limit: an ordinary MemoryError."""
    text = """
import os
blocks = []
try:
    while len(blocks) < 500:
        blocks.append(bytearray(1 << 20))
except MemoryError:
    size = len(blocks)
    blocks.clear()
    found['within'] = 20 < size < 80
"""
    assert probe(probe_tree, way, text, SMALL) == {"within": True}


def test_without_a_group_a_limit_below_python_is_refused(probe_tree: Path) -> None:
    """B07: where one process cannot hold the limit, nothing starts, and the sentence says what would do."""

    async def body() -> None:
        await BubblewrapBackend(tree=probe_tree, groups=False).start(SandboxSpec(memory_mb=48, disk_mb=12))

    with pytest.raises(EnvironmentUnavailable) as refused:
        run(body)
    assert (refused.value.message, refused.value.hint) == (
        "no control group can be had here, and a box of one process does not fit into "
        "`memory_mb: 48` with `disk_mb: 12`",
        "give at least 56, or let this process make control groups",
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import os; os._exit(0)", BoxExit(ExitKind.EXITED, "exit status 0")),
        ("import os; os._exit(7)", BoxExit(ExitKind.EXITED, "exit status 7")),
        ("import ctypes; ctypes.string_at(0)", BoxExit(ExitKind.CRASHED, "crashed with SIGSEGV")),
    ],
    ids=["exit", "exit-7", "crash"],
)
def test_the_end_is_told_as_it_was(probe_tree: Path, way: Way, text: str, expected: BoxExit) -> None:
    """B08: leaving and crashing are two things."""
    assert ends_as(probe_tree, way, text) == expected


@pytest.mark.parametrize("way", WAYS)
def test_killed_by_somebody_else_is_told_apart(probe_tree: Path, way: Way) -> None:
    """B08: a person's kill is neither ours nor the memory's."""

    async def body() -> BoxExit:
        async with box_of(probe_tree, way) as box:
            os.kill(box.first_pid, 9)
            assert box.channel.fileno() >= 0
            await asyncio.get_running_loop().sock_recv(box.channel, 1)
            await asyncio.sleep(0.05)
            return await box.close()

    assert run(body) == BoxExit(ExitKind.KILLED_BY_OTHERS, "killed from outside with SIGKILL")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "text",
    [
        "while True: pass",
        "import time; time.sleep(3600)",
        "import re; re.match(r'(a+)+$', 'a' * 40 + 'b')",
        DEAF,
    ],
    ids=["B02", "B01", "B04", "B25"],
)
def test_a_kill_ends_whatever_runs(probe_tree: Path, way: Way, text: str) -> None:
    """Endless loops, sleeps, C code and ignored signals are over within half a second, and the exit is ours."""

    async def body() -> tuple[bool, BoxExit, float]:
        async with box_of(probe_tree, way) as box:
            waiting = asyncio.create_task(ask(box, text))
            await asyncio.sleep(0.1)
            started = time.monotonic()
            await box.kill()
            took = time.monotonic() - started
            assert await waiting is None
            gone = not Path(f"/proc/{box.first_pid}").exists()
            return gone, await box.close(), took

    gone, ended, took = run(body)
    assert (gone, ended) == (True, BoxExit(ExitKind.KILLED_BY_US, "killed by the harness"))
    assert took < 0.5


@pytest.mark.parametrize("way", GROUPED)
def test_no_descendant_outlives_the_box(probe_tree: Path, way: Way) -> None:
    """B03, B11: double forks in sessions of their own are gone with the first process, also after a good end."""
    text = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            channel.close()
            time.sleep(600)
        os._exit(0)
time.sleep(0.1)
"""

    async def body() -> tuple[int, list[int]]:
        async with box_of(probe_tree, way) as box:
            assert await ask(box, text) == {}
            pids = box.processes()
            await box.verify()
            await box.close()
            return len(pids), [pid for pid in pids if Path(f"/proc/{pid}").exists()]

    assert run(body) == (4, [])


@pytest.mark.parametrize("way", GROUPED)
def test_a_fork_bomb_ends_with_its_box(probe_tree: Path, way: Way) -> None:
    """B10: forking without end stays under the limit, and one kill ends it."""
    text = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""

    async def body() -> tuple[bool, list[int]]:
        async with box_of(probe_tree, way, SMALL) as box:
            waiting = asyncio.create_task(ask(box, text))
            await asyncio.sleep(0.3)
            pids = box.processes()
            await box.kill()
            assert await waiting is None
            await box.close()
            return 10 < len(pids) <= SMALL.pids, [pid for pid in pids if Path(f"/proc/{pid}").exists()]

    assert run(body) == (True, [])


@pytest.mark.parametrize("way", WAYS)
def test_use_is_measured(probe_tree: Path, way: Way) -> None:
    """Processor seconds, peak memory and tasks come from the kernel and stay readable after the end."""
    text = """
import threading, time
threads = [threading.Thread(target=time.sleep, args=(0.2,)) for _ in range(3)]
for thread in threads: thread.start()
block = bytearray(30 << 20)
end = time.process_time() + 0.2
while time.process_time() < end: pass
"""

    async def body() -> tuple[bool, bool, bool, bool]:
        async with box_of(probe_tree, way, SandboxSpec(memory_mb=512)) as box:
            waiting = asyncio.create_task(ask(box, text))
            while not waiting.done():
                await asyncio.sleep(0.02)
                box.usage()
            used = box.usage()
            await box.close()
            assert used.cpu_seconds is not None
            assert used.memory_mb is not None
            assert used.pids is not None
            kept = box.usage().cpu_seconds
            return 0.19 <= used.cpu_seconds < 3, 30 < used.memory_mb < 90, used.pids >= 4, kept is not None

    assert run(body) == (True, True, True, True)


@pytest.mark.parametrize("way", WAYS)
def test_a_frozen_box_uses_no_processor_and_goes_on_afterwards(probe_tree: Path, way: Way) -> None:
    """Holding a box for a person costs nothing while it lasts."""

    async def body() -> tuple[float, dict[str, object] | None]:
        async with box_of(probe_tree, way) as box:
            waiting = asyncio.create_task(
                ask(box, "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass")
            )
            await asyncio.sleep(0.1)
            await box.freeze()
            await asyncio.sleep(0.05)
            before = box.usage().cpu_seconds
            await asyncio.sleep(0.2)
            after = box.usage().cpu_seconds
            await box.thaw()
            assert before is not None
            assert after is not None
            return after - before, await waiting

    used, found = run(body)
    assert (used, found) == (0.0, {})


@pytest.mark.parametrize("way", WAYS)
def test_a_frozen_box_can_be_killed(probe_tree: Path, way: Way) -> None:
    """A stopped tree ends like any other."""

    async def body() -> BoxExit:
        async with box_of(probe_tree, way) as box:
            await box.freeze()
            await box.kill()
            return await box.close()

    assert run(body).kind is ExitKind.KILLED_BY_US


def test_nothing_is_left_behind(probe_tree: Path) -> None:
    """A closed backend leaves no process, no descriptor and no control group."""

    async def body() -> None:
        backend = BubblewrapBackend(tree=probe_tree)
        boxes = [await backend.start(SandboxSpec()) for _ in range(3)]
        await boxes[0].close()
        await backend.close()

    run(body)
    open_before, groups_before = descriptors(), groups_of(os.getpid())
    run(body)
    assert descriptors() - open_before == Counter()  # what earlier tests left to be collected may go meanwhile
    assert groups_of(os.getpid()) - groups_before == set()


def test_a_runner_that_does_not_start_is_explained(probe_tree: Path, tmp_path: Path) -> None:
    """E11: no box without its first byte; the end of what it said is in the sentence."""

    async def body() -> None:
        backend = BubblewrapBackend(tree=probe_tree / "opt")
        await backend.start(SandboxSpec())

    with pytest.raises(EnvironmentUnavailable) as refused:
        run(body)
    assert refused.value.message == "no bubblewrap box here: `bwrap: Can't mkdir /dev: Read-only file system`"


def test_an_unconfined_process_is_not_believed() -> None:
    """B07: the host reads /proc; this very process fails its first line."""
    with pytest.raises(EnvironmentUnavailable) as refused:
        require_confined([os.getpid()], 2)
    assert refused.value.message.startswith("a box is not confined: Seccomp is ")


def test_the_channel_is_the_boxes_only_socket(probe_tree: Path) -> None:
    """The host's end is a connected, non-blocking stream of which nothing was read."""

    async def body() -> tuple[bool, int, bytes]:
        backend = BubblewrapBackend(tree=probe_tree, groups=find() is not None)
        box = await backend.start(SandboxSpec())
        try:
            return box.channel.getblocking(), box.channel.type & 0xF, box.channel.recv(16)
        finally:
            await backend.close()

    assert run(body) == (False, socket.SOCK_STREAM, b"h")


def test_texts_hash_alike_in_every_box(probe_tree: Path) -> None:
    """A replayed snippet meets sets in the order in which it met them, in whatever box."""
    ways = [Way(groups=False, slot=slot) for slot in (False, True, True)]
    found = [probe(probe_tree, way, "found['order'] = list({'a', 'b', 'c', 'd', 'e', 'f'})") for way in ways]
    assert found[0] is not None
    assert found == [found[0]] * 3


@pytest.mark.parametrize("way", SINGLE)
def test_the_wheels_bubblewrap_makes_the_same_box(probe_tree: Path, way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without the system's program has the same walls."""
    monkeypatch.setattr(bubblewrap, "SYSTEM_FOLDERS", ())
    text = "import os\nfound.update(environ=dict(os.environ), user=os.getuid(), proc=os.path.exists('/proc/1'))"
    assert probe(probe_tree, way, text) == {"environ": {}, "user": 1000, "proc": False}
