"""The same answers in the same order make the same run, whenever they come: what a replay rests on."""

# ruff: noqa: E501 (a snippet stands on one line)

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from harness.core.call import Answer
from harness.gateway.session import WireLimits
from tests.gateway.rig import TOKEN, Ended, Host, Session, attach, row, runner, start_of

ROWS = [row("f", "x")]
SOURCES = {
    "tasks that call again": (
        "import asyncio\nfrom tools import f\nlog = []\n"
        "async def work(name):\n    for n in range(4):\n        log.append([name, await f(f'{name}{n}')])\n"
        "await asyncio.gather(*map(work, 'abc'))\nreturn log"
    ),
    "who is first decides": (
        "import asyncio\nfrom tools import f\nlog = []\n"
        "async def work(name):\n    log.append(await f(name))\n    if log[0] == name:\n        await asyncio.gather(f(name + 'x'), f(name + 'y'))\n"
        "    else:\n        await f(name + 'z')\n    log.append(name)\n"
        "async with asyncio.TaskGroup() as g:\n    for name in 'abc':\n        g.create_task(work(name))\nreturn log"
    ),
    "as they complete": (
        "import asyncio\nfrom tools import f\nout = []\n"
        "for each in asyncio.as_completed([f(x) for x in 'abcd']):\n    out.append(await each)\n    out.append(await f('after ' + out[-1]))\nreturn out"
    ),
    "calls without await between": (
        "import asyncio\nfrom tools import f\nlog = []\n"
        "async def work(name):\n    p = f(name)\n    log.append(await f(name + '1') + f(name + '2'))\n    log.append(await p)\n"
        "await asyncio.gather(*map(work, 'ab'))\nreturn log"
    ),
    "a queue between tasks": (
        "import asyncio\nfrom tools import f\nq, log = asyncio.Queue(), []\n"
        "async def make(name):\n    for n in range(3):\n        await q.put(await f(f'{name}{n}'))\n"
        "async def take():\n    while len(log) < 6:\n        log.append(await f(await q.get() + '!'))\n"
        "await asyncio.gather(make('a'), make('b'), take())\nreturn log"
    ),
    "chance and time": (
        "import asyncio, random, time, uuid, datetime\nfrom tools import f\nlog = []\n"
        "async def work(name):\n    await f(name)\n    log.append([name, random.random(), time.time(), time.monotonic(), str(uuid.uuid4())])\n"
        "    await asyncio.sleep(random.random() / 100)\n    log.append([name, random.randrange(10**9), list({name + str(n) for n in range(3)})])\n"
        "await asyncio.gather(*map(work, 'abc'))\nreturn log"
    ),
}


class Recorded(Host):
    """Answers in a fixed order of arguments, each `gap` seconds after the last; `gap` 0 sends what it can at once."""

    def __init__(self, order: Sequence[Any], gap: float) -> None:
        super().__init__({})
        self._order = list(order)
        self._open: dict[Any, list[int]] = {}
        self._gap = gap
        self._at = 1_800_000_000_000_000
        self._due = False

    def on_call(self, frame):
        self.ended.calls.append((frame.task, frame.tool, frame.args))
        key = frame.args.get("x", frame.args.get("seconds"))
        self._open.setdefault(key, []).append(frame.id)
        self._soon()

    def _soon(self):
        if not self._due:
            self._due = True
            asyncio.get_running_loop().call_later(self._gap, self._next)

    def _next(self):
        self._due = False
        while self._order and self._open.get(self._order[0]):
            key = self._order.pop(0)
            self._at += 1_000
            number = self._open[key].pop(0)
            value = key if isinstance(key, str) else None
            self.connection.send_answer(number, answer(value), self._at)
            if self._gap:
                self._soon()
                return


def answer(value):
    return Answer(True, msgspec.json.encode(value))


class First(Recorded):
    """Answers in an order of its own, and writes it down."""

    def __init__(self, swap: bool) -> None:
        super().__init__([], 0)
        self.order: list[Any] = []
        self._swap = swap
        self._waiting: list[tuple[Any, int]] = []

    def on_call(self, frame):
        self.ended.calls.append((frame.task, frame.tool, frame.args))
        self._waiting.append((frame.args.get("x", frame.args.get("seconds")), frame.id))
        asyncio.get_running_loop().call_later(0.003, self._one)

    def _one(self):
        key, number = self._waiting.pop(-1 if self._swap and len(self.order) % 2 else 0)
        self.order.append(key)
        self._at += 1_000
        self.connection.send_answer(number, answer(key if isinstance(key, str) else None), self._at)


def played(source: str, host: Host) -> Ended:
    async def main() -> Ended:
        start = start_of(source, ROWS, chance={"seed": "ab" * 16, "now_us": 1_800_000_000_000_000, "tick_us": 1})
        with runner() as (sock, _):
            host.connection = await attach(asyncio.get_running_loop(), sock, Session(TOKEN, WireLimits()), host)
            async with asyncio.timeout(20):
                await host.hello.wait()
                host.connection.send_start(start)
                await host.over.wait()
            host.connection.close()
        return host.ended

    return asyncio.run(main())


@pytest.mark.parametrize("swap", [False, True], ids=["in order", "out of order"])
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_the_order_of_answers_alone_decides(source, swap) -> None:
    """Recorded once, then given again slowly and all at once: the same calls, in the same tasks, the same result."""
    first = First(swap)
    once = played(source, first)
    assert once.failed is None
    for gap in (0.0, 0.004):
        again = played(source, Recorded(first.order, gap))
        assert (again.failed, again.calls, again.result) == (None, once.calls, once.result)
