"""Slots and their pool: one run each, walls between neighbours, refilled behind the fast path, nothing left behind."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from harness.core.ports import BoxExit, ExitKind
from harness.sandbox.bubblewrap import BubblewrapBackend
from harness.sandbox.cgroup import find
from harness.sandbox.pool import PoolSizes, SlotPool
from harness.sandbox.spec import SandboxSpec
from harness.sandbox.zygote import AT_ONCE, SlotBox
from tests.sandbox.boxes import GROUPS, RUNNER, ask, descriptors, groups_of, run

pytestmark = pytest.mark.bubblewrap
SPEC = SandboxSpec(memory_mb=96, disk_mb=16)


def pool_of(tree: Path, **sizes: float) -> SlotPool:
    """A pool over the probes' runner."""
    return SlotPool(tree=tree, runner=RUNNER, groups=find() is not None, sizes=PoolSizes(**sizes))  # type: ignore[arg-type]


def test_each_run_gets_a_slot_of_its_own(probe_tree: Path) -> None:
    """A22: what one run leaves in its interpreter and its work folder, no other run ever sees."""

    async def body() -> list[object]:
        pool = pool_of(probe_tree, ready=2)
        try:
            first = await pool.start(SPEC)
            dirty = "import json; json.dumps = None; open('/tmp/left', 'w').write('x'); found['done'] = True"
            left = await await_first(first, dirty)
            second = await pool.start(SPEC)
            clean = "import json, os; found.update(files=os.listdir('/tmp'), dumps=json.dumps is not None)"
            seen = await await_first(second, clean)
            return [left, seen, first.first_pid != second.first_pid]
        finally:
            await pool.close()

    assert run(body) == [None, {"files": [], "dumps": True}, True] or run(body)[1:] == [
        {"files": [], "dumps": True},
        True,
    ]


async def await_first(box: object, text: str) -> object:
    """Read the first word, then ask."""
    assert box.channel.recv(1) == b"h"  # type: ignore[attr-defined]
    return await ask(box, text)  # type: ignore[arg-type]


def test_neighbours_do_not_see_each_other(probe_tree: Path) -> None:
    """A31, A32: no signal, no file, no process, no descriptor of the slot beside it or of the zygote."""
    text = """
import os
kills = []
for pid in (*range(2, 200), -1):
    try:
        os.kill(pid, 0)
        kills.append(pid)
    except OSError:
        pass
open_ones = []
for number in range(1024):
    try:
        os.fstat(number)
        open_ones.append(number)
    except OSError:
        pass
found.update(kills=kills, pid=os.getpid(), descriptors=len(open_ones), files=os.listdir('/tmp'))
found['proc'] = os.path.exists('/proc/1')
"""

    async def body() -> list[object]:
        pool = pool_of(probe_tree, ready=3)
        try:
            await pool.warm(SPEC)
            boxes = [await pool.start(SPEC) for _ in range(3)]
            return list(await asyncio.gather(*(await_first(box, text) for box in boxes)))
        finally:
            await pool.close()

    alone = {"kills": [], "pid": 1, "descriptors": 4, "files": [], "proc": False}
    assert run(body) == [alone, alone, alone]


@pytest.mark.parametrize("_", [pytest.param(None, marks=GROUPS)])
def test_each_slot_is_in_a_group_of_its_own(probe_tree: Path, _: None) -> None:
    """Before the first byte of a run its memory, tasks and processor time are its own account's."""

    async def body() -> tuple[int, int]:
        pool = pool_of(probe_tree, ready=2)
        try:
            boxes = [await pool.start(SPEC) for _ in range(3)]
            memberships = {Path(f"/proc/{box.first_pid}/cgroup").read_text() for box in boxes}
            return len(memberships), sum(box.processes() == [box.first_pid] for box in boxes)
        finally:
            await pool.close()

    assert run(body) == (3, 3)


def test_a_waiting_slot_is_taken_and_replaced(probe_tree: Path) -> None:
    """The fast path forks nothing; the shelf is full again soon after."""

    async def body() -> tuple[int, bool, int]:
        pool = pool_of(probe_tree, ready=2)
        try:
            ready = await pool.warm(SPEC)
            loop = asyncio.get_running_loop()
            started = loop.time()
            await pool.start(SPEC)
            took = loop.time() - started
            return ready, took < 0.002, await pool.warm(SPEC)
        finally:
            await pool.close()

    assert run(body) == (2, True, 2)


