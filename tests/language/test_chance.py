"""What a snippet sees of chance and time: the same again from the same seed, and clocks of the host's answers."""

# ruff: noqa: E501 (a snippet stands on one line)

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox_image.chance import Clock
from tests.language.inbox import run

ROOT = Path(__file__).resolve().parents[2]

DRIVER = """
import json, marshal, sys, types
from sandbox_image import chance
from sandbox_image.language import namespace
from sandbox_image.language.modules import STANDARD
from harness.language.check import Language, check

language, seed, source = sys.argv[1:]
slept = []
clock = chance.install({"seed": seed, "now_us": 1_700_000_000_000_000, "tick_us": 1}, slept.append)
names = namespace.build(language, STANDARD, types.ModuleType("tools"), {"answered": clock.answered, "slept": slept})
exec(marshal.loads(check(source, language=Language(language)).code), names)
print(json.dumps(names["__snippet__"]()))
"""

DRAWS = """
import random, secrets, time, uuid, datetime
from datetime import datetime as dt
a = [random.random(), random.randint(1, 10**9), random.sample(range(100), 3)]
b = [random.Random().random(), random.SystemRandom().random(), secrets.token_hex(8)]
c = [str(uuid.uuid4()), str(uuid.uuid1())]
d = [time.time(), time.time_ns(), time.monotonic(), time.perf_counter(), time.strftime("%Y-%m-%d"), time.ctime()]
e = [str(dt.now()), str(dt.utcnow()), str(dt.now(datetime.timezone.utc)), str(datetime.date.today())]
return [a, b, c, d, e]
"""


def look(language: str, source: str, seed: str = "07" * 16):
    """The value of a snippet in a process of its own, with the run's chance installed."""
    ended = subprocess.run(
        [sys.executable, "-c", DRIVER, language, seed, source],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "TZ": "UTC"},
    )
    assert ended.stderr == ""
    return json.loads(ended.stdout)


@pytest.mark.parametrize("language", ["restricted", "plain"])
def test_the_same_seed_draws_the_same(language):
    """Every way to chance and time that Python has, twice from one seed and once from another."""
    first, again, other = look(language, DRAWS), look(language, DRAWS), look(language, DRAWS, "08" * 16)
    assert first == again
    assert [mine == others for mine, others in zip(first, other, strict=True)] == [False, False, False, True, True]


@pytest.mark.parametrize("language", ["restricted", "plain"])
def test_clocks_stand_at_the_last_answer_and_tick_at_each_look(language):
    """A microsecond a look; an answer moves them on, an old one does not move them back."""
    source = (
        "import time, datetime\n"
        "looks = [time.time_ns() // 1000 for _ in range(2)]\n"
        "answered(1_700_000_005_000_000)\n"
        "looks.append(time.time_ns() // 1000)\n"
        "answered(1_600_000_000_000_000)\n"
        "looks.append(time.time_ns() // 1000)\n"
        "return [look - 1_700_000_000_000_000 for look in looks] + [str(datetime.datetime.now()), time.monotonic()]"
    )
    assert look(language, source) == [1, 2, 5_000_001, 5_000_002, "2023-11-14 22:13:25.000003", 5.000004]


@pytest.mark.parametrize("language", ["restricted", "plain"])
def test_sleeping_is_the_hosts(language):
    """`time.sleep` takes no time of the box: it is a call that the host answers."""
    assert look(language, "import time\ntime.sleep(3600)\ntime.sleep(0.5)\nreturn slept") == [3600, 0.5]


@pytest.mark.parametrize("language", ["restricted", "plain"])
def test_a_datetime_stays_a_datetime(language):
    """Kinds, arithmetic and text of what the clock gives are Python's own."""
    source = (
        "from datetime import datetime, timedelta, date\n"
        "class Mine(datetime):\n    pass\n"
        "now = datetime.now()\n"
        "return [isinstance(now, datetime), isinstance(now, date), isinstance(date.today(), datetime), repr(datetime(2026, 1, 2)),\n"
        "    type(Mine.now()).__name__, isinstance(now, Mine), str(now + timedelta(days=1) - now), datetime.strptime('2026', '%Y').year]"
    )
    assert look(language, source) == [
        True,
        True,
        False,
        "datetime.datetime(2026, 1, 2, 0, 0)",
        "Mine",
        False,
        "1 day, 0:00:00",
        2026,
    ]


def test_what_c_code_imports_for_itself():
    """`strptime` and `strftime` load modules that no contract lists, and give none of them away."""
    source = "from datetime import datetime\nreturn datetime.strptime('2026-01-02', '%Y-%m-%d').strftime('%d.%m.%Y')"
    assert run(source, imports=["datetime"]) == "02.01.2026"


def test_a_tick_is_never_nothing():
    """Two looks never see the same time."""
    clock = Clock(10, 1)
    assert [clock.look(), clock.look(), clock.monotonic()] == [11, 12, 0.000003]
