"""Killed with SIGKILL anywhere: no effect is lost, none happens twice, nobody is asked twice, the result leaves once.

The points of a case are found by instrumentation in a child that is not killed; the test picks one of them, another
child dies there, and a third process (this one) goes on under the same key.
"""

import os
import random
import re
import signal
import time
from functools import cache
from pathlib import Path

import pytest

from harness.ledger.audit import verify
from tests.crash.child import run_child
from tests.crash.driver import open_harness, run_to_end
from tests.crash.world import CASES, NUMBERS, Case, World

PARTS = 3
"""Points of each case that one battery tries: with 90 cases 270, all of them different."""
TRIES = 8
"""Children that are made until one meets its point."""
SECONDS = 60.0
"""How long the random battery runs."""


@cache
def points(case: Case, folder: Path) -> tuple[str, ...]:
    """The points of a case, as instrumentation finds them."""
    place = folder / f"dry-{case}"
    place.mkdir()
    record = place / "points"
    assert run_child(case, place, record=record) == 0
    return tuple(record.read_text().split())


@pytest.fixture(scope="session")
def dry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the children that are not killed live."""
    return tmp_path_factory.mktemp("dry")


def die_and_go_on(case: Case, folder: Path, point: str) -> None:
    """Kill a child at `point`, go on, and look at everything that is promised."""
    folder, status = _killed(case, folder, point)
    assert os.WIFSIGNALED(status), f"{case}: the point {point} was not reached"
    assert os.WTERMSIG(status) == signal.SIGKILL
    result = run_to_end(case, folder)
    where = f"{case} killed at {point}: {result.ending}"
    assert result.reason.value == "contract_passed", where
    acted = World.acted()
    if case.kind == "none":
        assert len(acted) == len(set(acted)), where
    elif case.kind == "natural":
        assert set(acted) == set(NUMBERS), where
    else:
        assert sorted(acted) == list(NUMBERS), where
    assert len(list((folder / "results").iterdir())) == 1, where
    _nobody_was_asked_twice(case, folder, where)
    assert verify(folder / ".harness" / "journal.db") == [], where


def _killed(case: Case, folder: Path, point: str) -> tuple[Path, int]:
    """The folder of a child that died at `point`, and its wait status. How parallel effects share commits depends on
    which answer comes first: a child that came through without the point is no trial, and another one is made; at the
    end one that dies at the first point of that name, which every run has."""
    for number in range(TRIES):
        place = folder / f"try-{number}"
        place.mkdir()
        if number == TRIES // 2:
            point = re.sub(r"#\d+", "#1", point)
        status = run_child(case, place, deadly=point)
        if os.WIFSIGNALED(status):
            break
    return place, status


def _nobody_was_asked_twice(case: Case, folder: Path, where: str) -> None:
    harness = open_harness(case, folder)
    try:
        asked = [
            (bundle.kind, bundle.lineage, ask.task, ask.occurrence, ask.digest)
            for bundle in harness.approvals
            for ask in bundle.asks
        ]
        assert len(asked) == len(set(asked)), where
        approvals = [each for each in asked if each[0] == "approval"]
        assert len(approvals) == (0 if case.approval == "none" else len(NUMBERS)), where
    finally:
        harness.store().close()


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_host_killed_at_one_point_goes_on_as_if_nothing_had_been(
    case: Case, part: int, dry: Path, tmp_path: Path
) -> None:
    """F10: an effect without its outcome is never simply made again; keyed and derived ones happen exactly once."""
    found = points(case, dry)
    offset = CASES.index(case)
    die_and_go_on(case, tmp_path, found[(offset + part * len(found) // PARTS) % len(found)])


EVERYWHERE = [
    Case("one", "key", "write", "always"),
    Case("gather", "none", "destructive", "before_execute"),
    Case("threads", "derived", "write", "none"),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", EVERYWHERE, ids=str)
def test_a_host_killed_at_every_point_of_a_case(case: Case, dry: Path, tmp_path: Path) -> None:
    """Not a sample: each point that the instrumentation finds."""
    for number, point in enumerate(points(case, dry)):
        folder = tmp_path / str(number)
        folder.mkdir()
        die_and_go_on(case, folder, point)


@pytest.mark.slow
def test_random_kills(dry: Path, tmp_path: Path) -> None:
    """Random cases and points for a while; CRASH_SEED repeats a battery, CRASH_SECONDS sets how long it runs."""
    seed = int(os.environ.get("CRASH_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"CRASH_SEED={seed}")
    chance = random.Random(seed)
    until = time.monotonic() + float(os.environ.get("CRASH_SECONDS", SECONDS))
    number = 0
    while time.monotonic() < until:
        case = chance.choice(CASES)
        folder = tmp_path / str(number)
        folder.mkdir()
        die_and_go_on(case, folder, chance.choice(points(case, dry)))
        number += 1