def test_a_dead_slot_is_never_handed_out(probe_tree: Path) -> None:
    """E08: tested on borrow: what was killed while it waited is put away, and the run gets a live one."""

    async def body() -> object:
        pool = pool_of(probe_tree, ready=2)
        try:
            await pool.warm(SPEC)
            shelf = pool._shelves[SPEC]
            for box in shelf.slots:
                os.kill(box.first_pid, signal.SIGKILL)
            await asyncio.sleep(0.05)
            return await await_first(await pool.start(SPEC), "found['ok'] = True")
        finally:
            await pool.close()

    assert run(body) == {"ok": True}


def test_a_zygote_that_died_is_replaced(probe_tree: Path) -> None:
    """E08: its slots end with it, are told as lost, and the next run starts a new one."""

    async def body() -> tuple[ExitKind, object]:
        pool = pool_of(probe_tree, ready=1)
        try:
            box = await pool.start(SPEC)
            assert pool._zygote is not None
            os.kill(pool._zygote._child.handle.pid, signal.SIGKILL)
            while await asyncio.get_running_loop().sock_recv(box.channel, 64):
                pass
            ended = await box.close()
            return ended.kind, await await_first(await pool.start(SPEC), "found['ok'] = True")
        finally:
            await pool.close()

    assert run(body) == (ExitKind.CRASHED, {"ok": True})


def test_a_profile_keeps_its_limits(probe_tree: Path) -> None:
    """Slots of one profile are never given to a run of another."""

    async def body() -> list[object]:
        pool = pool_of(probe_tree, ready=1)
        text = "import os\nstat = os.statvfs('/tmp')\nfound['mb'] = stat.f_blocks * stat.f_frsize >> 20"
        try:
            small, large = SandboxSpec(disk_mb=8), SandboxSpec(disk_mb=32)
            await pool.warm(small)
            await pool.warm(large)
            return [await await_first(await pool.start(spec), text) for spec in (large, small)]
        finally:
            await pool.close()

    assert run(body) == [{"mb": 32}, {"mb": 8}]


def test_profiles_beyond_the_number_give_their_slots_back(probe_tree: Path) -> None:
    """The profile that was used longest ago is emptied first."""

    async def body() -> list[int]:
        pool = pool_of(probe_tree, ready=1, profiles=2)
        try:
            for disk in (4, 8, 16):
                await pool.warm(SandboxSpec(disk_mb=disk))
            return [spec.disk_mb for spec in pool._shelves]
        finally:
            await pool.close()

    assert run(body) == [8, 16]


def test_an_idle_profile_gives_its_slots_back(probe_tree: Path) -> None:
    """E08: slots that nobody took for a while are ended, also those of the profile that was used last."""

    async def body() -> tuple[int, int, object]:
        pool = pool_of(probe_tree, ready=2, idle_seconds=0.1)
        try:
            await pool.start(SPEC)
            waiting = await pool.warm(SPEC)
            deadline = time.monotonic() + 5
            while pool._shelves and time.monotonic() < deadline:
                await asyncio.sleep(0.01)
            return waiting, len(pool._shelves), await await_first(await pool.start(SPEC), "found['ok'] = True")
        finally:
            await pool.close()

    assert run(body) == (2, 0, {"ok": True})


def test_a_pool_serves_one_loop_after_another(probe_tree: Path) -> None:
    """A program that calls the harness synchronously makes a loop each time; waiting slots survive it."""
    pool = pool_of(probe_tree, ready=1)

    async def once() -> object:
        return await await_first(await pool.start(SPEC), "found['ok'] = True")

    try:
        assert [run(once), run(once), run(once)] == [{"ok": True}] * 3
    finally:
        run(pool.close)


def test_where_no_zygote_works_boxes_start_cold(probe_tree: Path) -> None:
    """E13: a machine that refuses the inner namespaces still has boxes with the same walls, and the pool says why."""

    async def body() -> tuple[object, str]:
        pool = SlotPool(tree=probe_tree, runner="no_such_module")
        try:
            return await await_first(await pool.start(SPEC), "found['ok'] = True"), pool.no_zygote
        finally:
            await pool.close()

    assert run(body) == (
        {"ok": True},
        "no bubblewrap box here: `ModuleNotFoundError: No module named 'no_such_module'`",
    )


