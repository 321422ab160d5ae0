"""Two hosts on one store, a hundred times over: one decision, one resume, one run for a key, one effect, one result."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

from harness.ledger.audit import verify
from tests.run.hosts import ASKING, ROUNDS, host
from tests.run.waiting import in_loop


def race(what: str, folder: Path, *names: str) -> list[list[list[str]]]:
    """The words of each line that each of the processes printed, after both were let go."""
    hosts = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.run.hosts", what, str(folder), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for each in hosts:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in hosts:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    printed = [[line.split() for line in each.communicate()[0].splitlines()] for each in hosts]
    assert [each.returncode for each in hosts] == [0, 0]
    return printed


def acts(folder: Path) -> Counter[int]:
    """How often each number was put down."""
    return Counter(int(line) for line in (folder / "acts").read_text().split())


@in_loop
async def test_one_host_decides_and_one_goes_on(tmp_path):
    """F05: two approvers decide every bundle in opposite ways, and both hosts resume its run at once: one word stands,
    one host goes on, what was approved happens once and what was rejected never."""
    numbers: dict[str, int] = {}
    async with host(tmp_path) as harness:
        for number in range(ROUNDS):
            paused = await harness.run(ASKING, "return 10", {"number": number})
            numbers[paused.run] = number
    bob, carol = race("decide", tmp_path, "bob", "carol")
    took = [line[1] for line in bob if line[0] == "took"]
    assert sorted(took + [line[1] for line in carol if line[0] == "took"]) == sorted(numbers)
    ended = [line[1] for line in bob + carol if line[0] == "contract_passed"]
    assert sorted(ended) == sorted(numbers)
    assert acts(tmp_path) == Counter(numbers[run] for run in took)
    assert sorted(file.stem for file in (tmp_path / "results").iterdir()) == sorted(numbers)
    assert verify(tmp_path / ".harness" / "journal.db") == []


@in_loop
async def test_one_key_is_one_run(tmp_path):
    """F11: two hosts are handed the same submissions under a caller's keys: each is one run, with one effect."""
    first, second = race("submit", tmp_path, "a", "b")
    assert first == second
    assert len({run for _, run in first}) == ROUNDS
    assert acts(tmp_path) == Counter(range(ROUNDS))
    assert verify(tmp_path / ".harness" / "journal.db") == []