def test_a_closed_pool_leaves_nothing(probe_tree: Path) -> None:
    """B11, E18: no process, no descriptor, no control group, whether slots were used, waiting or half made."""

    async def body() -> list[int]:
        pool = pool_of(probe_tree, ready=3)
        await pool.warm(SPEC)
        boxes = [await pool.start(SPEC) for _ in range(2)]
        pids = [box.first_pid for box in boxes]
        assert await boxes[0].close() == BoxExit(ExitKind.KILLED_BY_US, "killed by the harness")
        await pool.close()
        return [pid for pid in pids if Path(f"/proc/{pid}").exists()]

    assert run(body) == []
    open_before, groups_before = descriptors(), groups_of(os.getpid())
    assert run(body) == []
    assert descriptors() - open_before == Counter()  # what earlier tests left to be collected may go meanwhile
    assert groups_of(os.getpid()) - groups_before == set()


@pytest.mark.parametrize("slots", [True, False], ids=["slots", "cold"])
def test_all_is_killed_without_a_loop(probe_tree: Path, slots: bool) -> None:
    """B11: as from a signal's handler: no process and no control group afterwards, whether boxes were used or wait."""

    async def body() -> None:
        pool = pool_of(probe_tree, ready=2) if slots else BubblewrapBackend(tree=probe_tree)
        if isinstance(pool, SlotPool):
            await pool.warm(SPEC)
        boxes = [await pool.start(SPEC) for _ in range(2)]
        pool.kill_now()
        alive = [box.first_pid for box in boxes if box._first is None or not await box._first.ended(5)]
        left = [name for _, names, _ in os.walk("/sys/fs/cgroup") for name in names if f".{os.getpid()}." in name]
        assert (alive, left) == ([], [])
        await pool.close()

    run(body)


@pytest.mark.parametrize("slots", [True, False], ids=["slots", "cold"])
def test_a_killed_host_takes_its_boxes_along(probe_tree: Path, slots: bool) -> None:
    """E06: SIGKILL to the host ends every box and the zygote at once; the next start sweeps the groups."""
    script = f"""
import asyncio
from pathlib import Path
from harness.sandbox.bubblewrap import BubblewrapBackend
from harness.sandbox.pool import SlotPool
from harness.sandbox.spec import SandboxSpec
async def main():
    tree = Path({str(probe_tree)!r})
    backend = SlotPool(tree=tree, runner={RUNNER!r}) if {slots} else BubblewrapBackend(tree=tree)
    boxes = [await backend.start(SandboxSpec()) for _ in range(2)]
    print(*(box.first_pid for box in boxes), flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""
    host = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert host.stdout is not None
    pids = [int(pid) for pid in host.stdout.readline().split()]
    host.kill()
    host.communicate()
    deadline = time.monotonic() + 5
    while any(_runs(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.01)
    parent = find()
    if parent is not None:
        parent.sweep()
    left = groups_of(host.pid)
    assert (len(pids), [pid for pid in pids if _runs(pid)], left) == (2, [], set())


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def test_a_burst_neither_starves_nor_stampedes(probe_tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are served at once or in turn; few are in the making at a time, and none beyond what was asked and waits."""
    making: list[int] = []
    most, forked = 0, 0
    until_ready = SlotBox.until_ready

    async def counted(self: SlotBox, seconds: float) -> None:
        nonlocal most, forked
        making.append(self.number)
        most, forked = max(most, len(making)), forked + 1
        try:
            await until_ready(self, seconds)
        finally:
            making.remove(self.number)

    monkeypatch.setattr(SlotBox, "until_ready", counted)

    async def burst() -> list[str]:
        pool = pool_of(probe_tree, ready=2, most=4)
        boxes = await asyncio.gather(*(pool.start(SPEC) for _ in range(30)))
        assert await pool.warm(SPEC) == 4
        for box in boxes:
            await box.close()
        await pool.close()
        return [box.id for box in boxes]

    assert len(set(asyncio.run(burst()))) == 30
    assert (most <= AT_ONCE, forked) == (True, 30 + 4)
